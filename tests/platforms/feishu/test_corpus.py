"""Every content type of the corpus: what the agent reads of it.

Each sample is an event of the long connection; the answers of its lookups come over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from bot.domain import HistoryMessage, InboundChange, InboundMessage, Quotation, ReplyAddress
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.testing.emulators.base import Handler
from bot.testing.emulators.feishu import FeishuEmulator
from bot.testing.emulators.http import Exchange
from tests.corpus import Sample, load_samples

from .conftest import Running, account, eventually

SAMPLES = [pytest.param(one, id=one.name) for one in load_samples("feishu")]
READ = ("contact/v3/", "im/v1/messages", "im/v1/chats/")
"""The paths that messages are read with."""


class AnsweringEmulator(FeishuEmulator):
    """The emulator, with the answers of a sample in place of its own people, groups and messages."""

    lookups: Mapping[str, Any]

    def find_handler(self, path: str) -> Handler | None:
        return (
            self._look_up if path.removeprefix("/open-apis/").startswith(READ) else super().find_handler(path)
        )

    async def _look_up(self, http: Exchange) -> None:
        path, best = http.path.removeprefix("/open-apis/"), -1
        found: Any = {"code": 230001, "msg": "the sample has no such lookup"}
        for key, answer in self.lookups.items():
            wanted = urlsplit(key.removeprefix("GET "))
            query = dict(parse_qsl(wanted.query))
            if wanted.path == path and query.items() <= http.query.items() and len(query) > best:
                best, found = len(query), answer
        await http.answer(200 if found["code"] == 0 else 400, found)


@pytest.mark.parametrize("sample", SAMPLES)
async def test_the_agent_reads_what_a_colleague_reads(sample: Sample) -> None:
    async with AnsweringEmulator.serve(limits=False) as emulator:
        emulator.lookups = sample.lookups
        running = Running(FeishuAdapter("fs", account(emulator)), emulator)
        await running.start()
        emulator.inject(dict(sample.event))
        await eventually(lambda: running.shelf.messages or running.shelf.changes)
        events: list[InboundMessage | InboundChange] = [*running.shelf.messages, *running.shelf.changes]
        [event] = events
        read = "\n".join([*_event_words(event), *await _history_words(running, sample, event)])
        await running.stop()
    assert [text for text in sample.reads if text not in read] == [], read
    assert [text for text in sample.omits if text in read] == [], read
    assert (event.text is None) == sample.name.startswith("recall")


def _event_words(event: InboundMessage | InboundChange) -> Iterator[str]:
    """Yield what the agent reads of an event."""
    yield event.origin.sender.name
    yield event.text or ""
    yield from _quoted_words(event.quotations or ())
    if isinstance(event, InboundMessage):
        yield from (one.filename for one in event.attachments)


async def _history_words(
    running: Running, sample: Sample, event: InboundMessage | InboundChange
) -> Iterable[str]:
    """Return what the agent reads of the topic, if the event is the first mention in one."""
    origin = event.origin
    if not any("container_id" in key for key in sample.lookups):
        return ()
    address = ReplyAddress("fs", origin.chat, origin.chat_kind, origin.topic)
    found = await running.adapter.earlier(address, origin.message_id, 50)
    return [word for one in found for word in _earlier_words(one)]


def _earlier_words(one: HistoryMessage) -> Iterator[str]:
    yield one.sender.name
    yield one.text
    yield from _quoted_words(one.quotations)


def _quoted_words(quotations: Iterable[Quotation]) -> Iterator[str]:
    """Yield what the agent reads of quotations: their kind as well."""
    for one in quotations:
        yield from (one.kind.value, one.text, one.author, *one.files)
