"""A person on Discord and the whole service: real SDK, real runtime, emulated platform with its true
limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.app.service import BotService
from bot.platforms.discord.components import STOP_LABEL
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.agent.graphs import long_markdown
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON
from roebot_testing.emulators.transcript import FrameKind
from tests.harness.service import MODEL
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block


def config_text(emulator: DiscordEmulator) -> str:
    """A configuration with one Discord account at the emulator, open to everybody."""
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {{default: allow}}
"""


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve() as served:
        yield served


@pytest.fixture
async def service(tmp_path: Path, emulator: DiscordEmulator) -> AsyncIterator[BotService]:
    async with running(tmp_path, config_text(emulator)) as started:
        await until(lambda: emulator.gateway.session, 20.0, lambda: "not connected")
        yield started


def me(emulator: DiscordEmulator) -> str:
    return f"<@{emulator.world.bot.id}>"


async def answered(
    emulator: DiscordEmulator, chat: int, condition: Callable[[list[str]], bool], seconds: float = 30.0
) -> list[str]:
    """Wait until the bot's messages are as wanted, then see that nothing follows; their texts."""

    def texts() -> list[str]:
        return [seen.text for seen in answers(emulator, chat)]

    await until(lambda: condition(texts()), seconds, lambda: f"{texts()} {emulator.counters()}")
    await asyncio.sleep(1.5)
    assert condition(texts()), texts()
    assert emulator.counters()["limited"] == 0
    return texts()


async def test_a_direct_message_streams_then_stands_complete(
    emulator: DiscordEmulator, service: BotService
) -> None:
    chat = emulator.people.dm()
    emulator.people.says("[tokens=60] [every=0.1] go")
    [text] = await answered(emulator, chat, lambda texts: bool(texts) and "word60" in texts[0])
    assert text.split() == [f"word{n}" for n in range(1, 61)]
    posts = emulator.transcript.of(FrameKind.POST, chat)
    edits = emulator.transcript.of(FrameKind.EDIT, chat)
    assert len(posts) == 1
    assert 2 <= len(edits) <= 2 + edits[-1].at - posts[0].at, "about one a second"
    assert posts[0].text in text
    assert emulator.transcript.of(FrameKind.TYPING, chat)


async def test_a_mention_is_answered_in_place_and_its_reply_chain_goes_on(
    emulator: DiscordEmulator, service: BotService
) -> None:
    chat = emulator.people.make_group("team")
    emulator.people.says("nobody asked the bot", chat=chat)
    first = emulator.people.says(f"{me(emulator)} one", chat=chat)
    await answered(emulator, chat, lambda texts: len(texts) == 1)
    [seen] = answers(emulator, chat)
    assert "one" in seen.text and seen.reply_to == first.id
    second = emulator.people.says("two", user=PERSON + 1, name="Ben", chat=chat, reply_to=seen.id)
    await answered(emulator, chat, lambda texts: len(texts) == 2)
    assert answers(emulator, chat)[1].reply_to == second.id
    [view] = await service.db.transact(list_conversations, "discord")
    turns = await service.db.transact(list_turns, view.id)
    assert [m.sender.name for turn in reversed(turns) for m in turn.messages][1] == "Ben"


async def test_each_thread_is_a_conversation(emulator: DiscordEmulator, service: BotService) -> None:
    chat = emulator.people.make_group("team")
    threads = [emulator.people.make_thread(chat, title) for title in ("a", "b")]
    for thread in threads:
        emulator.people.says(f"{me(emulator)} hi", chat=thread)
    for thread in threads:
        await answered(emulator, thread, lambda texts: len(texts) == 1)
    assert answers(emulator, chat) == []
    assert len(await service.db.transact(list_conversations, "discord")) == 2


async def test_the_agent_reads_an_alert_and_the_reply_below_it(
    emulator: DiscordEmulator, service: BotService
) -> None:
    people = emulator.people
    chat = people.make_group("incidents")
    card = {
        "title": "Checkout latency is high",
        "url": "https://grafana.example.com/d/checkout",
        "fields": [{"name": "Region", "value": "eu-north-1"}],
    }
    alert = people.posts(chat=chat, name="Grafana", embeds=[card], webhook=True)
    thread = people.starts_thread(chat, alert.id, "Checkout", user=PERSON + 1)
    people.says("same as on Monday", chat=thread, user=PERSON + 1, name="Ben")
    people.says(f"{me(emulator)} what is this?", chat=thread, name="Ada")
    [text] = await answered(emulator, thread, lambda texts: len(texts) == 1)
    parts = ("Grafana", "Checkout latency is high", "https://grafana.example.com/d/checkout", "eu-north-1")
    assert [part for part in (*parts, "Ben", "same as on Monday", "what is this?") if part not in text] == []


async def test_the_agent_reads_every_kind_of_content_in_a_thread(
    emulator: DiscordEmulator, service: BotService
) -> None:
    people, ben = emulator.people, PERSON + 1
    guild = people.make_guild()
    chat, alerts = people.make_channel(guild, "ops"), people.make_channel(guild, "alerts")
    role, thread = people.make_role(guild, "On-call"), people.make_thread(chat)
    forwarded = people.posts(chat=alerts, embeds=[{"title": "Certificate expires"}])
    first = people.says(f"ask <@&{role}> in <#{alerts}>", chat=thread, user=ben, name="Ben")
    people.says("noted", chat=thread, reply_to=first.id, name="Ada")
    people.says("look", chat=thread, filename="rack.txt", data=b"red")
    people.records_voice(chat=thread)
    people.sends_sticker("Quokka salutes", chat=thread)
    people.asks_poll("When do we migrate?", ["Saturday night", "Never"], chat=thread)
    people.passes_on(alerts, forwarded.id, to=thread)
    people.posts(chat=thread, components=[{"type": 10, "content": "## Deployment failed"}])
    people.posts("Roll back?", chat=thread, components=[button_row("Keep 8.1")])
    people.pins(thread, first.id, user=ben)
    people.joins(thread, user=ben)
    people.says("odd", chat=thread, extra={"components": [{"type": 99}]})
    people.says(f"{me(emulator)} what happened?", chat=thread, name="Ada")
    texts = await answered(emulator, thread, lambda texts: bool(texts) and "what happened?" in texts[-1])
    text = "\n".join(texts)
    expected = (
        "ask @On-call in #alerts", "noted", "rack.txt", "voice-message.ogg", "Quokka salutes",
        "When do we migrate?", "Saturday night", "#alerts", "Certificate expires", "Deployment failed",
        "Roll back?", "Keep 8.1", "Ben pinned a message", "Ben joined the server", "component of type 99",
    )  # fmt: skip
    assert [part for part in expected if part not in text] == []


async def test_content_without_words_is_answered_in_private(
    emulator: DiscordEmulator, service: BotService
) -> None:
    people, chat = emulator.people, emulator.people.dm()
    alerts = people.make_group("alerts")
    alert = people.posts(chat=alerts, embeds=[{"title": "Disk full"}])
    people.sends_sticker("Quokka salutes")
    await answered(emulator, chat, lambda texts: len(texts) == 1)
    people.asks_poll("When?", ["Now", "Never"])
    await answered(emulator, chat, lambda texts: len(texts) == 2)
    people.passes_on(alerts, alert.id)
    await answered(emulator, chat, lambda texts: len(texts) == 3)
    people.records_voice()
    found = await answered(emulator, chat, lambda texts: len(texts) == 4)
    expected = ("Quokka salutes", "When?\n- Now\n- Never", "Disk full", "voice-message.ogg")
    assert [part for part, text in zip(expected, found, strict=True) if part not in text] == []


async def test_an_edit_that_adds_the_bots_name_is_answered_once(
    emulator: DiscordEmulator, service: BotService
) -> None:
    people = emulator.people
    chat = people.make_group("team")
    said = people.says("what is up?", chat=chat)
    people.edits(chat, said.id, f"{me(emulator)} what is up?")
    people.edits(chat, said.id, f"{me(emulator)} what is up?")
    assert await answered(emulator, chat, lambda texts: len(texts) == 1) == ["what is up?"]


def button_row(label: str) -> dict[str, Any]:
    """A row of one button of another app."""
    button = {"type": 2, "style": 2, "label": label, "custom_id": "act:1"}
    return {"type": 1, "components": [button]}


async def test_commands_are_registered_and_answered_in_their_own_answer(
    emulator: DiscordEmulator, service: BotService
) -> None:
    await until(lambda: emulator.world.commands, 20.0, lambda: "no commands")
    assert {"help", "new", "status", "stop"} <= {command["name"] for command in emulator.world.commands}
    chat = emulator.people.make_group("team")
    emulator.people.uses("status", chat=chat)
    [text] = await answered(emulator, chat, lambda texts: bool(texts) and all(texts))
    assert text
    [seen] = emulator.view(chat)["messages"]
    assert not seen["thinking"]
    private = emulator.people.dm()
    emulator.people.uses("help")
    await answered(emulator, private, lambda texts: len(texts) == 1 and "status" in texts[0])
    emulator.people.uses("help", "stop")
    await answered(emulator, private, lambda texts: len(texts) == 2 and "stop" in texts[1])


async def test_twelve_thousand_characters_arrive_split_and_whole(
    emulator: DiscordEmulator, service: BotService
) -> None:
    long = long_markdown()
    chat = emulator.people.dm()
    emulator.people.says(f"[reply={long}]")
    last = long.count("## Section")
    texts = await answered(
        emulator,
        chat,
        lambda texts: len(texts) >= 6 and f"second point of {last}" in texts[-1],
        seconds=60.0,
    )
    assert all(len(text) <= 2000 and text.count("```") % 2 == 0 for text in texts)
    joined = "\n".join(texts)
    for number in range(1, last + 1):
        assert f"Section {number}\n" in joined
        assert f"print({number}, 7, 'x < y & z')" in joined
    for frame in emulator.transcript.of(FrameKind.POST, chat):
        assert frame.status == 200


async def test_a_gap_between_two_sessions_loses_nothing(
    emulator: DiscordEmulator, service: BotService
) -> None:
    chat, private = emulator.people.make_group("team"), emulator.people.dm()
    emulator.people.says("first")
    await answered(emulator, private, lambda texts: len(texts) == 1)
    emulator.go_away()
    emulator.people.says("while you were away")
    emulator.people.says(f"{me(emulator)} and here", chat=chat)
    emulator.come_back()
    await answered(emulator, private, lambda texts: len(texts) == 2)
    await answered(emulator, chat, lambda texts: len(texts) == 1)
    assert "while you were away" in answers(emulator, private)[1].text


async def test_a_broken_socket_in_mid_stream_leaves_one_complete_answer(
    emulator: DiscordEmulator, service: BotService
) -> None:
    chat = emulator.people.dm()
    emulator.people.says("[tokens=40] [every=0.1] go")
    await until(lambda: answers(emulator, chat), 20.0, lambda: "no first frame")
    emulator.close_sockets()
    emulator.people.says("more")
    texts = await answered(emulator, chat, lambda texts: len(texts) == 2 and "word40" in texts[0])
    assert texts[0].split() == [f"word{n}" for n in range(1, 41)]
    assert emulator.counters()["resumed"] == 1


async def test_a_lost_response_posts_nothing_twice(emulator: DiscordEmulator, service: BotService) -> None:
    chat = emulator.people.dm()
    emulator.people.says("warm up")
    await answered(emulator, chat, lambda texts: len(texts) == 1)
    emulator.fault("drop", method="createMessage")
    emulator.people.says("hello there")
    texts = await answered(emulator, chat, lambda texts: len(texts) == 2 and "hello there" in texts[1])
    assert len(texts) == 2


async def test_a_file_comes_in_and_is_read(emulator: DiscordEmulator, service: BotService) -> None:
    chat = emulator.people.dm()
    emulator.people.says("what is in it?", filename="notes.txt", data=b"seven dwarfs", mime="text/plain")
    await answered(emulator, chat, lambda texts: bool(texts) and "notes.txt" in texts[0])


def buttons(emulator: DiscordEmulator, chat: int) -> list[list[str]]:
    """What can be pressed below each of the bot's messages."""
    return [m["buttons"] for m in emulator.view(chat)["messages"] if m["from_bot"]]


async def test_the_stop_button_ends_a_run(emulator: DiscordEmulator, service: BotService) -> None:
    chat = emulator.people.dm()
    emulator.people.says("[tokens=500] [every=0.1] long")
    await until(lambda: buttons(emulator, chat) == [[STOP_LABEL]], 20.0, lambda: "no first frame")
    emulator.people.presses(chat, answers(emulator, chat)[0].id, STOP_LABEL)
    texts = await answered(emulator, chat, lambda texts: any("(stopped)" in text for text in texts))
    assert "word500" not in texts[0]
    await until(lambda: not any(buttons(emulator, chat)), 20.0, lambda: f"{buttons(emulator, chat)}")


@pytest.mark.long
async def test_in_a_thread_it_ends_the_run_of_that_thread_alone(
    emulator: DiscordEmulator, service: BotService
) -> None:
    team = emulator.people.make_group("team")
    here, there = (emulator.people.make_thread(team, title) for title in ("here", "there"))
    for thread in (here, there):
        emulator.people.says(f"{me(emulator)} [tokens=60] [every=0.1] go", chat=thread)
    for thread in (here, there):
        await until(lambda at=thread: any(buttons(emulator, at)), 20.0, lambda: "no first frame")  # type: ignore[misc]
    emulator.people.presses(here, answers(emulator, here)[0].id, STOP_LABEL, user=PERSON + 1, name="Ben")
    await answered(emulator, here, lambda texts: any("(stopped)" in text for text in texts))
    [text] = await answered(emulator, there, lambda texts: "word60" in texts[0])
    assert text.split()[-1] == "word60"

    def left() -> list[list[str]]:
        return [found for found in buttons(emulator, here) + buttons(emulator, there) if found]

    await until(lambda: not left(), 20.0, lambda: f"{left()}")


@pytest.mark.long
async def test_who_may_not_talk_to_the_bot_cannot_stop_it(tmp_path: Path, emulator: DiscordEmulator) -> None:
    closed = f'access: {{default: closed, members: ["discord:{PERSON}"]}}'
    text = config_text(emulator).replace("access: {default: allow}", closed)
    async with running(tmp_path, text):
        await until(lambda: emulator.gateway.session, 20.0, lambda: "not connected")
        chat = emulator.people.make_group("team")
        emulator.people.says(f"{me(emulator)} [tokens=60] [every=0.1] go", chat=chat)
        await until(lambda: any(buttons(emulator, chat)), 20.0, lambda: "no first frame")
        emulator.people.presses(chat, answers(emulator, chat)[0].id, STOP_LABEL, user=PERSON + 1, name="Eve")
        texts = await answered(emulator, chat, lambda texts: any("word60" in text for text in texts))
    assert not any("(stopped)" in text for text in texts)
