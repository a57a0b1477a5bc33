"""Sending: what people see, and what each refusal means."""

from __future__ import annotations

import asyncio

import pytest

from bot.account_state import Live
from bot.domain import ChatKind, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, NotModified, RateLimited
from bot.platforms.base import (
    Adapter,
    CommandHint,
    DeletesMessages,
    EditsMessages,
    FetchesFiles,
    RegistersCommands,
    RepeatsSafely,
    SendsFiles,
    ShowsTyping,
    StreamsDrafts,
)
from bot.platforms.telegram.adapter import TelegramAdapter
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import QuickClock, Running, Shelf, account, eventually, group, private, says


def shown(running: Running, chat: int = 7) -> list[str]:
    return [message["text"] for message in running.emulator.view(chat)["messages"] if message["from_bot"]]


async def test_a_post_grows_by_edits_into_one_answer(running: Running) -> None:
    asked = running.emulator.people.says("go", user=7)
    message_id = await running.adapter.send(says("Hel", private(reply_to=asked.id)))
    await running.adapter.edit(says("Hello **world**"), message_id)
    [_, answer] = running.emulator.view(7)["messages"]
    assert (answer["text"], answer["reply_to"], answer["edits"]) == ("Hello world", asked.id, 1)
    assert answer["entities"] == [{"type": "bold", "offset": 6, "length": 5}]


async def test_entities_carry_links_and_languages(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send(says("[docs](https://example.org/a)\n\n```python\nx = 1\n```"))
    kinds = {entity["type"]: entity for entity in running.emulator.view(7)["messages"][1]["entities"]}
    assert kinds["text_link"]["url"] == "https://example.org/a"
    assert kinds["pre"]["language"] == "python"


async def test_an_address_without_a_dot_is_no_link(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send(says("[dash](http://localhost:3000) and [docs](https://example.org)"))
    message = running.emulator.view(7)["messages"][1]
    assert message["text"] == "dash (http://localhost:3000) and docs"
    assert [entity["url"] for entity in message["entities"]] == ["https://example.org"]


async def test_emoji_are_counted_as_telegram_counts(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send(says("👩‍👩‍👧 **bold** 😀 `code`"))
    message = running.emulator.view(7)["messages"][1]
    units = message["text"].encode("utf-16-le")
    cut = [
        units[entity["offset"] * 2 : (entity["offset"] + entity["length"]) * 2].decode("utf-16-le")
        for entity in message["entities"]
    ]
    assert cut == ["bold", "code"]


async def test_the_same_text_again_is_not_modified(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    message_id = await running.adapter.send(says("same"))
    with pytest.raises(NotModified):
        await running.adapter.edit(says("same"), message_id)


async def test_a_reply_to_a_message_that_is_gone_is_posted_all_the_same(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send(says("here", private(reply_to=999)))
    assert shown(running) == ["here"]


async def test_a_topic_is_answered_in_the_topic(running: Running) -> None:
    forum = running.emulator.people.make_group(forum=True)
    topic = running.emulator.people.make_topic(forum, "Plans")
    await running.adapter.send(says("in here", group(forum, topic)))
    await running.adapter.typing(group(forum, topic))
    assert running.emulator.view(forum)["messages"][0]["topic"] == topic
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.send(says("nowhere", group(forum, 4711)))
    assert gone.value.category is DeliveryCategory.NOT_FOUND


async def test_deleting_twice_is_harmless(running: Running) -> None:
    team = running.emulator.people.make_group()
    asked = running.emulator.people.says("go", user=7, chat=team)
    running.emulator.people.says("go", user=7)
    message_id = await running.adapter.send(says("oops"))
    await running.adapter.delete(private(), message_id)
    await running.adapter.delete(private(), message_id)
    assert shown(running) == []
    with pytest.raises(DeliveryError) as refused:
        await running.adapter.delete(group(team), str(asked.id))
    assert refused.value.category is DeliveryCategory.PERMISSION


async def test_what_the_rights_of_the_bot_do_not_allow_is_no_fault_of_the_message(running: Running) -> None:
    people = running.emulator.people
    team = people.make_group(supergroup=True)
    people.says("hi", user=8, chat=team)
    people.restricts_bot(team, "text messages")
    for address in (group(team), private(8)):
        with pytest.raises(DeliveryError) as refused:
            await running.adapter.send(says("x", address))
        assert refused.value.category is DeliveryCategory.PERMISSION


async def test_a_closed_topic_counts_as_gone(running: Running) -> None:
    people = running.emulator.people
    forum = people.make_group(forum=True)
    topic = people.make_topic(forum, "Plans")
    people.closes_topic(forum, topic)
    with pytest.raises(DeliveryError) as refused:
        await running.adapter.send(says("x", group(forum, topic)))
    assert refused.value.category is DeliveryCategory.NOT_FOUND


async def test_typing_is_seen(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.typing(private())
    [frame] = running.emulator.transcript.of(FrameKind.TYPING)
    assert (frame.chat, frame.text, frame.status) == ("7", "typing", 200)


@pytest.mark.parametrize(
    ("status", "description", "category", "unknown"),
    [
        (400, "Bad Request: chat not found", DeliveryCategory.NOT_FOUND, False),
        (400, "Bad Request: message is too long", DeliveryCategory.INVALID_PAYLOAD, False),
        (400, "Bad Request: not enough rights to send text messages", DeliveryCategory.PERMISSION, False),
        (401, "Unauthorized", DeliveryCategory.AUTH, False),
        (403, "Forbidden: bot was blocked by the user", DeliveryCategory.PERMISSION, False),
        (404, "Not Found", DeliveryCategory.NOT_FOUND, False),
        (409, "Conflict", DeliveryCategory.CONFLICT, False),
        (413, "Request Entity Too Large", DeliveryCategory.INVALID_PAYLOAD, False),
        (500, "Internal Server Error", DeliveryCategory.TRANSIENT, True),
        (502, "Bad Gateway", DeliveryCategory.TRANSIENT, True),
    ],
)
async def test_refusals_have_their_category(
    running: Running, status: int, description: str, category: DeliveryCategory, unknown: bool
) -> None:
    running.emulator.people.says("go", user=7)
    running.emulator.fault("error", method="sendMessage", status=status, description=description)
    with pytest.raises(DeliveryError) as failed:
        await running.adapter.send(says("hi"))
    assert (failed.value.category, failed.value.unknown_outcome) == (category, unknown)
    assert failed.value.detail == description


async def test_a_lost_response_is_an_unknown_outcome_and_nothing_is_repeated(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    running.emulator.fault("drop", method="sendMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(says("once"))
    assert lost.value.category is DeliveryCategory.TRANSIENT and lost.value.unknown_outcome
    assert shown(running) == ["once"]
    assert len(running.emulator.transcript.of(FrameKind.POST)) == 1
    assert await running.adapter.send(says("goes on"))


async def test_a_connection_closed_before_anything_happened_is_unknown_too(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    running.emulator.fault("close", method="sendMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(says("never"))
    assert lost.value.unknown_outcome
    assert shown(running) == []


async def test_a_lost_edit_is_not_unknown_since_it_may_be_repeated(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    message_id = await running.adapter.send(says("a"))
    running.emulator.fault("drop", method="editMessageText")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.edit(says("b"), message_id)
    assert lost.value.category is DeliveryCategory.TRANSIENT and not lost.value.unknown_outcome


async def test_a_server_that_is_gone_was_never_reached(running: Running, emulator: TelegramEmulator) -> None:
    from bot.platforms.connection import AccountHealth
    from bot.platforms.telegram.http import TelegramClient
    from bot.platforms.telegram.outbound import TelegramOutbound

    client = TelegramClient(emulator.token, "http://127.0.0.1:9")
    await client.open()
    outbound = TelegramOutbound(
        client, running.shelf, AccountHealth("Telegram", running.states.append, running.clock), rich=False
    )
    with pytest.raises(DeliveryError) as unreachable:
        await outbound.send(says("hi"))
    assert unreachable.value.category is DeliveryCategory.TRANSIENT
    assert not unreachable.value.unknown_outcome
    await client.close()


async def test_a_limit_says_how_long(emulator: TelegramEmulator, running: Running) -> None:
    emulator.people.says("go", user=7)
    emulator.penalize(7, 137)
    with pytest.raises(RateLimited) as limited:
        await running.adapter.send(says("hi"))
    assert 136 <= limited.value.retry_after <= 137 and not limited.value.unknown_outcome
    assert running.state.live is Live.LIMITED and "asks to wait" in running.state.reason


async def test_true_limits_hold_for_posts_edits_and_typing_together(emulator: TelegramEmulator) -> None:
    emulator.limits(True)
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    emulator.people.says("go", user=7)
    await running.adapter.typing(private())
    posted = await running.adapter.send(says("hi"))
    await running.adapter.edit(says("hi there"), posted)
    with pytest.raises(RateLimited) as limited:
        await running.adapter.send(says("one too many"))
    assert limited.value.retry_after == 1
    await running.stop()


async def test_a_blocked_bot_is_told_so(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    running.emulator.people.blocks(7)
    with pytest.raises(DeliveryError, match="blocked by the user") as blocked:
        await running.adapter.send(says("hi"))
    assert blocked.value.category is DeliveryCategory.PERMISSION


async def test_drafts_are_for_private_chats_that_want_them(emulator: TelegramEmulator) -> None:
    running = Running(
        TelegramAdapter("tg", account(emulator, streaming="draft")), emulator, Shelf(), QuickClock()
    )
    await running.start()
    emulator.people.says("go", user=7)
    place = emulator.people.make_group()
    assert running.adapter.drafts_in(private()) and not running.adapter.drafts_in(group(place))
    await running.adapter.draft(says("thinking"), 5)
    assert emulator.view(7)["draft"] == "thinking"
    await running.adapter.send(says("thought"))
    assert emulator.view(7)["draft"] == "" and shown(running) == ["thought"]
    with pytest.raises(DeliveryError, match="TEXTDRAFT_PEER_INVALID"):
        await running.adapter.draft(says("x", group(place)), 5)
    await running.stop()


async def test_a_draft_has_telegrams_own_stop_button(emulator: TelegramEmulator) -> None:
    running = Running(
        TelegramAdapter("tg", account(emulator, streaming="draft")), emulator, Shelf(), QuickClock()
    )
    await running.start()
    emulator.people.says("go", user=7, name="Ada")
    await running.shelf.until(1)
    await running.adapter.draft(says("thinking"), 5)
    emulator.people.stops(7)
    said, stop = await running.shelf.until(2)
    assert stop.text == "/stop"
    assert (stop.origin.chat, stop.origin.sender.id) == (said.origin.chat, said.origin.sender.id)
    await running.stop()


async def test_no_drafts_unless_asked_for(running: Running) -> None:
    assert not running.adapter.drafts_in(private())


async def test_a_moved_group_is_followed_once_and_kept(running: Running) -> None:
    old = running.emulator.people.make_group("Team")
    first = running.emulator.people.says("hi", chat=old)
    posted = await running.adapter.send(says("before", group(old)))
    running.emulator.queue.stalled = True
    new = running.emulator.people.migrates(old)
    await running.adapter.send(says("after", group(old, reply_to=first.id)))
    await running.adapter.send(says("again", group(old)))
    assert running.shelf.migrations == [(str(old), str(new))]
    assert [message["text"] for message in running.emulator.view(new)["messages"]] == ["after", "again"]
    assert [message["reply_to"] for message in running.emulator.view(new)["messages"]] == [0, 0]
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.edit(says("edited", group(old)), posted)
    assert gone.value.category is DeliveryCategory.NOT_FOUND
    running.emulator.release()


async def test_an_edit_that_finds_the_group_moved_touches_no_other_message(running: Running) -> None:
    old = running.emulator.people.make_group("Team")
    posted = await running.adapter.send(says("before", group(old)))
    new = running.emulator.people.migrates(old)
    running.emulator.queue.reset()
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.edit(says("edited", group(old)), posted)
    assert gone.value.category is DeliveryCategory.NOT_FOUND
    assert running.emulator.view(new)["messages"] == []


async def test_the_native_command_list(running: Running) -> None:
    await running.adapter.register_commands(
        [CommandHint("help", "What I can do"), CommandHint("new", "x" * 400)]
    )
    assert [command["command"] for command in running.emulator.world.commands] == ["help", "new"]
    assert len(running.emulator.world.commands[1]["description"]) == 256
    running.emulator.fault("error", method="setMyCommands", status=429, description="Too Many Requests")
    with pytest.raises(RateLimited):
        await running.adapter.register_commands([])


async def test_ids_of_another_platform_are_not_found(running: Running) -> None:
    strange = ReplyAddress("tg", "C0123", ChatKind.GROUP)
    with pytest.raises(DeliveryError) as missing:
        await running.adapter.send(says("hi", strange))
    assert missing.value.category is DeliveryCategory.NOT_FOUND


async def test_nothing_can_be_sent_before_or_after(emulator: TelegramEmulator, running: Running) -> None:
    idle = TelegramAdapter("tg", account(emulator))
    with pytest.raises(DeliveryError, match="not connected"):
        await idle.send(says("hi"))
    await running.stop()
    with pytest.raises(DeliveryError, match="not connected"):
        await running.adapter.typing(private())


async def test_a_hundred_chats_at_once(running: Running) -> None:
    running.emulator.people.says_many([{"text": "go", "user": 1000 + number} for number in range(100)])
    ids = await asyncio.gather(
        *(running.adapter.send(says(f"to {number}", private(1000 + number))) for number in range(100))
    )
    assert len(set(ids)) == 100
    assert all(shown(running, 1000 + number) == [f"to {number}"] for number in range(100))
    await eventually(lambda: len(running.shelf.messages) == 100)


def test_it_has_every_capability_but_safe_repeats() -> None:
    adapter = TelegramAdapter.__new__(TelegramAdapter)
    wanted = (
        Adapter,
        EditsMessages,
        DeletesMessages,
        ShowsTyping,
        StreamsDrafts,
        SendsFiles,
        FetchesFiles,
        RegistersCommands,
    )
    missing = [protocol.__name__ for protocol in wanted if not _offers(adapter, protocol)]
    assert missing == []
    assert not _offers(adapter, RepeatsSafely)


def _offers(adapter: object, protocol: type) -> bool:
    names = [name for name in vars(protocol) if not name.startswith("_")]
    return all(hasattr(type(adapter), name) for name in names)


LEAK = "see [this](https://evil.example/?d=secret) and https://evil.example/2"


async def _write_with_links(running: Running, emulator: TelegramEmulator) -> None:
    emulator.people.says("go", user=7)
    message_id = await running.adapter.send(says(LEAK))
    await running.adapter.edit(says(f"{LEAK} again"), message_id)
    await running.adapter.draft(says(LEAK), 5)


@pytest.mark.guard(
    "Telegram fetches no links",
    "bot/platforms/telegram/outbound.py",
    "{} if self._previews or plain not in _PREVIEWING else _NO_PREVIEW",
    "{}",
    against="leaks without a click",
)
async def test_telegram_fetches_no_link_of_an_answer(running: Running, emulator: TelegramEmulator) -> None:
    await _write_with_links(running, emulator)
    running.adapter.session.outbound.rich = False
    await _write_with_links(running, emulator)
    assert emulator.counters()["previews"] == []


async def test_an_image_in_an_answer_is_a_link(running: Running, emulator: TelegramEmulator) -> None:
    emulator.people.says("go", user=7)
    await running.adapter.send(says("![x](https://evil.example/pixel.png?d=secret)"))
    assert emulator.counters()["previews"] == []


async def test_link_previews_are_there_where_the_configuration_wants_them(emulator: TelegramEmulator) -> None:
    wanted = account(emulator, link_previews=True)
    running = Running(TelegramAdapter("tg", wanted), emulator, Shelf(), QuickClock())
    await running.start()
    running.adapter.session.outbound.rich = False
    await _write_with_links(running, emulator)
    assert "https://evil.example/?d=secret" in emulator.counters()["previews"]
    await running.stop()
