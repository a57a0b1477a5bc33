"""A person on Slack and the whole service: real SDK and runtime, an emulated workspace with true limits."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.account_state import Live
from bot.app.service import BotService
from bot.faults import VARIABLE, Step
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.agent.graphs import long_markdown
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.cards import alert, poll, table
from roebot_testing.emulators.transcript import FrameKind
from tests.harness.machine import Beats
from tests.harness.service import MODEL, ServiceProcess
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block

PERSON = "U0000001"


def config_text(emulator: SlackEmulator, *, extra: str = "") -> str:
    """A configuration with one Slack account at the emulator, open to everybody."""
    return f"""
config_version: 1
{MODEL}
server: {{port: 0}}
channels:
  slack:
    bot_token: "{emulator.bot_token}"
    app_token: "{emulator.app_token}"
    base_url: "{emulator.url}"
    {extra}
access: {{default: allow}}
"""


@pytest.fixture
async def emulator() -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve() as served:
        yield served


@pytest.fixture
async def service(tmp_path: Path, emulator: SlackEmulator) -> AsyncIterator[BotService]:
    async with running(tmp_path, config_text(emulator)) as started:
        await until(
            lambda: started.accounts.state("slack").live is Live.LIVE,
            20.0,
            lambda: f"{started.accounts.state('slack')}",
        )
        yield started


def answers(emulator: SlackEmulator, channel: str = PERSON) -> list[dict[str, Any]]:
    """The bot's messages in a channel, in order."""
    return [message for message in emulator.view(channel)["messages"] if message["from_bot"]]


async def answered(
    emulator: SlackEmulator, channel: str, condition: Callable[[list[str]], bool], seconds: float = 30.0
) -> list[dict[str, Any]]:
    """Wait until the bot's messages are as wanted, then see that nothing follows and nothing is open."""

    def texts() -> list[str]:
        return [seen["text"] for seen in answers(emulator, channel)]

    def stands() -> bool:
        return condition(texts()) and not any(seen["streaming"] for seen in answers(emulator, channel))

    await until(stands, seconds, lambda: f"{answers(emulator, channel)}")
    await asyncio.sleep(1.5)
    assert stands(), answers(emulator, channel)
    assert emulator.counters()["limited"] == 0
    return answers(emulator, channel)


async def test_a_direct_message_streams_natively_then_stands_complete(
    emulator: SlackEmulator, service: BotService
) -> None:
    asked = emulator.people.says("[tokens=40] [every=0.1] go", user=PERSON)
    [seen] = await answered(emulator, PERSON, lambda texts: bool(texts) and "word40" in texts[0])
    assert seen["text"].split() == [f"word{n}" for n in range(1, 41)]
    assert (seen["streamed"], seen["thread_ts"], seen["edits"]) == (True, asked.ts, 0)
    calls = emulator.counters()["calls"]
    assert (calls["chat.startStream"], calls["chat.stopStream"]) == (1, 1)
    assert 5 <= calls["chat.appendStream"] <= 20
    assert "chat.update" not in calls
    frames = [frame.text for frame in emulator.transcript.of(FrameKind.EDIT)]
    assert all(seen["text"].startswith(frame) for frame in frames)


async def test_a_mention_in_a_channel_is_answered_once_in_its_thread(
    emulator: SlackEmulator, service: BotService
) -> None:
    team = emulator.people.make_channel("team")
    emulator.people.says("nobody asked the bot", user=PERSON, channel=team)
    asked = emulator.people.says("@roebot one", user=PERSON, name="Ada", channel=team)
    [seen] = await answered(emulator, team, lambda texts: len(texts) == 1)
    assert (seen["text"], seen["thread_ts"]) == ("one", asked.ts)
    [view] = await service.db.transact(list_conversations, "slack")
    [turn] = await service.db.transact(list_turns, view.id)
    assert [(message.text, message.sender.name) for message in turn.messages] == [("one", "Ada")]
    emulator.people.says("two", user="U0000002", name="Ben", channel=team, thread=asked.ts)
    seen = (await answered(emulator, team, lambda texts: len(texts) == 2))[1]
    assert (seen["text"], seen["thread_ts"]) == ("two", asked.ts)
    assert len(await service.db.transact(list_conversations, "slack")) == 1
    other = emulator.people.says("a thread of others", user=PERSON, channel=team)
    emulator.people.says("really", user="U0000002", channel=team, thread=other.ts)
    emulator.people.says("@roebot three", user="U0000002", channel=team, thread=other.ts)
    seen = (await answered(emulator, team, lambda texts: len(texts) == 3))[2]
    before, _, own = seen["text"].rpartition("\n\n")
    assert (own, seen["thread_ts"]) == ("three", other.ts)
    assert '"Ada" (slack:U0000001) "a thread of others"' in before
    assert '"Ben" (slack:U0000002) "really"' in before
    assert len(await service.db.transact(list_conversations, "slack")) == 2


async def test_the_agent_reads_every_kind_of_content_in_a_thread(
    emulator: SlackEmulator, service: BotService
) -> None:
    people = emulator.people
    team, link = people.make_channel("team"), "https://grafana.example.com/d/checkout"
    card = alert("Checkout latency is high", link, "p99 above *900 ms*", {"Region": "eu-north-1"})
    root = people.app_posts(channel=team, name="Grafana", attachments=[card])
    ben = {"channel": team, "thread": root.ts, "user": "U0000002", "name": "Ben"}
    people.says("same as on Monday", **ben)
    people.shares("The certificate expires", "look", author_name="Ana Petrova", place="support", **ben)
    people.speaks("the rack is red", **ben)
    people.says("who is on duty?", attachments=[table([["Week", "Person"], ["49", "Tomas"]])], **ben)
    people.says("numbers", filename="rack.txt", data=b"red", **ben)
    vote = poll("When do we migrate?", {"Saturday night": 3, "Never": 1})
    people.app_posts("When do we migrate?", channel=team, name="Poll", thread=root.ts, blocks=vote)
    people.says("@roebot what is this?", user=PERSON, name="Ada", channel=team, thread=root.ts)
    seen = await answered(emulator, team, lambda texts: "what is this?" in texts[-1])
    text = seen[-1]["text"]
    expected = (
        "Grafana", "Checkout latency is high", link, "p99 above", "Region: eu-north-1", "Ben",
        "same as on Monday", "look", "Ana Petrova", "The certificate expires", "#support",
        "audio_message.m4a", "the rack is red", "who is on duty?", "| 49 | Tomas |", "rack.txt", "Poll",
        "When do we migrate?", "Saturday night",
    )  # fmt: skip
    assert [part for part in expected if part not in text] == []


async def test_content_without_words_is_answered_in_private(
    emulator: SlackEmulator, service: BotService
) -> None:
    people = emulator.people
    people.speaks("the rack is red", user=PERSON)
    [voice] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    people.shares("The certificate expires", author_name="Ana Petrova", place="support", user=PERSON)
    *_, shared = await answered(emulator, PERSON, lambda texts: len(texts) == 2)
    assert "the rack is red" in voice["text"]
    assert "The certificate expires" in shared["text"]


async def test_an_edit_that_adds_the_bots_name_is_answered_once(
    emulator: SlackEmulator, service: BotService
) -> None:
    team = emulator.people.make_channel("team")
    said = emulator.people.says("what is up?", user=PERSON, channel=team)
    for _ in range(2):
        emulator.people.edits(team, said.ts, "@roebot what is up?")
    [seen] = await answered(emulator, team, lambda texts: len(texts) == 1)
    assert (seen["text"], seen["thread_ts"]) == ("what is up?", said.ts)


async def test_a_direct_message_is_one_conversation_whatever_its_threads(
    emulator: SlackEmulator, service: BotService
) -> None:
    first = emulator.people.says("one", user=PERSON)
    await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    emulator.people.says("two", user=PERSON, thread=first.ts)
    second = (await answered(emulator, PERSON, lambda texts: len(texts) == 2))[1]
    assert second["thread_ts"] == first.ts
    third = emulator.people.says("three", user=PERSON)
    seen = (await answered(emulator, PERSON, lambda texts: len(texts) == 3))[2]
    assert seen["thread_ts"] == third.ts
    assert len(await service.db.transact(list_conversations, "slack")) == 1


async def test_twelve_thousand_characters_arrive_split_and_whole(
    emulator: SlackEmulator, service: BotService
) -> None:
    long = long_markdown(14_000)
    emulator.people.says(f"[reply={long}]", user=PERSON)
    last = long.count("## Section")
    seen = await answered(
        emulator,
        PERSON,
        lambda texts: len(texts) >= 2 and f"second point of {last}" in texts[-1],
        seconds=60.0,
    )
    texts = [one["text"] for one in seen]
    assert all(len(text) <= 12_000 for text in texts)
    joined = "\n".join(texts)
    for number in range(1, last + 1):
        # Streamed, a heading stays; posted whole, a message has at most fifty blocks: then it is a bold line.
        headings = (f"## Section {number}\n", f"**Section {number}**\n")
        assert sum(map(joined.count, headings)) == 1
        assert f"print({number}, 7, 'x < y & z')" in joined
    assert "\u2060" not in joined


async def test_the_slash_command_and_the_text_form(emulator: SlackEmulator, service: BotService) -> None:
    team = emulator.people.make_channel("team")
    emulator.people.commands("status", user=PERSON)
    [seen] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    assert seen["text"]
    emulator.people.says("@roebot help", user=PERSON, channel=team)
    [seen] = await answered(emulator, team, lambda texts: len(texts) == 1)
    assert "/status" in seen["text"]


async def test_what_is_about_oneself_only_oneself_sees_in_a_channel(
    emulator: SlackEmulator, service: BotService
) -> None:
    team = emulator.people.make_channel("team")
    root = emulator.people.says("@roebot whoami", user=PERSON, channel=team).ts
    await answered(emulator, team, lambda texts: len(texts) == 1)
    emulator.people.says("@roebot status", user=PERSON, channel=team, thread=root)
    await answered(emulator, team, lambda texts: len(texts) == 2)
    emulator.people.says("@roebot whoami", user=PERSON, channel=team, thread=root)
    await answered(emulator, team, lambda texts: len(texts) == 3)
    emulator.fault("drop", method="chat.postEphemeral")
    emulator.people.says("@roebot usage", user=PERSON, channel=team, thread=root)
    above, loud, below, first, again = await answered(emulator, team, lambda texts: len(texts) == 5)
    assert (above["thread_ts"], above["visible_to"]) == ("", PERSON)
    assert f"slack:{PERSON}" in above["text"]
    assert (loud["thread_ts"], loud["visible_to"]) == (root, "")
    assert [one["visible_to"] for one in (below, first, again)] == [PERSON] * 3
    assert [one["thread_ts"] for one in (below, first, again)] == [root] * 3
    assert again["text"] == f"(possible duplicate)\n\n{first['text']}"


@pytest.mark.parametrize(
    "step",
    [
        Step.POST_INTENDED,
        pytest.param(Step.STORED, marks=pytest.mark.long),
        pytest.param(Step.PART_SENT, marks=pytest.mark.long),
    ],
)
async def test_only_oneself_sees_it_after_a_kill_too(
    tmp_path: Path, emulator: SlackEmulator, step: Step
) -> None:
    team = emulator.people.make_channel("team")
    service = ServiceProcess(tmp_path, config_text(emulator), is_forked=True)
    service.start(**{VARIABLE: step.value})
    try:
        await service.ready()
        await until(lambda: emulator.socket.connections > 0, 20.0, service.log)
        emulator.people.says("@roebot whoami", user=PERSON, channel=team)
        assert await service.died() == -9
    finally:
        service.kill()
    stood = len(answers(emulator, team))
    assert stood == (step is Step.PART_SENT)
    service.start()
    try:
        await service.ready()
        seen = await answered(emulator, team, lambda texts: len(texts) == stood + 1)
        assert {one["visible_to"] for one in seen} == {PERSON}
        assert seen[-1]["text"].startswith("(possible duplicate)") == (step is not Step.STORED)
    finally:
        assert service.stop() == 0


async def test_slacks_own_stop_button_ends_the_answer(emulator: SlackEmulator, service: BotService) -> None:
    asked = emulator.people.says("[tokens=500] [every=0.1] long", user=PERSON)
    await until(lambda: answers(emulator), 20.0, lambda: "no first frame")
    emulator.people.stops(asked.channel, asked.ts)
    seen = await answered(emulator, PERSON, lambda texts: any("(stopped)" in text for text in texts))
    assert seen[0]["text"].endswith("*(stopped)*")


async def test_a_file_comes_in_and_is_read(emulator: SlackEmulator, service: BotService) -> None:
    emulator.people.says("what is in it", user=PERSON, data=b"the secret is 42", filename="note.txt")
    [seen] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
    assert "note.txt" in seen["text"]


@pytest.mark.parametrize("method", ["chat.startStream", "chat.appendStream", "chat.stopStream"])
async def test_a_lost_response_leaves_one_complete_answer(
    emulator: SlackEmulator, service: BotService, method: str
) -> None:
    emulator.fault("drop", method=method)
    emulator.people.says("[tokens=30] [every=0.1] go", user=PERSON)
    [seen] = await answered(emulator, PERSON, lambda texts: bool(texts) and texts[0].endswith("word30"))
    assert seen["text"].split() == [f"word{n}" for n in range(1, 31)]


@pytest.mark.long
async def test_over_http_on_the_services_own_port(tmp_path: Path, emulator: SlackEmulator) -> None:
    text = config_text(emulator, extra=f"mode: http\n    signing_secret: {emulator.signing_secret}")
    service = ServiceProcess(tmp_path, text, is_forked=True)
    service.start()
    try:
        found = await service.ready()
        emulator.subscribe(f"{found.url}/webhooks/slack")
        await until(lambda: emulator.counters()["calls"].get("auth.test"), 20.0, service.log)
        await until(lambda: service.log().count("live") >= 3, 20.0, service.log)
        emulator.people.says("over http", user=PERSON)
        [seen] = await answered(emulator, PERSON, lambda texts: len(texts) == 1)
        assert seen["text"] == "over http"
        assert emulator.socket.opened == 0
        forged = await emulator.requests.post(b"{}", "application/json", {"x-slack-signature": "v0=0"})
        assert forged.status_code == 401
    finally:
        assert service.stop() == 0


@pytest.mark.soak
@pytest.mark.alone
async def test_a_minute_of_tokens_stays_within_slacks_budgets(
    emulator: SlackEmulator, service: BotService
) -> None:
    async with Beats.counted() as beats:
        emulator.people.says("[tokens=1200] [every=0.05] go", user=PERSON)
        seen = await answered(
            emulator, PERSON, lambda texts: bool(texts) and texts[-1].endswith("word1200"), seconds=90.0
        )
    assert " ".join(one["text"] for one in seen).split() == [f"word{n}" for n in range(1, 1201)]
    appends = [frame.at for frame in emulator.transcript.of() if frame.method == "chat.appendStream"]
    assert all(later - at >= 60.0 for at, later in zip(appends, appends[100:], strict=False))
    assert emulator.counters()["limited"] == 0
    kinds = (FrameKind.POST, FrameKind.EDIT)
    shown = [frame.at for frame in emulator.transcript.of() if frame.text and frame.kind in kinds]
    gaps = [beats.seconds(earlier, later) for earlier, later in itertools.pairwise(shown)]
    assert max(gaps) < 4.0, max(gaps)


@pytest.mark.soak
@pytest.mark.alone
async def test_twelve_minutes_over_rotation_are_whole(tmp_path: Path) -> None:
    async with (
        SlackEmulator.serve(scale=0.05) as emulator,
        running(tmp_path, config_text(emulator, extra="rate_scale: 0.05")),
    ):
        await until(lambda: emulator.counters()["connections"], 20.0, lambda: "never connected")
        emulator.people.says("[tokens=360] [every=0.1] go", user=PERSON)
        [seen] = await answered(
            emulator, PERSON, lambda texts: bool(texts) and texts[-1].endswith("word360"), seconds=90.0
        )
        assert seen["text"].split() == [f"word{n}" for n in range(1, 361)]
        calls = emulator.counters()["calls"]
        assert calls["chat.stopStream"] == 1 and calls["chat.update"] > 5
        [stopped] = [frame for frame in emulator.transcript.of() if frame.method == "chat.stopStream"]
        [started] = [frame for frame in emulator.transcript.of() if frame.method == "chat.startStream"]
        assert 11.9 <= stopped.at - started.at < 15.0
