"""A person on Telegram and the whole service: real SDK, real runtime, emulated platform with its true
limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.app.service import BotService
from bot.render.measure import utf16_units
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from bot.turn import TurnKind, TurnState
from roebot_testing.agent.graphs import long_markdown
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.transcript import FrameKind
from tests.harness.service import PERSON, config_text
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, count_429, until

pytestmark = pytest.mark.may_block


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as served:
        yield served


@pytest.fixture
async def service(tmp_path: Path, emulator: TelegramEmulator) -> AsyncIterator[BotService]:
    async with running(tmp_path, config_text(emulator)) as started:
        yield started


async def answered(
    emulator: TelegramEmulator, chat: int, condition: Callable[[list[str]], bool], seconds: float = 30.0
) -> list[str]:
    """Wait until the bot's messages in a chat are as wanted, then see that nothing follows; their texts."""

    def texts() -> list[str]:
        return [seen.text for seen in answers(emulator, chat)]

    await until(lambda: condition(texts()), seconds, lambda: f"{texts()}")
    await asyncio.sleep(1.5)
    assert condition(texts()), texts()
    assert count_429(emulator) == 0
    return texts()


async def test_a_private_chat_streams_then_stands_complete(
    emulator: TelegramEmulator, service: BotService
) -> None:
    emulator.people.says("[tokens=40] [every=0.1] go", user=PERSON)
    [text] = await answered(emulator, PERSON, lambda texts: bool(texts) and "word40" in texts[0])
    assert text.split() == [f"word{n}" for n in range(1, 41)]
    posts = emulator.transcript.of(FrameKind.POST, PERSON)
    edits = emulator.transcript.of(FrameKind.EDIT, PERSON)
    assert len(posts) == 1
    assert 2 <= len(edits) <= 6
    assert posts[0].text in text


async def test_a_group_answers_a_mention_and_its_reply_chain(
    emulator: TelegramEmulator, service: BotService
) -> None:
    group = emulator.people.make_group("team")
    emulator.people.says("nobody asked the bot", user=PERSON, chat=group)
    first = emulator.people.says(f"@{bot_name(emulator)} one", user=PERSON, chat=group)
    await answered(emulator, group, lambda texts: len(texts) == 1)
    [seen] = answers(emulator, group)
    assert "one" in seen.text
    assert seen.reply_to == first.id
    second = emulator.people.says("two", user=PERSON + 1, name="Ben", chat=group, reply_to=seen.id)
    await answered(emulator, group, lambda texts: len(texts) == 2)
    assert answers(emulator, group)[1].reply_to == second.id
    [view] = await service.db.transact(list_conversations, "telegram")
    turns = await service.db.transact(list_turns, view.id)
    assert [m.sender.name for turn in reversed(turns) for m in turn.messages][1] == "Ben"


async def test_a_question_about_an_alert_comes_with_the_alert_and_a_colleagues_reply(
    emulator: TelegramEmulator, service: BotService
) -> None:
    people = emulator.people
    group = people.make_group("team")
    graph = "https://grafana.example.com/d/1"
    alert = people.posts(
        name="Alerts", title="Disk full", fields={"Host": "db-1"}, buttons={"Graph": graph}, chat=group
    )
    people.says("since noon", user=PERSON + 1, name="Ben", chat=group, reply_to=alert.id)
    people.says(f"@{bot_name(emulator)} what is this?", user=PERSON, chat=group, reply_to=alert.id)
    await answered(emulator, group, lambda texts: len(texts) == 1)
    [view] = await service.db.transact(list_conversations, "telegram")
    [turn] = await service.db.transact(list_turns, view.id)
    [question] = turn.messages
    assert question.text == "what is this?"
    assert [(one.author, one.text) for one in question.quotations] == [
        ("Alerts", f"Disk full\nHost: db-1\n[Graph]({graph})"),
        ("Ben", "since noon"),
    ]


def bot_name(emulator: TelegramEmulator) -> str:
    """The bot's user name at the emulator."""
    return str(emulator.world.bot.username)


async def test_a_forum_topic_is_a_conversation_of_its_own(
    emulator: TelegramEmulator, service: BotService
) -> None:
    forum = emulator.people.make_group("forum", supergroup=True, forum=True)
    topics = [emulator.people.make_topic(forum, title) for title in ("a", "b")]
    for topic in topics:
        emulator.people.says(f"@{bot_name(emulator)} hi", user=PERSON, chat=forum, topic=topic)
    await answered(emulator, forum, lambda texts: len(texts) == 2)
    assert {seen.topic for seen in answers(emulator, forum)} == set(topics)
    assert len(await service.db.transact(list_conversations, "telegram")) == 2


async def test_twelve_thousand_characters_arrive_split_and_whole(
    emulator: TelegramEmulator, service: BotService
) -> None:
    long = long_markdown()
    emulator.people.says(f"[reply={long}]", user=PERSON)
    last = long.count("## Section")
    texts = await answered(
        emulator,
        PERSON,
        lambda texts: len(texts) >= 3 and f"second point of {last}" in texts[-1],
        seconds=60.0,
    )
    assert all(utf16_units(text) <= 4096 for text in texts)
    joined = "\n".join(texts)
    for number in range(1, last + 1):
        assert f"Section {number}\n" in joined
        assert f"print({number}, 7, 'x < y & z')" in joined
    for frame in emulator.transcript.of(FrameKind.POST, PERSON):
        assert frame.status == 200


@pytest.mark.long
@pytest.mark.parametrize("forbidden", [False, True])
async def test_a_rich_answer_is_one_message_unless_the_group_forbids_it(
    tmp_path: Path, forbidden: bool
) -> None:
    """The question is marked with a reaction until its answer is posted."""
    long = long_markdown()
    async with TelegramEmulator.serve(rich=True) as emulator:
        text = config_text(emulator).replace("rate_scale:", "reaction: 👀, rate_scale:")
        async with running(tmp_path, text):
            group = emulator.people.make_group("team", supergroup=True)
            if forbidden:
                emulator.people.restricts_bot(group, "rich messages")
            asked = emulator.people.says(f"@{bot_name(emulator)} [reply={long}]", user=PERSON, chat=group)
            await until(lambda: asked.reaction == "👀", 10.0, lambda: "no reaction")
            last = f"second point of {long.count('## Section')}"
            texts = await answered(
                emulator, group, lambda texts: any(last in text for text in texts), seconds=90.0
            )
            await until(lambda: not asked.reaction, 10.0, lambda: "the reaction stays")
    joined = "\n".join(texts)
    assert (len(texts) == 1) is not forbidden
    assert all(joined.count(f"Section {number}\n") == 1 for number in range(1, long.count("## Section") + 1))


async def test_an_album_is_one_turn(emulator: TelegramEmulator, service: BotService) -> None:
    emulator.people.sends_album(["look", "", ""], user=PERSON)
    await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    [view] = await service.db.transact(list_conversations, "telegram")
    [turn] = await service.db.transact(list_turns, view.id)
    assert len(turn.messages) == 3


async def test_a_migrated_group_keeps_its_conversation(
    emulator: TelegramEmulator, service: BotService
) -> None:
    group = emulator.people.make_group("team")
    emulator.people.says(f"@{bot_name(emulator)} before", user=PERSON, chat=group)
    await answered(emulator, group, lambda texts: len(texts) == 1)
    moved = emulator.people.migrates(group)
    emulator.people.says("/status", user=PERSON, chat=moved)
    await answered(emulator, moved, lambda texts: len(texts) == 1)
    assert len(await service.db.transact(list_conversations, "telegram")) == 1


async def test_a_file_comes_in_and_is_read(emulator: TelegramEmulator, service: BotService) -> None:
    emulator.people.says(
        "what is in it", user=PERSON, media="document", data=b"the secret is 42", filename="note.txt"
    )
    [text] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    assert "note.txt" in text


async def test_a_response_lost_after_committing_gives_one_marked_repeat(
    emulator: TelegramEmulator, service: BotService
) -> None:
    emulator.people.says("warm up", user=PERSON)
    await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    emulator.fault("drop", method="sendMessage")
    emulator.people.says("hello there", user=PERSON)
    texts = await answered(emulator, PERSON, lambda texts: len(texts) == 3)
    assert texts[1] == "hello there"
    assert texts[2] == "(possible duplicate)\n\nhello there"


@pytest.mark.parametrize("said", ["/help", "/status", "/models", "/whoami", "/accounts", "/nonsense"])
async def test_commands_are_answered(emulator: TelegramEmulator, service: BotService, said: str) -> None:
    emulator.people.says(said, user=PERSON)
    [text] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    assert text


async def test_stop_overtakes_a_full_queue(emulator: TelegramEmulator, service: BotService) -> None:
    emulator.people.says("[tokens=500] [every=0.1] long", user=PERSON)
    await until(lambda: answers(emulator, PERSON), 20.0, lambda: "no first frame")
    for number in range(5):
        emulator.people.says(f"[tokens=3] later {number}", user=PERSON)
    emulator.people.says("/stop", user=PERSON)
    texts = await answered(
        emulator, PERSON, lambda texts: "word1 word2 word3" in [text.strip() for text in texts]
    )
    [view] = await service.db.transact(list_conversations, "telegram")
    turns = await service.db.transact(list_turns, view.id)
    assert [len(turn.messages) for turn in turns if turn.kind == "chat"] == [5, 1]
    assert any(text.endswith("(stopped)") for text in texts)
    assert any("5 waiting messages" in text for text in texts)


async def test_the_stop_button_of_a_draft_ends_the_run(tmp_path: Path, emulator: TelegramEmulator) -> None:
    text = config_text(emulator).replace("rate_scale:", "streaming: draft, rate_scale:")
    async with running(tmp_path, text) as service:
        emulator.people.says("[tokens=500] [every=0.1] long", user=PERSON)
        await until(lambda: emulator.view(PERSON)["draft"], 20.0, lambda: "no draft")
        emulator.people.stops(PERSON)
        await answered(emulator, PERSON, lambda texts: any("(stopped)" in text for text in texts))
        [view] = await service.db.transact(list_conversations, "telegram")
        [chat] = [
            turn for turn in await service.db.transact(list_turns, view.id) if turn.kind is TurnKind.CHAT
        ]
        assert chat.state is TurnState.CANCELLED
