"""The transcriber of docs/howto/transcribe-voice-messages.md passes the suite that the page names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agent.transcription.containers import AudioContainer
from agent.transcription.interface import Recording, Transcriber
from roebot_testing.agent.conformance.transcribers import TranscriberSuite
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs/howto/transcribe-voice-messages.md"


# What a program for speech would do: read the recording, and fail for anything else.
PROGRAM = """#!{python}
import sys
sys.exit("no audio") if not sys.stdin.buffer.read().startswith(b"OggS") else print("hello")
"""


@pytest.mark.may_block
class TestProgramTranscriber(TranscriberSuite):
    @pytest.fixture
    def transcriber(self, tmp_path: Path) -> Transcriber:
        program = tmp_path / "listen"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(0o700)
        [block] = [one for one in blocks("python file=our_transcriber.py") if one.page == PAGE]
        names: dict[str, Any] = {}
        exec(compile(block.body, str(PAGE), "exec"), names)
        made: Transcriber = names["ProgramTranscriber"](program=str(program))
        return made

    @pytest.fixture
    def recording(self) -> Recording:
        return Recording(b"OggS", AudioContainer.OGG)
