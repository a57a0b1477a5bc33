"""The transcriber of docs/howto/transcribe-voice-messages.md passes the suite that the page names."""

from __future__ import annotations

from typing import Any

import pytest

from agent.testing.conformance.transcribers import TranscriberSuite
from agent.transcription.containers import AudioContainer
from agent.transcription.interface import Recording, Transcriber
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs/howto/transcribe-voice-messages.md"


class TestOurTranscriber(TranscriberSuite):
    words = "4 bytes of ogg"

    @pytest.fixture
    def transcriber(self) -> Transcriber:
        [block] = [one for one in blocks("python file=our_transcriber.py") if one.page == PAGE]
        names: dict[str, Any] = {}
        exec(compile(block.body, str(PAGE), "exec"), names)
        made: Transcriber = names["OurTranscriber"]()
        return made

    @pytest.fixture
    def recording(self) -> Recording:
        return Recording(b"OggS", AudioContainer("ogg"))
