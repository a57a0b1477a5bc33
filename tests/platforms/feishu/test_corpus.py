"""Every content type of the corpus: what the agent reads of it.

Each sample is an event of the long connection; the answers of its lookups come over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from bot.domain import HistoryMessage, InboundChange, InboundMessage, Quotation, ReplyAddress
from bot.platforms.feishu.adapter import FeishuAdapter
from tests.corpus import Sample, load_samples
from tests.harness.feishu_samples import SampleAnswers

from .conftest import Running, account, eventually

SAMPLES = [pytest.param(one, id=one.name) for one in load_samples("feishu")]


@pytest.mark.parametrize("sample", SAMPLES)
async def test_the_agent_reads_what_a_colleague_reads(sample: Sample) -> None:
    async with SampleAnswers.serve(limits=False) as emulator:
        emulator.lookups.update(sample.lookups)
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
