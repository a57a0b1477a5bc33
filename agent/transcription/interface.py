"""The interface of transcribers, configured in `transcriber.use` as `package.module:Class`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agent.transcription.containers import AudioContainer


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording to transcribe. `container` is detected from its first bytes, not from the file name."""

    content: bytes
    container: AudioContainer

    @property
    def name(self) -> str:
        """Return a file name for services that detect formats by the extension; it reveals nothing else."""
        return f"recording.{self.container.value}"


@dataclass(frozen=True, slots=True)
class SpokenText:
    """The text spoken in a recording, "" if there is no speech. `seconds` is its length, None if unknown."""

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
    """A transcriber with a long preparation, for example to download and load a model."""

    async def prepare(self) -> None:
        """Return when it is ready. Called before each recording; does not count towards its time limit.

        If cancelled, preparation may continue in the background. Raises the same errors as `transcribe`.
        """
        ...
