"""The local transcriber, with a real model: `ROEBOT_TEST_WHISPER` is the folder of one for CTranslate2, and
`ROEBOT_TEST_SPEECH` a recording in which somebody says "country".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.config.transcriber import TranscriberConfig
from agent.errors import RecordingRefused, TranscriberUnavailable
from agent.transcription.containers import AudioContainer, find_container
from agent.transcription.interface import NeedsPreparation, Recording, Transcriber
from agent.transcription.loading import load_transcriber
from roebot_testing.agent.conformance import TranscriberSuite
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


class Decoder:
    """Stands in for PyAV: a container with minutes of sound, one frame a second, and perhaps a broken one."""

    class InvalidDataError(ValueError):
        """As PyAV's."""

    def __init__(self) -> None:
        self.error = self
        self.seconds = 0
        self.decoded = 0
        self.is_broken = False
        self.loaded = 0

    @contextmanager
    def open(self, file: object, **_: Any) -> Iterator[Decoder]:
        yield self

    def decode(self, *, audio: int) -> Iterator[SimpleNamespace]:
        for _ in range(self.seconds):
            self.decoded += 1
            yield SimpleNamespace(samples=48_000, sample_rate=48_000)
        if self.is_broken:
            raise self.InvalidDataError


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Decoder]:
    """The package with a model that knows all sentences, and its decoder."""
    made, name = Decoder(), USE.partition(":")[0]

    def transcribe(*_: object, **__: object) -> object:
        return [SimpleNamespace(text=" Hello.")], SimpleNamespace(duration=float(made.seconds))

    model = SimpleNamespace(transcribe=transcribe)

    def load(*_: object, **__: object) -> SimpleNamespace:
        made.loaded += 1
        return model

    package = SimpleNamespace(WhisperModel=load)
    monkeypatch.setitem(sys.modules, "faster_whisper", package)
    monkeypatch.setitem(sys.modules, "av", made)
    before = sys.modules.pop(name, None)
    yield made
    sys.modules.pop(name, None)
    if before is not None:
        sys.modules[name] = before


@pytest.mark.guard(
    "a local transcriber does not decode a long recording to its end",
    "agent/transcription/faster_whisper.py",
    "if seconds > MAX_MINUTES * 60 + _ROUNDING:",
    "if False:",
    against="endless work",
)
@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_long_recording_is_not_decoded_to_its_end(decoder: Decoder, is_broken: bool) -> None:
    """Whose samples would fill the memory."""
    made = load_transcriber(TranscriberConfig.model_validate({"use": USE}))
    assert made is not None
    decoder.is_broken = is_broken
    decoder.seconds = 1800
    assert (await made.transcribe(Recording(b"OggS", AudioContainer.OGG))).text == "Hello."
    decoder.seconds, decoder.decoded = 100_000, 0
    with pytest.raises(RecordingRefused, match="longer than 30 min"):
        await made.transcribe(Recording(b"OggS", AudioContainer.OGG))
    assert decoder.decoded == 1801


async def test_the_model_is_loaded_once_before_the_first_recording(decoder: Decoder) -> None:
    made = load_transcriber(TranscriberConfig.model_validate({"use": USE}))
    assert isinstance(made, NeedsPreparation)
    assert isinstance(made, Transcriber)
    await made.prepare()
    assert decoder.loaded == 1
    await made.prepare()
    await made.transcribe(Recording(b"OggS", AudioContainer.OGG))
    assert decoder.loaded == 1
