"""Tests for every transcriber."""

from __future__ import annotations

import asyncio

import pytest

from agent.errors import ModelCallFailed, RecordingRefused
from agent.transcription.containers import AudioContainer
from agent.transcription.interface import Recording, SpokenText, Transcriber


@pytest.mark.asyncio
class TranscriberSuite:
    """Conformance of a transcriber. Subclasses provide the fixtures `transcriber` and `recording`, in which a
    person says `words`.
    """

    words = "hello"

    @pytest.fixture
    def transcriber(self) -> Transcriber:
        """The transcriber to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named transcriber")

    @pytest.fixture
    def recording(self) -> Recording:
        """A recording with speech. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named recording")

    async def test_speech_becomes_text(self, transcriber: Transcriber, recording: Recording) -> None:
        """The length is positive, if known."""
        found = await transcriber.transcribe(recording)
        assert isinstance(found, SpokenText)
        assert self.words.casefold() in found.text.casefold()
        assert found.seconds is None or found.seconds > 0

    async def test_two_at_a_time(self, transcriber: Transcriber, recording: Recording) -> None:
        """Have the same result."""
        first, second = await asyncio.gather(*(transcriber.transcribe(recording) for _ in range(2)))
        assert first.text == second.text

    async def test_it_works_in_another_loop(self, transcriber: Transcriber, recording: Recording) -> None:
        """Such as that of a second client in the same process."""
        await transcriber.transcribe(recording)
        found = await asyncio.to_thread(lambda: asyncio.run(_transcribe(transcriber, recording)))
        assert self.words.casefold() in found.text.casefold()

    async def test_what_is_no_recording_is_refused(self, transcriber: Transcriber) -> None:
        """With one of the two errors, which name no path of this machine."""
        with pytest.raises((RecordingRefused, ModelCallFailed)) as caught:
            await transcriber.transcribe(Recording(b"no audio", AudioContainer.OGG))
        assert "/" not in str(caught.value)

    async def test_it_can_be_cancelled(self, transcriber: Transcriber, recording: Recording) -> None:
        """And works afterwards."""
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await transcriber.transcribe(recording)
        assert (await transcriber.transcribe(recording)).text


async def _transcribe(transcriber: Transcriber, recording: Recording) -> SpokenText:
    return await transcriber.transcribe(recording)
