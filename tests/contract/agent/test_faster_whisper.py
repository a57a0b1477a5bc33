"""The local transcriber, with a real model: `ROEBOT_TEST_WHISPER` is the folder of one for CTranslate2, and
`ROEBOT_TEST_SPEECH` a recording in which somebody says "country".
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.config.transcriber import TranscriberConfig
from agent.errors import TranscriberUnavailable
from agent.testing.conformance import TranscriberSuite
from agent.transcription.containers import AudioContainer, find_container
from agent.transcription.interface import Recording, Transcriber
from agent.transcription.loading import load_transcriber
from tests.harness.recordings import silence

USE = "agent.transcription.faster_whisper:FasterWhisperTranscriber"
MODEL, SPEECH = (os.environ.get(name, "") for name in ("ROEBOT_TEST_WHISPER", "ROEBOT_TEST_SPEECH"))
IS_INSTALLED = bool(MODEL and SPEECH)


@pytest.fixture
def transcriber() -> Transcriber:
    pytest.importorskip("faster_whisper")
    made = load_transcriber(TranscriberConfig.model_validate({"use": USE, "model": MODEL}))
    assert made is not None
    return made


@pytest.mark.skipif(not IS_INSTALLED, reason="needs faster-whisper, a model and a recording")
class TestFasterWhisper(TranscriberSuite):
    words = "country"

    @pytest.fixture
    def transcriber(self, transcriber: Transcriber) -> Transcriber:
        return transcriber

    @pytest.fixture
    def recording(self) -> Recording:
        content = Path(SPEECH).read_bytes()
        container = find_container(content)
        assert container is not None
        return Recording(content, container)

    async def test_silence_is_no_text(self, transcriber: Transcriber) -> None:
        """Whisper invents words for it without voice detection."""
        found = await transcriber.transcribe(Recording(silence(3), AudioContainer.WAV))
        assert (found.text, found.seconds) == ("", 3.0)

    async def test_a_long_recording_is_refused(self, transcriber: Transcriber) -> None:
        """Before anything of it is transcribed."""
        with pytest.raises(Exception, match="longer than 30 min"):
            await transcriber.transcribe(Recording(silence(1801), AudioContainer.WAV))


@pytest.mark.skipif(IS_INSTALLED, reason="faster-whisper is installed")
def test_without_the_package_it_names_the_extra() -> None:
    with pytest.raises(TranscriberUnavailable, match=r"roebot\[voice\]"):
        load_transcriber(TranscriberConfig(use=USE))
