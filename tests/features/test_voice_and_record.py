"""Transcripts of voice messages in a chat's record."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from agent.shared.schemas import RecordingTranscript
from bot.content import transcript
from bot.dispatch.run.message_lines import format_messages
from bot.domain import (
    ChatKind,
    InboundChange,
    Origin,
    Sender,
)
from bot.features.record.record_store import list_recorded
from roebot_testing.runtime import answer_with
from tests.bot.features.voice.test_voice import SAID, says, stored
from tests.component.dispatch.bench import Bench


@pytest.fixture
def at(at: Bench) -> Bench:
    """A bench whose agent answers, and transcribes one file."""
    assert at.runtime.transcripts is not None
    at.runtime.script = answer_with("done")
    at.runtime.transcripts["voice.ogg"] = RecordingTranscript(text=SAID)
    return at


GROUP: dict[str, Any] = {"chat": "group", "kind": ChatKind.GROUP}


async def test_the_record_and_a_digest_have_it(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/record on", **GROUP)
        await at.until(lambda: at.adapter.texts("group"))
        await says(at, **GROUP)
        await at.until(lambda: at.runtime.runs)
        await at.rest(0.5)
    found = await at.db.transact(list_recorded, "rec", "group", 0.0, 1e12)
    lines, _ = format_messages(found, "recording", UTC, 1_000)
    assert lines[-1].endswith(f'(transcript "{SAID} [voice.ogg]")')
    assert [(one.text, one.quotations) for one in found][-1] == (
        "[voice.ogg]",
        (transcript(SAID, "voice.ogg"),),
    )


@pytest.mark.guard(
    "an edit of the caption keeps the transcript",
    "bot/store/quotations.py",
    "after = (*change.quotations, *kept)",
    "after = (*change.quotations,)",
    against="lost transcripts",
)
async def test_an_edit_of_the_caption_keeps_the_transcript(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/record on", **GROUP)
        await at.until(lambda: at.adapter.texts("group"))
        await says(at, text="move it", **GROUP)
        await at.until(lambda: at.runtime.runs)
        await at.rest(0.5)
        [*_, before] = await at.db.transact(list_recorded, "rec", "group", 0.0, 1e12)
        origin = Origin("rec", "recording", "group", ChatKind.GROUP, before.message_id, Sender("7", "P7"))
        assert at.adapter.context is not None
        edit = InboundChange("edit", origin, "please move it", at.clock.now(), quotations=())
        await at.adapter.context.inbox.accept([edit])
        [*_, after] = await at.db.transact(list_recorded, "rec", "group", 0.0, 1e12)
    assert after.text == "please move it"
    assert before.quotations == after.quotations == (transcript(SAID, "voice.ogg"),)
    assert await stored(at) == after.quotations
