"""Each content type of the corpus, from the update to what the agent reads."""

from __future__ import annotations

from collections.abc import Iterator

from bot.domain import InboundChange, InboundMessage
from bot.platforms.telegram.inbound import UPDATE_KINDS
from tests.corpus import Sample, load_samples

from .conftest import Running, eventually

SAMPLES = load_samples("telegram")


async def test_the_agent_reads_what_a_person_sees(running: Running) -> None:
    wrong = {}
    for sample in SAMPLES:
        read = await _read(running, sample)
        lost = [text for text in sample.reads if text not in read]
        leaked = [text for text in sample.omits if text in read]
        if lost or leaked:
            wrong[sample.name] = (lost, leaked, read)
    assert wrong == {}
    assert running.adapter.counts.malformed == 0


async def _read(running: Running, sample: Sample) -> str:
    """Return what the agent reads of a sample; the message after it tells that its update was handled."""
    shelf = running.shelf
    messages, changes = len(shelf.messages), len(shelf.changes)
    running.emulator.inject({kind: value for kind, value in sample.event.items() if kind != "update_id"})
    running.emulator.people.says(sample.title, user=7)
    await eventually(lambda: sample.title in shelf.texts)
    events: list[InboundMessage | InboundChange] = [*shelf.messages[messages:-1], *shelf.changes[changes:]]
    return "\n".join(part for event in events for part in _parts(event))


def _parts(event: InboundMessage | InboundChange) -> Iterator[str]:
    """Yield what the agent reads: words, names, and content and files with their kinds."""
    yield event.text or ""
    yield event.origin.sender.shown_name
    for quotation in event.quotations or ():
        yield from (quotation.kind, quotation.text, quotation.author, *quotation.files)
    message = event.message if isinstance(event, InboundChange) else event
    for attachment in message.attachments if message is not None else ():
        yield from (attachment.kind, attachment.filename)


def test_only_updates_are_read_that_telegram_was_asked_for() -> None:
    kinds = {kind for sample in SAMPLES for kind in sample.event if kind != "update_id"}
    assert kinds == set(UPDATE_KINDS)
