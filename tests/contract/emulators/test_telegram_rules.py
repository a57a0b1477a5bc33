"""The emulator refuses what Telegram refuses, in Telegram's words, and counts as Telegram counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from telegram import Bot, MessageEntity, ReplyParameters
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, NetworkError, TelegramError

from roebot_testing.emulators.server import LOOPBACK
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.entities import checked, detect, units
from roebot_testing.emulators.telegram.errors import TelegramApiError

from .conftest import Ticks, sdk


async def raw(bot: Bot, method: str, **parameters: Any) -> tuple[int, dict[str, Any]]:
    """A call without the SDK's reading of the answer: status and body."""
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.post(f"{bot.base_url}/{method}", json=parameters)
        return response.status_code, response.json()


@pytest.fixture
async def limited(ticks: Ticks) -> AsyncIterator[tuple[TelegramEmulator, Bot]]:
    async with TelegramEmulator.serve(monotonic=ticks) as emulator, sdk(emulator) as bot:
        emulator.people.says("go", user=7)
        yield emulator, bot


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sendMessage", {"text": "a"}),
    ("editMessageText", {"text": "b", "message_id": 2}),
    ("sendChatAction", {"action": "typing"}),
    ("sendMessageDraft", {"text": "c", "draft_id": 1}),
]


async def test_a_short_burst_in_a_chat_is_allowed_after_a_pause(
    limited: tuple[TelegramEmulator, Bot], ticks: Ticks
) -> None:
    _, bot = limited
    assert [(await raw(bot, method, chat_id=7, **more))[0] for method, more in CALLS] == [200] * 3 + [429]
    for pause in (3.01, 60.0):
        ticks.at += pause
        statuses = [(await raw(bot, "sendMessage", chat_id=7, text="more"))[0] for _ in range(4)]
        assert statuses == [200] * 3 + [429]


async def test_one_call_a_second_in_a_chat_whatever_it_is(
    limited: tuple[TelegramEmulator, Bot], ticks: Ticks
) -> None:
    _, bot = limited
    for _ in range(2):
        assert (await raw(bot, "sendMessage", chat_id=7, text="first"))[0] == 200
    for method, parameters in CALLS:
        assert (await raw(bot, method, chat_id=7, **parameters))[0] == 200
        ticks.at += 0.999
        status, body = await raw(bot, method, chat_id=7, **parameters)
        assert (status, body) == (
            429,
            {
                "ok": False,
                "error_code": 429,
                "description": "Too Many Requests: retry after 1",
                "parameters": {"retry_after": 1},
            },
        )
        ticks.at += 0.0011


async def test_twenty_a_minute_in_a_group(limited: tuple[TelegramEmulator, Bot], ticks: Ticks) -> None:
    emulator, bot = limited
    chat = emulator.people.make_group()
    for number in range(20):
        assert (await raw(bot, "sendMessage", chat_id=chat, text=str(number)))[0] == 200
        ticks.at += 1.01
    status, body = await raw(bot, "sendMessage", chat_id=chat, text="x")
    assert (status, body["parameters"]) == (429, {"retry_after": 40})
    ticks.at += 39.9
    assert (await raw(bot, "sendMessage", chat_id=chat, text="x"))[0] == 200
    assert emulator.counters()["limited"] == 1


async def test_thirty_a_second_over_all_chats(limited: tuple[TelegramEmulator, Bot], ticks: Ticks) -> None:
    emulator, bot = limited
    for user in range(100, 131):
        emulator.people.says("go", user=user)
    statuses = [(await raw(bot, "sendMessage", chat_id=user, text="x"))[0] for user in range(100, 131)]
    assert statuses == [200] * 30 + [429]
    ticks.at += 1.01
    assert (await raw(bot, "sendMessage", chat_id=130, text="x"))[0] == 200


async def test_scale_and_penalty(limited: tuple[TelegramEmulator, Bot], ticks: Ticks) -> None:
    emulator, bot = limited
    emulator.limits(True, scale=0.1)
    assert (await raw(bot, "sendMessage", chat_id=7, text="a"))[0] == 200
    ticks.at += 0.11
    assert (await raw(bot, "sendMessage", chat_id=7, text="b"))[0] == 200
    emulator.people.says("go", user=8)
    emulator.penalize(8, 5000)
    status, body = await raw(bot, "sendMessage", chat_id=8, text="x")
    assert (status, body["parameters"]) == (429, {"retry_after": 5000})
    ticks.at += 4000
    assert (await raw(bot, "sendMessage", chat_id=7, text="c"))[0] == 200
    ticks.at += 1001
    assert (await raw(bot, "sendMessage", chat_id=8, text="x"))[0] == 200


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"chat_id": 7, "text": ""}, "message text is empty"),
        ({"chat_id": 7, "text": "  \n "}, "text must be non-empty"),
        ({"chat_id": 7, "text": "a" * 4097}, "message is too long"),
        ({"chat_id": 7, "text": "😀" * 2049}, "message is too long"),
        ({"chat_id": 4711, "text": "a"}, "chat not found"),
        ({"text": "a"}, "chat_id is empty"),
        (
            {"chat_id": 7, "text": "a", "reply_parameters": {"message_id": 99}},
            "message to be replied not found",
        ),
        ({"chat_id": 7, "text": "a", "parse_mode": "HTML"}, "can't parse entities"),
        ({"chat_id": 7, "text": "a", "entities": "{"}, "can't parse entities JSON object"),
        ({"chat_id": 7, "text": "a", "entities": [{"type": "bold", "offset": 0, "length": 2}]}, "ends after"),
        (
            {"chat_id": 7, "text": "😀", "entities": [{"type": "bold", "offset": 1, "length": 1}]},
            "in a middle",
        ),
        ({"chat_id": 7, "text": "a", "message_thread_id": "x"}, "invalid message_thread_id"),
    ],
)
async def test_posts_that_are_refused(
    emulator: TelegramEmulator, bot: Bot, parameters: dict[str, Any], words: str
) -> None:
    emulator.people.says("go", user=7)
    status, body = await raw(bot, "sendMessage", **parameters)
    assert status == 400 and words in body["description"]
    assert len(emulator.view(7)["messages"]) == 1


async def test_the_length_counts_utf16_units_after_entities(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    posted = await bot.send_message(7, "😀" * 2048, entities=[MessageEntity("bold", 0, 4096)])
    assert posted.text == "😀" * 2048
    assert units("a😀é") == 4


async def test_edits_and_deletions_that_are_refused(emulator: TelegramEmulator, bot: Bot) -> None:
    said = emulator.people.says("go", user=7)
    posted = await bot.send_message(7, "mine")
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("x", 7, said.id)
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await bot.edit_message_text("x", 7, 99)
    await bot.delete_message(7, posted.message_id)
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(7, posted.message_id)
    document = await bot.send_document(7, b"x", filename="x")
    with pytest.raises(BadRequest, match="There is no text"):
        await bot.edit_message_text("x", 7, document.message_id)


async def test_blocked_kicked_and_moved(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    emulator.people.blocks(7)
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(7, "x")
    emulator.people.unblocks(7)
    await bot.send_message(7, "x")
    chat = emulator.people.make_group()
    emulator.people.blocks(chat)
    with pytest.raises(Forbidden, match="kicked from the group chat"):
        await bot.send_chat_action(chat, "typing")
    emulator.people.unblocks(chat)
    new = emulator.people.migrates(chat)
    with pytest.raises(ChatMigrated) as moved:
        await bot.send_message(chat, "x")
    assert moved.value.new_chat_id == new
    updates = await bot.get_updates()
    services = [update.message for update in updates if update.message and not update.message.text]
    assert [message.migrate_to_chat_id for message in services] == [new, None]
    assert [message.migrate_from_chat_id for message in services] == [None, chat]


async def test_ids_count_as_on_telegram(emulator: TelegramEmulator, bot: Bot) -> None:
    group, supergroup = emulator.people.make_group(), emulator.people.make_group(supergroup=True)
    emulator.people.says("a", user=7)
    shared = [
        (await bot.send_message(7, "x")).message_id,
        (await bot.send_message(group, "x")).message_id,
        (await bot.send_message(7, "x")).message_id,
    ]
    assert shared == [2, 3, 4]
    assert (await bot.send_message(supergroup, "x")).message_id == 1


async def test_topics_and_the_threads_of_replies(emulator: TelegramEmulator, bot: Bot) -> None:
    people = emulator.people
    forum, plain = people.make_group(forum=True), people.make_group(supergroup=True)
    topic = people.make_topic(forum, "Plans")
    people.says("in topic", chat=forum, topic=topic)
    root = people.says("root", chat=plain)
    people.says("below", chat=plain, reply_to=root.id)
    *_, in_topic, _, below = [update.message for update in await bot.get_updates()]
    assert in_topic and in_topic.is_topic_message and in_topic.message_thread_id == topic
    assert in_topic.reply_to_message and in_topic.reply_to_message.forum_topic_created
    assert below and below.message_thread_id == root.id and not below.is_topic_message
    with pytest.raises(BadRequest, match="Message thread not found"):
        await bot.send_message(forum, "x", message_thread_id=4711)
    answer = await bot.send_message(forum, "x", reply_parameters=ReplyParameters(in_topic.message_id))
    assert answer.message_thread_id == topic


async def test_updates_are_kept_until_confirmed(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says_many([{"text": str(number), "user": 7} for number in range(5)])
    first = await bot.get_updates(limit=2)
    again = await bot.get_updates(limit=2)
    assert [update.update_id for update in first] == [update.update_id for update in again]
    rest = await bot.get_updates(offset=first[-1].update_id + 1)
    assert len(rest) == 3
    [last] = await bot.get_updates(offset=-1)
    assert last.update_id == rest[-1].update_id
    assert emulator.queue.confirmed == 4


async def test_what_is_repeated_comes_although_a_poll_has_just_confirmed_its_number(
    emulator: TelegramEmulator, bot: Bot
) -> None:
    emulator.people.says_many([{"text": text, "user": 7} for text in ("one", "two")])
    one, two = [update.update_id for update in await bot.get_updates()]
    emulator.repeat(2)
    assert [update.update_id for update in await bot.get_updates(offset=two + 1)] == [one, two]
    assert not await bot.get_updates(offset=two + 1, timeout=0)


async def test_only_what_was_asked_for(emulator: TelegramEmulator, bot: Bot) -> None:
    await bot.get_updates(allowed_updates=["message"])
    said = emulator.people.says("a", user=7)
    emulator.people.edits(7, said.id, "b")
    assert emulator.queue.pending == 1
    await bot.get_updates(allowed_updates=[])
    emulator.people.edits(7, said.id, "c")
    assert emulator.queue.pending == 2


async def test_the_second_poller_takes_over(emulator: TelegramEmulator, bot: Bot) -> None:
    polling = asyncio.create_task(bot.get_updates(timeout=20))
    while emulator.queue._poller is None:
        await asyncio.sleep(0.002)
    assert await bot.get_updates(timeout=0) == ()
    with pytest.raises(Conflict, match="terminated by other getUpdates"):
        await polling


async def test_a_webhook_ends_polling(emulator: TelegramEmulator, bot: Bot) -> None:
    await bot.set_webhook("http://127.0.0.1:9/hook")
    assert (await bot.get_webhook_info()).url == "http://127.0.0.1:9/hook"
    with pytest.raises(Conflict, match="webhook is active"):
        await bot.get_updates()
    emulator.people.says("a", user=7)
    await bot.delete_webhook(drop_pending_updates=True)
    assert await bot.get_updates() == ()


async def test_drafts_are_for_private_chats(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    chat = emulator.people.make_group()
    assert await bot.send_message_draft(7, 5, "…")
    assert emulator.view(7)["draft"] == "…"
    with pytest.raises(BadRequest, match=r"(?i)TEXTDRAFT_PEER_INVALID"):
        await bot.send_message_draft(chat, 5, "…")


async def test_a_button_is_answered_once(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    posted = await bot.send_message(7, "choose")
    emulator.people.presses(7, posted.message_id, "yes", user=7)
    [_, pressed] = await bot.get_updates()
    assert pressed.callback_query and pressed.callback_query.data == "yes"
    await pressed.callback_query.answer("thanks")
    with pytest.raises(BadRequest, match="Query is too old"):
        await pressed.callback_query.answer("again")


@pytest.mark.parametrize(
    ("kind", "attribute"),
    [
        ("photo", "photo"),
        ("voice", "voice"),
        ("sticker", "sticker"),
        ("video_note", "video_note"),
        ("location", "location"),
        ("contact", "contact"),
        ("dice", "dice"),
    ],
)
async def test_every_kind_of_message_is_one_the_sdk_reads(
    emulator: TelegramEmulator, bot: Bot, kind: str, attribute: str
) -> None:
    emulator.people.says("", user=7, media=kind)
    [update] = await bot.get_updates()
    assert update.message and getattr(update.message, attribute)


async def test_files_at_their_limits(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    with pytest.raises(BadRequest, match=r"(?i)IMAGE_PROCESS_FAILED"):
        await bot.send_photo(7, b"no picture")
    with pytest.raises(BadRequest, match="non-empty"):
        await bot.send_document(7, b"")
    with pytest.raises(BadRequest, match="Message caption is too long"):
        await bot.send_document(7, b"x", caption="a" * 1025)
    with pytest.raises(BadRequest, match="Invalid file_id"):
        await bot.get_file("nothing")
    status, body = await raw(bot, "sendMediaGroup", chat_id=7, media=[])
    assert status == 400 and "there are no messages to send" in body["description"]


async def test_faults_strike_as_ordered(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.people.says("go", user=7)
    emulator.fault("error", method="sendMessage", chat=7, times=1, skip=1)
    await bot.send_message(7, "passes")
    with pytest.raises(NetworkError, match="Internal Server Error"):
        await bot.send_message(7, "struck")
    emulator.fault("close", method="sendMessage")
    with pytest.raises(NetworkError, match="disconnected"):
        await bot.send_message(7, "never")
    emulator.fault("drop", method="sendMessage")
    with pytest.raises(NetworkError, match="disconnected"):
        await bot.send_message(7, "committed")
    emulator.fault("slow", method="sendMessage", seconds=5)
    with pytest.raises(TelegramError, match="Timed out"):
        await bot.send_message(7, "slow", read_timeout=0.05)
    emulator.fault("drop", times=-1)
    emulator.clear_faults()
    await bot.send_message(7, "fine")
    texts = [message["text"] for message in emulator.view(7)["messages"] if message["from_bot"]]
    assert texts == ["passes", "committed", "slow", "fine"]
    frames = [(frame.text, frame.status, frame.committed) for frame in emulator.transcript.of(chat=7)[1:]]
    assert ("committed", 0, True) in frames and ("never", 0, False) in frames
    assert emulator.counters()["faults_struck"] == 4


async def test_a_stalled_poll_waits_until_released(emulator: TelegramEmulator, bot: Bot) -> None:
    emulator.stall()
    polling = asyncio.create_task(bot.get_updates(timeout=0))
    emulator.people.says("a", user=7)
    while emulator.queue._poller is None:
        await asyncio.sleep(0.002)
    assert not polling.done()
    emulator.release()
    assert len(await polling) == 1


def test_blanks_are_trimmed_and_entities_follow() -> None:
    entities = [{"type": "bold", "offset": 2, "length": 3}, {"type": "italic", "offset": 0, "length": 1}]
    assert checked("  abc \n", entities) == ("abc", [{"type": "bold", "offset": 0, "length": 3}])
    assert detect("/help@roebot_bot and @ada_b") == [
        {"type": "bot_command", "offset": 0, "length": 16},
        {"type": "mention", "offset": 21, "length": 6},
    ]
    for wrong in ("x", [1], [{"type": "bold", "offset": 4, "length": 1}]):
        with pytest.raises(TelegramApiError):
            checked("abc", wrong)


async def test_it_listens_on_loopback_only(emulator: TelegramEmulator) -> None:
    from roebot_testing.emulators.cli import run

    assert emulator.url.startswith(f"http://{LOOPBACK}:")
    assert run("telegram", host="0.0.0.0") == 2
    assert run("telegram", port=int(emulator.url.rpartition(":")[2])) == 1


async def test_a_form_that_is_not_utf_8_is_read_with_replacements(emulator: TelegramEmulator) -> None:
    chat = emulator.people.says("hi").chat.id
    headers = {"content-type": "application/x-www-form-urlencoded"}
    async with httpx.AsyncClient(trust_env=False) as client:
        url = f"{emulator.url}/bot{emulator.token}/sendMessage?chat_id={chat}"
        answer = await client.post(url, content=b"text=a\xff", headers=headers)
    assert answer.json()["result"]["text"] == "a\ufffd"


def test_the_options_of_the_process_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from roebot_testing.emulators.cli import main

    monkeypatch.setattr("sys.argv", ["telegram", "--help"])
    with pytest.raises(SystemExit):
        main("telegram")
    assert "support the rich messages of Bot API 10.1" in capsys.readouterr().out
