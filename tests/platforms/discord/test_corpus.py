"""Every content type of the corpus, from the gateway's event to what the agent reads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from bot.domain import Attachment, InboundChange, InboundMessage, Quotation, QuotationKind
from bot.platforms.discord.adapter import DiscordAdapter
from roebot_testing.emulators.base import Handler
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.api import PREFIX
from roebot_testing.emulators.discord.state import DiscordUser
from roebot_testing.emulators.http import Exchange
from tests.corpus import Sample, load_samples

from .conftest import QuickClock, Running, Shelf, account, eventually

BOT = DiscordUser(1249150972723200001, "Roebot", is_bot=True)
SAMPLES = load_samples("discord")
CHANNELS = [
    *(one.event["d"]["channel_id"] for one in SAMPLES),
    *(
        answer.get("parent_id")
        for one in SAMPLES
        for answer in one.lookups.values()
        if isinstance(answer, dict)
    ),
]


class CorpusDiscord(DiscordEmulator):
    """An emulator that answers calls as a sample says."""

    lookups: Mapping[str, Any] = {}

    def find_handler(self, path: str) -> Handler | None:
        answers = any(key.endswith(f" {path.removeprefix(PREFIX)}") for key in self.lookups)
        return self._answer if answers else super().find_handler(path)

    async def _answer(self, http: Exchange) -> None:
        found = self.lookups[f"{http.method} {http.path.removeprefix(PREFIX)}"]
        refused = isinstance(found, dict) and "code" in found
        await http.answer(403 if refused else 200, found)


@pytest.fixture
async def emulator() -> AsyncIterator[CorpusDiscord]:
    async with CorpusDiscord.serve(limits=False) as emulator:
        emulator.world.bot = BOT
        yield emulator


@pytest.fixture
async def running(emulator: CorpusDiscord, shelf: Shelf) -> AsyncIterator[Running]:
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    yield started
    await started.stop()


def read_by_agent(event: InboundMessage | InboundChange) -> str:
    """Everything of an event that the agent reads."""
    sender, text = event.origin.sender, event.text or ""
    attachments = event.attachments if isinstance(event, InboundMessage) else ()
    lines = [sender.name, text, *_quoted(event.quotations or ()), *_named(attachments)]
    return "\n".join(lines)


def _quoted(quotations: tuple[Quotation, ...]) -> Iterator[str]:
    for one in quotations:
        kind = "unsupported content" if one.kind is QuotationKind.UNSUPPORTED else one.kind.value
        yield f"[{kind}] {one.author}\n{one.text}\n{' '.join(one.files)}"


def _named(attachments: tuple[Attachment, ...]) -> Iterator[str]:
    yield from (one.filename for one in attachments)


@pytest.mark.parametrize("sample", [pytest.param(one, id=one.name) for one in SAMPLES])
async def test_the_agent_reads_what_a_colleague_reads(
    emulator: CorpusDiscord, running: Running, shelf: Shelf, sample: Sample
) -> None:
    emulator.lookups = sample.lookups
    shelf.recorded |= set(CHANNELS)
    before = running.adapter.counts.events
    emulator.inject(sample.event["t"], sample.event["d"])
    await eventually(lambda: running.adapter.counts.events > before)
    await eventually(lambda: shelf.messages or shelf.changes or not sample.reads)
    assert running.adapter.counts.malformed == 0
    read = "\n".join([*map(read_by_agent, shelf.messages), *map(read_by_agent, shelf.changes)])
    assert [text for text in sample.reads if text not in read] == []
    assert [text for text in sample.omits if text in read] == []
    assert not re.search(r"<[@#:/]|<t:", re.sub(r"`+[^`]+`+", "", read)), "an id of Discord's is left"
