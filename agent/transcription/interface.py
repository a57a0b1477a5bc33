"""The interface of transcribers, which `transcriber.use` names as `package.module:Class`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agent.transcription.containers import AudioContainer


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording to transcribe. `container` is what its first bytes show, whatever the file was called."""

    content: bytes
    container: AudioContainer

    @property
    def name(self) -> str:
        """Return a file name for services that tell formats by the extension; it reveals nothing else."""
        return f"recording.{self.container.value}"


@dataclass(frozen=True, slots=True)
class SpokenText:
    """What was said in a recording, "" if nobody speaks. `seconds` is its length, None if unknown."""

    text: str
    seconds: float | None = None


@runtime_checkable
class Transcriber(Protocol):
    """Turns speech into text. The other keys of `transcriber` in the configuration are its arguments."""

    async def transcribe(self, recording: Recording, /) -> SpokenText:
        """Transcribe a recording. The call is cancelled at the time limit; at most two run at once.

        Raises RecordingRefused if this recording can't be transcribed, ModelCallFailed if a service fails.
        """
        ...


@runtime_checkable
class NeedsPreparation(Protocol):
    """A transcriber that takes long once, such as to download and load a model."""

    async def prepare(self) -> None:
        """Return when it is ready. It is called before each recording, outside of its time limit.

        Cancelled, it goes on if it can. Raises the same errors as `transcribe`.
        """
        ...
