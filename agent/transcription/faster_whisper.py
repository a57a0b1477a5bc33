"""Transcription on this machine with faster-whisper, which `roebot[voice]` installs.

Each model is downloaded from Hugging Face when it is first used, unless `model` is a folder that holds one.
"""

from __future__ import annotations

import asyncio
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

from agent.errors import RecordingRefused
from agent.transcription.interface import Recording, SpokenText

_WhisperModel: Any = import_module("faster_whisper").WhisperModel
_av: Any = import_module("av")  # faster-whisper decodes with it
MAX_MINUTES = 30
UNREADABLE = "it can't be decoded"
TOO_LONG = f"it is longer than {MAX_MINUTES} min"
ABANDONED = "nobody waits for it"
_ROUNDING = 0.5
_UNDECODABLE = (ValueError, LookupError, OSError, EOFError)
"""PyAV's errors are also one of these; a file without sound is an IndexError."""


class FasterWhisperTranscriber:
    """Transcribes one recording at a time in a thread, with a Whisper model.

    `model` is a size such as `small`, or the path of a model for CTranslate2. `language` (ISO 639-1) and
    `prompt` (names and terms that are likely to occur) improve the result. `device` and `compute_type` are
    passed to CTranslate2.
    """

    def __init__(
        self,
        *,
        model: str = "small",
        language: str | None = None,
        prompt: str | None = None,
        device: str = "auto",
        compute_type: str = "default",
    ) -> None:
        self._settings = {"device": device, "compute_type": compute_type}
        self._model_name = model
        self._model: Any = None
        self._options = {"language": language, "initial_prompt": prompt, "vad_filter": True}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="faster-whisper")

    async def prepare(self) -> None:
        """Load the model, after downloading it if necessary. If cancelled, the thread continues."""
        if self._model is None:
            await asyncio.get_running_loop().run_in_executor(self._worker, self._load)

    async def transcribe(self, recording: Recording, /) -> SpokenText:
        """Return the transcript. If cancelled, the thread stops after the current 30 s of the recording.

        Raises RecordingRefused if it can't be decoded or is too long.
        """
        stop = threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._worker, self._transcribe, recording, stop)
        finally:
            stop.set()

    def _load(self) -> Any:
        if self._model is None:
            self._model = _WhisperModel(self._model_name, **self._settings)
        return self._model

    def _transcribe(self, recording: Recording, stop: threading.Event) -> SpokenText:
        try:
            _check_length(recording, stop)
        except _UNDECODABLE as error:
            raise RecordingRefused(UNREADABLE) from error
        model = self._load()
        try:
            segments, info = model.transcribe(io.BytesIO(recording.content), **self._options)
        except _UNDECODABLE as error:
            raise RecordingRefused(UNREADABLE) from error
        texts: list[str] = []
        for segment in segments:
            if stop.is_set():
                raise RecordingRefused(ABANDONED)
            texts.append(str(segment.text))
        return SpokenText("".join(texts).strip(), float(info.duration))


def _check_length(recording: Recording, stop: threading.Event) -> None:
    """Refuse a recording that is too long. The package decodes a whole file into memory, at 16 kHz, and a few
    MB of Opus can contain hours. The length stated in a container can be wrong, so each frame is decoded,
    counted and dropped.
    """
    seconds = 0.0
    with _av.open(io.BytesIO(recording.content), metadata_errors="ignore") as container:
        try:
            for frame in container.decode(audio=0):
                seconds += frame.samples / frame.sample_rate
                if seconds > MAX_MINUTES * 60 + _ROUNDING:
                    raise RecordingRefused(TOO_LONG)
                if stop.is_set():
                    raise RecordingRefused(ABANDONED)
        except _av.error.InvalidDataError:
            return  # the package also transcribes what precedes a broken frame
