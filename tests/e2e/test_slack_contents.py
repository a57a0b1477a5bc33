"""Each content type of Slack, from the event to what the model is sent: in the turn if a person means the
bot, and in the record of the channel if it is for others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from bot.account_state import Live
from bot.domain import ChatKind, InboundChange, InboundMessage
from bot.platforms.slack.inbound import Ignored, SlackIdentity, SlackInbound
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.workspace import BOT_ID, BOT_USER
from tests.corpus import Sample
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.slack_samples import ADMIN, TEAM, SlackSamples, load_received_samples
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

AT_ONCE = 8
"""Messages that are sent without waiting: fewer than a conversation's queue takes."""
SECONDS = 60.0
"""Longest wait until the model has read a group of messages."""
DELETED = ["message-deleted", "thread-root-deleted"]
NOT_READ = {
    "assistant-thread-title": "the title of a chat with the bot",
    "slackbot-notice": "a notice of Slack to one person, in a chat that has no record",
    "slash-command": "a command, which the service answers by itself",
}


def configured(emulator: SlackEmulator, llmock: LLMock) -> str:
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels:
  slack:
    bot_token: "{emulator.bot_token}"
    app_token: "{emulator.app_token}"
    base_url: "{emulator.url}"
access: {{default: allow, guests: true, admins: ["slack:{ADMIN}"]}}
"""


def convert(sample: Sample) -> InboundMessage | InboundChange | None:
    inbound = SlackInbound("slack", SlackIdentity(BOT_USER, BOT_ID, TEAM, "roebot"))
    found = inbound.read(dict(sample.event))
    return (
        None if isinstance(found, Ignored) else found if isinstance(found, InboundChange) else found.message
    )


def is_for_the_bot(sample: Sample) -> bool:
    """Return whether the agent answers a sample: a person means the bot, by no command."""
    found = convert(sample)
    message = found.message if isinstance(found, InboundChange) else found
    if message is None or message.origin.sender.is_bot or message.text.startswith("/"):
        return False
    return message.addressed


def is_overheard(sample: Sample) -> bool:
    """Return whether a sample is for others in a channel: a message, a notice, an edit or a deletion."""
    found = convert(sample)
    if found is None or "command" in sample.event or is_for_the_bot(sample):
        return False
    return found.origin.chat_kind is ChatKind.GROUP


@dataclass(frozen=True, slots=True)
class Chats:
    """The chats of the corpus, and the model that reads them."""

    emulator: SlackEmulator
    corpus: SlackSamples
    llmock: LLMock

    def turns(self) -> list[str]:
        """Return each message of people that the model was sent, once."""
        sent = (one for request in self.llmock.requests for one in request.body["messages"])
        return list(dict.fromkeys(_words(one) for one in sent if one["role"] == "user"))

    async def ask(self, text: str, channel: str, answer: str) -> None:
        """Let a person mention the bot in a channel, and wait for the answer, which contains `answer`."""
        asked = self.emulator.people.says(f"@roebot {text}", user=ADMIN, channel=channel).ts

        def below() -> list[str]:
            found = self.emulator.view(channel)["messages"]
            return [one["text"] for one in found if one["thread_ts"] == asked and not one["streaming"]]

        await until(lambda: any(answer in one for one in below()), SECONDS, lambda: f"{below()}")

    async def check_turns(self, batch: Sequence[Sample]) -> None:
        """Deliver samples to the bot, and wait until the model has read each in one message."""
        known = len(self.turns())
        for sample in batch:
            self.llmock.reply("Noted.")
            self.corpus.deliver(sample)

        def lost() -> dict[str, list[str]]:
            return find_lost(batch, self.turns()[known:])

        await until(lambda: not lost(), SECONDS, lambda: f"{lost()}")

    async def check_record(self, batch: Sequence[Sample]) -> None:
        """Deliver samples of one channel, and check the line of each in what the model reads of the record:
        in a question, and when it reads the chat.
        """
        stamps = {sample.name: self.corpus.deliver(sample, self.emulator.world.ts()) for sample in batch}
        outbox = self.emulator.outbox
        await until(lambda: not outbox.unacked, SECONDS, lambda: f"{outbox.unacked}")
        self.llmock.call_tool("read_chat", {"since": ""}).reply("Noted.")
        await self.ask("what happened?", batch[0].event["event"]["channel"], "Noted.")
        question, found = (request.body["messages"][-1] for request in self.llmock.requests[-2:])
        for text in (_words(question), _words(found)):
            lines = {name: find_line(ts, text) for name, ts in stamps.items()}
            assert [name for name, line in lines.items() if not line] == [
                one for one in lines if one in DELETED
            ]
            lost = {one.name: [part for part in one.reads if part not in lines[one.name]] for one in batch}
            assert {name: (parts, lines[name]) for name, parts in lost.items() if parts} == {}


def _words(message: dict[str, Any]) -> str:
    content = message["content"] or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    return unescape_text("\n".join(part.get("text", "") for part in parts))


def find_lost(samples: Sequence[Sample], texts: Sequence[str]) -> dict[str, list[str]]:
    """Return what no text has of each sample, compared with the text that has most of it."""
    lost = {}
    for sample in samples:
        lacking = [[part for part in sample.reads if part not in text] for text in ("", *texts)]
        lost[sample.name] = min(lacking, key=len)
    return {name: parts for name, parts in lost.items() if parts}


def find_line(ts: str, text: str) -> str:
    """Return the line of a record with the message of a time stamp, which its link has; "" for none."""
    return next((line for line in text.splitlines() if f"/p{ts.replace('.', '')}" in line), "")


@asynccontextmanager
async def corpus_chats(home: Path, llmock: LLMock) -> AsyncIterator[Chats]:
    """A service that is connected to the workspace of the corpus."""
    async with SlackEmulator.serve(team=TEAM, limits=False) as emulator:
        chats = Chats(emulator, SlackSamples(emulator), llmock)
        async with running(home, configured(emulator, llmock)) as service:
            await until(
                lambda: service.accounts.state("slack").live is Live.LIVE, SECONDS, lambda: "not connected"
            )
            yield chats


def test_every_sample_is_for_the_bot_or_for_others() -> None:
    samples = load_received_samples()
    rest = [one.name for one in samples if not is_for_the_bot(one) and not is_overheard(one)]
    assert rest == sorted(NOT_READ)


async def test_the_model_reads_what_a_person_sends(tmp_path: Path, llmock: LLMock) -> None:
    async with corpus_chats(tmp_path, llmock) as chats:
        samples = [sample for sample in chats.corpus.all if is_for_the_bot(sample)]
        assert len(samples) > 50
        for start in range(0, len(samples), AT_ONCE):
            await chats.check_turns(samples[start : start + AT_ONCE])


async def test_the_model_reads_in_the_record_what_is_for_others(tmp_path: Path, llmock: LLMock) -> None:
    async with corpus_chats(tmp_path, llmock) as chats:
        samples = [sample for sample in chats.corpus.all if is_overheard(sample)]
        assert len(samples) > 60
        for channel in sorted({sample.event["event"]["channel"] for sample in samples}):
            await chats.ask("/record on", channel, "recorded")
            theirs = [one for one in samples if one.event["event"]["channel"] == channel]
            for start in range(0, len(theirs), AT_ONCE):
                await chats.check_record(theirs[start : start + AT_ONCE])
