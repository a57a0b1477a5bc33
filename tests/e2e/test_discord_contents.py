"""Each content type of Discord, from the event to what the model is sent: in the turn if a person means the
bot, and in the record of the channel if it is for others.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from bot.account_state import Live
from bot.domain import ChatKind, InboundChange, InboundEvent
from bot.platforms.discord.channel_cache import CachedChannel, ChannelCache
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.interaction_reader import COMPONENT, DiscordUses
from bot.platforms.discord.names import DiscordIdentity, KnownNames
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.state import FORUM, DiscordMessage
from tests.corpus import Sample, load_samples
from tests.harness.discord_samples import (
    ADMIN,
    BOT,
    EARLIER,
    PRIVATE_THREAD,
    DiscordSamples,
    count_earlier,
    own_thread,
)
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

AT_ONCE = 10
"""Messages of which the model reads the record at once."""
SECONDS = 60.0
"""Longest wait for an answer of the bot."""
DELETED = ("deleted", "deleted-many")
MENUS = ("menu-choice", "menu-choice-of-people")
IN_RECORD = {"unsupported content": '(unsupported "'}
"""How the record names a kind of content, where that differs."""
COMMAND = "command-with-options"
NOT_READ = {
    COMMAND: "a command, which the service answers by itself unless a skill has its name",
    "ephemeral-answer": "the bot's own answer, which the conversation has",
    "system-call": "a notice of Discord in a private chat, which has no record",
}


def configured(emulator: DiscordEmulator, llmock: LLMock) -> str:
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels:
  discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {{default: allow, admins: ["discord:{ADMIN}"]}}
"""


def convert(sample: Sample) -> InboundEvent | None:
    """Return a sample as the adapter reads it, in a channel of which nothing else is known."""
    name, event = sample.event["t"], dict(sample.event["d"])
    me = DiscordIdentity(str(BOT), "Roebot")
    inbound = DiscordInbound("discord", KnownNames(me, ChannelCache(me.id)))
    place = CachedChannel(event["channel_id"], 0, event.get("guild_id", ""))
    if name == "MESSAGE_CREATE":
        return inbound.convert(event, place)
    if name == "MESSAGE_UPDATE":
        return inbound.convert_edit(event, place, 0.0)
    if name.startswith("MESSAGE_DELETE"):
        return inbound.convert_deletion(event.get("id") or event["ids"][0], place, 0.0)
    uses = DiscordUses(inbound)
    if event["type"] == COMPONENT:
        return uses.convert_click(event, place).message
    return uses.convert_use(event, place)


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
    if found is None or is_for_the_bot(sample) or sample.event["t"] == "INTERACTION_CREATE":
        return False
    return found.origin.chat_kind is ChatKind.GROUP


@dataclass(frozen=True, slots=True)
class DiscordChats:
    """The channels of the corpus, and the model that reads them."""

    emulator: DiscordEmulator
    corpus: DiscordSamples
    llmock: LLMock

    def chat_of(self, sample: Sample) -> int:
        """Return the channel of a sample, or the one that its thread belongs to."""
        thread = own_thread(sample)
        return int(thread["parent_id"] if thread else sample.event["d"]["channel_id"])

    def is_read_in_place(self, sample: Sample) -> bool:
        """Return whether a sample is read in its own thread only: that of a forum, or a private one."""
        thread = own_thread(sample)
        is_post = self.emulator.world.channels[self.chat_of(sample)].type == FORUM
        return is_post or (thread is not None and thread["type"] == PRIVATE_THREAD)

    def split(self, samples: Sequence[Sample]) -> Iterator[Sequence[Sample]]:
        """Yield samples of one chat in the groups in which they are checked, the changes by themselves."""
        alone = [one for one in samples if self.is_read_in_place(one)]
        together = [one for one in samples if one not in alone]
        changes = [one for one in together if is_change(one)]
        written = [one for one in together if not is_change(one)]
        for group, size in ((written, AT_ONCE), (changes, AT_ONCE), (alone, 1)):
            for start in range(0, len(group), size):
                yield group[start : start + size]

    async def start_record(self, chat: int) -> None:
        """Let an admin turn on the record of a chat; in a forum people write in threads only."""
        is_forum = self.emulator.world.channels[chat].type == FORUM
        place = self.emulator.people.make_thread(chat, "Start") if is_forum else chat
        await self.ask("/record on", place, "recorded")

    async def ask(self, text: str, channel: int, answer: str) -> DiscordMessage:
        """Let a person mention the bot in a channel; wait for the answer, which contains `answer`, and return
        it.
        """
        asked = self.emulator.people.says(f"<@{BOT}> {text}", user=ADMIN, chat=channel)
        return await self.answered(channel, asked.id, answer)

    async def ask_for_choice(self, sample: Sample) -> int:
        """Let the agent ask a question in the channel of a sample; return the id of the bot's message."""
        question = f"Please choose: {sample.name}"
        self.llmock.call_tool("ask_clarification", {"question": question, "options": ["One", "Another"]})
        return (await self.ask("ask me something", self.chat_of(sample), question)).id

    async def answered(self, channel: int, since: int, answer: str) -> DiscordMessage:
        """Wait for a message of the bot that is newer than another and contains a text, and return it."""
        place = self.emulator.world.channels[channel]

        def below() -> list[DiscordMessage]:
            found = [one for number, one in place.messages.items() if number > since]
            return [one for one in found if one.sender.id == BOT and answer in one.text]

        await until(below, SECONDS, lambda: f"no {answer!r}: {self.emulator.view(channel)['messages'][-3:]}")
        return below()[0]

    async def check_turn(self, sample: Sample, question: int = 0) -> None:
        """Deliver a sample to the bot, and check that the model reads it in the message that it answers; a
        choice in a menu is one below the message `question`.
        """
        new = self.corpus.renew(sample, question)
        if is_change(new):
            self.corpus.deliver_earlier(new)
        known, answer = len(self.llmock.requests), f"Noted {sample.name}."
        self.llmock.reply(answer)
        self.corpus.deliver(new)
        event = new.event["d"]
        await self.answered(int(event["channel_id"]), int(event["id"]), answer)
        [request] = self.llmock.requests[known:]
        words = _words(request.body["messages"][-1])
        text = words[words.rindex("<message from=") :]
        assert [part for part in sample.reads if part not in text] == [], (sample.name, text)

    async def check_record(self, batch: Sequence[Sample]) -> None:
        """Deliver samples of one chat, and check the line of each in what the model reads of the record: in a
        question, and when it reads the chat.
        """
        renewed = [self.corpus.renew(sample) for sample in batch]
        if changes := [one for one in renewed if is_change(one)]:
            await self._check_before(changes)
        for one in renewed:
            self.corpus.deliver(one)
        is_alone = self.is_read_in_place(batch[0])
        place = int(renewed[0].event["d"]["channel_id"]) if is_alone else self.chat_of(batch[0])
        for text in await self._read_record(place, f"Noted {batch[0].name}."):
            assert find_lost(renewed, text) == {}
            assert EARLIER not in text

    async def _check_before(self, changes: Sequence[Sample]) -> None:
        """Deliver the messages that edits and deletions are about, and check that they are in the record; it
        is read in a thread, after which a question in the channel still has them.
        """
        for one in changes:
            self.corpus.deliver_earlier(one)
        thread = self.emulator.people.make_thread(self.chat_of(changes[0]), "Before")
        _, found = await self._read_record(thread, f"Noted before {changes[0].name}.")
        lines = [find_line(number, found) for one in changes for number in message_numbers(one)]
        assert all(lines), lines
        assert sum(EARLIER in line for line in lines) == sum(map(count_earlier, changes))

    async def _read_record(self, place: int, answer: str) -> tuple[str, str]:
        """Ask the bot in a channel and let the model read the chat; return the question as the model reads
        it, and the chat.
        """
        self.llmock.call_tool("read_chat", {"since": ""}).reply(answer)
        await self.ask("what happened?", place, answer)
        question, found = (request.body["messages"][-1] for request in self.llmock.requests[-2:])
        return _words(question), _words(found)


def _words(message: dict[str, Any]) -> str:
    content = message["content"] or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    return unescape_text("\n".join(part.get("text", "") for part in parts))


def is_change(sample: Sample) -> bool:
    """Return whether a sample is an edit or a deletion."""
    return sample.event["t"] not in ("MESSAGE_CREATE", "INTERACTION_CREATE")


def message_numbers(sample: Sample) -> list[str]:
    """Return the ids of the messages that a sample is or changes."""
    event = sample.event["d"]
    return list(event.get("ids") or [event["id"]])


def find_lost(samples: Sequence[Sample], text: str) -> dict[str, list[str]]:
    """Return the lines that lack what is to be read of a sample, or that stand there for a deleted one."""
    lost = {}
    for sample in samples:
        lines = [find_line(number, text) for number in message_numbers(sample)]
        if sample.name in DELETED:
            is_wrong = any(lines)
        else:
            is_wrong = not all(lines) or any(
                IN_RECORD.get(part, part) not in lines[0] for part in sample.reads
            )
        if is_wrong:
            lost[sample.name] = lines
    return lost


def find_line(number: str, text: str) -> str:
    """Return the line of a record with a message, whose link ends with its id; "" for none."""
    link = re.compile(rf"/{number}(?![\d/])")
    return next((line for line in text.splitlines() if link.search(line)), "")


@asynccontextmanager
async def corpus_chats(home: Path, llmock: LLMock) -> AsyncIterator[DiscordChats]:
    """A service that is connected to the server of the corpus."""
    async with DiscordEmulator.serve(limits=False) as emulator:
        chats = DiscordChats(emulator, DiscordSamples(emulator), llmock)
        async with running(home, configured(emulator, llmock)) as service:
            await until(
                lambda: service.accounts.state("discord").live is Live.LIVE, SECONDS, lambda: "not connected"
            )
            yield chats


def test_every_sample_is_for_the_bot_or_for_others() -> None:
    samples = load_samples("discord")
    rest = [one.name for one in samples if not is_for_the_bot(one) and not is_overheard(one)]
    assert rest == sorted(NOT_READ)


async def test_the_model_reads_what_a_person_sends(tmp_path: Path, llmock: LLMock) -> None:
    async with corpus_chats(tmp_path, llmock) as chats:
        samples = [one for one in chats.corpus.all if is_for_the_bot(one)]
        assert len(samples) > 8
        for sample in samples:
            asked = await chats.ask_for_choice(sample) if sample.name in MENUS else 0
            await chats.check_turn(sample, asked)


async def test_the_model_reads_a_command_that_names_a_skill(tmp_path: Path, llmock: LLMock) -> None:
    folder = tmp_path / "skills" / "custom" / "incident"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: incident\ndescription: Opens an incident.\n---\nOpen it.\n")
    async with corpus_chats(tmp_path, llmock) as chats:
        [sample] = [one for one in chats.corpus.all if one.name == COMMAND]
        llmock.reply("Ready.")
        await chats.ask("are you ready?", chats.chat_of(sample), "Ready.")
        assert sample.reads[0] == "/incident open"
        await chats.check_turn(replace(sample, reads=["open", *sample.reads[1:]]))
        assert "asks for the skill incident" in _words(llmock.requests[-1].body["messages"][-1])


async def test_the_model_reads_in_the_record_what_is_for_others(tmp_path: Path, llmock: LLMock) -> None:
    async with corpus_chats(tmp_path, llmock) as chats:
        samples = [sample for sample in chats.corpus.all if is_overheard(sample)]
        assert len(samples) > 100
        for chat in sorted({chats.chat_of(sample) for sample in samples}):
            await chats.start_record(chat)
            theirs = [sample for sample in samples if chats.chat_of(sample) == chat]
            for batch in chats.split(theirs):
                await chats.check_record(batch)


async def test_the_model_reads_nothing_of_the_others(tmp_path: Path, llmock: LLMock) -> None:
    async with corpus_chats(tmp_path, llmock) as chats:
        samples = [chats.corpus.renew(one) for one in chats.corpus.all if one.name in NOT_READ]
        channel = chats.chat_of(samples[0])
        await chats.start_record(channel)
        for sample in samples:
            chats.corpus.deliver(sample)
        await chats.answered(channel, int(samples[0].event["d"]["id"]), "/incident")
        llmock.reply("Nothing happened.")
        await chats.ask("what happened?", channel, "Nothing happened.")
        [request] = llmock.requests
        read = "\n".join(map(_words, request.body["messages"]))
        assert [one.name for one in samples if find_line(one.event["d"]["id"], read)] == []
        assert "Mail is slow" not in read
        assert "the key was revoked" not in read
