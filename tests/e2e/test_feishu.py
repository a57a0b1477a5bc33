"""A person on Feishu and the whole service: real runtime, emulated platform with its true limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.app.service import BotService
from bot.platforms.feishu.renderer import FEISHU_CARD_LIMIT, feishu_bytes
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.agent.graphs import long_markdown
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.transcript import FrameKind
from tests.harness.service import MODEL
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block

BEN = "ou_ben0000000000000001"


def config_text(emulator: FeishuEmulator, scale: float = 1.0) -> str:
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  feishu:
    app_id: {emulator.app_id}
    app_secret: "{emulator.app_secret}"
    base_url: "{emulator.url}"
    rate_scale: {scale}
access: {{default: allow}}
"""


@pytest.fixture
async def emulator() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve() as served:
        yield served


@pytest.fixture
async def service(tmp_path: Path, emulator: FeishuEmulator) -> AsyncIterator[BotService]:
    async with running(tmp_path, config_text(emulator)) as started:
        yield started


def answers(emulator: FeishuEmulator, chat: str) -> list[dict[str, Any]]:
    """The bot's messages in a chat, in order."""
    return [message for message in emulator.view(chat)["messages"] if message["from_bot"]]


async def answered(
    emulator: FeishuEmulator,
    chat: str,
    condition: Callable[[list[str]], bool],
    seconds: float = 30.0,
) -> list[dict[str, Any]]:
    """Wait until the bot's messages are as wanted and none streams, then see that nothing follows."""

    def texts() -> list[str]:
        return [seen["text"] for seen in answers(emulator, chat)]

    def settled() -> bool:
        # Only a final card has a summary: one whose stream is being opened again has none.
        standing = [seen["summary"] and not seen["streaming"] for seen in answers(emulator, chat)]
        return condition(texts()) and all(standing)

    await until(settled, seconds, lambda: f"{answers(emulator, chat)}")
    await asyncio.sleep(1.5)
    assert settled(), answers(emulator, chat)
    assert emulator.counters()["limited"] == 0
    return answers(emulator, chat)


async def test_a_private_chat_streams_then_stands_complete(
    emulator: FeishuEmulator, service: BotService
) -> None:
    said = emulator.people.says("[tokens=40] [every=0.1] go")
    chat = said.chat.id
    [seen] = await answered(emulator, chat, lambda texts: bool(texts) and "word40" in texts[0])
    assert seen["text"].split() == [f"word{n}" for n in range(1, 41)]
    posts = emulator.transcript.of(FrameKind.POST, chat)
    edits = emulator.transcript.of(FrameKind.EDIT, chat)
    assert len(posts) == 1
    assert 10 <= len(edits) <= 42
    assert posts[0].text in seen["text"]
    assert seen["buttons"] == []
    assert seen["summary"].startswith("word1 word2")


async def test_a_group_answers_a_mention_and_its_reply_chain(
    emulator: FeishuEmulator, service: BotService
) -> None:
    group = emulator.people.make_group("team")
    emulator.people.says("nobody asked the bot", name="Ada", chat=group)
    first = emulator.people.says("@Roebot one", chat=group)
    [seen] = await answered(emulator, group, lambda texts: len(texts) == 1)
    assert "one" in seen["text"]
    assert seen["reply_to"] == first.id
    second = emulator.people.says("two", user=BEN, name="Ben", chat=group, reply_to=seen["message_id"])
    found = await answered(emulator, group, lambda texts: len(texts) == 2)
    assert found[1]["reply_to"] == second.id
    [view] = await service.db.transact(list_conversations, "feishu")
    turns = await service.db.transact(list_turns, view.id)
    assert [m.sender.name for turn in reversed(turns) for m in turn.messages] == ["Ada", "Ben"]


async def test_a_topic_is_a_conversation_of_its_own(emulator: FeishuEmulator, service: BotService) -> None:
    group = emulator.people.make_group("team")
    roots = [emulator.people.says(f"about {name}", chat=group) for name in ("a", "b")]
    for root in roots:
        emulator.people.says("@Roebot hi", chat=group, reply_to=root.id, in_thread=True)
    found = await answered(emulator, group, lambda texts: len(texts) == 2)
    assert {seen["topic"] for seen in found} == {root.thread_id for root in roots}
    assert len(await service.db.transact(list_conversations, "feishu")) == 2


async def test_a_long_answer_arrives_split_and_whole(emulator: FeishuEmulator, service: BotService) -> None:
    long = "\n\n".join(long_markdown() for _ in range(4))
    said = emulator.people.says(f"[reply={long}]")
    ending = long.strip()[-30:]
    found = await answered(
        emulator,
        said.chat.id,
        lambda texts: len(texts) >= 2 and texts[-1].strip().endswith(ending),
        seconds=60.0,
    )
    assert all(feishu_bytes(seen["text"]) <= FEISHU_CARD_LIMIT for seen in found)
    assert [seen["streaming"] for seen in found] == [False] * len(found)
    joined = "\n".join(seen["text"] for seen in found)
    assert joined.count("## Section 1\n") == long.count("## Section 1\n")
    assert joined.count("print(3, 7, 'x < y & z')") == 4
    assert all(frame.status == 200 for frame in emulator.transcript.of(FrameKind.POST))


@pytest.mark.soak
@pytest.mark.alone
async def test_a_reply_outlives_its_streams(tmp_path: Path) -> None:
    """Twelve seconds, where a card streams for six."""
    async with FeishuEmulator.serve(scale=0.01) as emulator:
        async with running(tmp_path, config_text(emulator, 0.01)):
            chat = emulator.people.says("[tokens=120] [every=0.1] go").chat.id
            [seen] = await answered(emulator, chat, lambda texts: bool(texts) and "word120" in texts[0])
        assert seen["text"].split() == [f"word{n}" for n in range(1, 121)]
        [card] = [message.card for message in emulator.world.messages.values() if message.card]
        assert card.opened >= 2
        refusals = [frame for frame in emulator.transcript.of(FrameKind.EDIT) if frame.status != 200]
        assert refusals == []


async def test_a_file_comes_in_and_is_read(emulator: FeishuEmulator, service: BotService) -> None:
    said = emulator.people.says(kind="file", data=b"the secret is 42", filename="note.txt")
    [seen] = await answered(emulator, said.chat.id, lambda texts: len(texts) == 1)
    assert "note.txt" in seen["text"]


async def test_a_response_lost_after_committing_repeats_safely(
    emulator: FeishuEmulator, service: BotService
) -> None:
    chat = emulator.people.says("warm up").chat.id
    await answered(emulator, chat, lambda texts: len(texts) == 1)
    emulator.fault("drop", method="message.create")
    emulator.fault("drop", method="message.reply")
    emulator.people.says("hello there")
    found = await answered(emulator, chat, lambda texts: len(texts) == 2)
    assert found[1]["text"] == "hello there"


@pytest.mark.parametrize("said", ["/help", "/status", "/whoami"])
async def test_commands_are_answered(emulator: FeishuEmulator, service: BotService, said: str) -> None:
    chat = emulator.people.says(said).chat.id
    [seen] = await answered(emulator, chat, lambda texts: len(texts) == 1)
    assert seen["text"]


async def test_the_stop_button_ends_a_run(emulator: FeishuEmulator, service: BotService) -> None:
    chat = emulator.people.says("[tokens=500] [every=0.1] long").chat.id
    await until(lambda: answers(emulator, chat), 20.0, lambda: "no first frame")
    [growing] = answers(emulator, chat)
    [button] = growing["buttons"]
    emulator.people.clicks(growing["message_id"], button["behaviors"][0]["value"])
    found = await answered(emulator, chat, lambda texts: any("(stopped)" in text for text in texts))
    assert found[0]["buttons"] == []
    assert "word500" not in found[0]["text"]
