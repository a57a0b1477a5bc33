"""Calls of a transcriber: a few at a time, with a time limit and a retry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from agent.core.background_loop import PerLoop
from agent.errors import ModelCallFailed, RecordingRefused, redact_line
from agent.shared.aio import Sleep
from agent.shared.text import shorten
from agent.transcription.interface import NeedsPreparation, Recording, SpokenText, Transcriber

log = structlog.get_logger(__name__)
T = TypeVar("T")
Load = Callable[[], Awaitable[Recording]]
MAX_PARALLEL = 2
DELAY = 1.0
"""Seconds before the second attempt unless the service asks for more."""
MAX_CHARACTERS = 20_000
"""Maximum length of a transcript, about twenty minutes of speech; the rest is cut off."""
PREPARATION_SECONDS = 240.0
"""Maximum time in seconds that a recording waits for the transcriber to get ready."""
UNPREPARED = "the transcriber is still getting ready; try again later"
TOO_SLOW = "transcribing it took longer than {seconds:g} s"
_rooms = PerLoop(lambda: asyncio.Semaphore(MAX_PARALLEL))


async def transcribe(
    transcriber: Transcriber, load: Load, seconds: float, sleep: Sleep = asyncio.sleep
) -> str:
    """Return the text of a recording, cut to `MAX_CHARACTERS`. `load` reads the recording once its turn
    comes, so that waiting recordings take up no memory.

    Raises RecordingRefused with the reason if there is no text, for example after `seconds` have passed.
    """
    try:
        if isinstance(transcriber, NeedsPreparation):
            await _prepare(transcriber)
        async with asyncio.timeout(seconds), _rooms.get():
            found = await _call_twice(transcriber, await load(), seconds, sleep)
    except TimeoutError:
        raise RecordingRefused(TOO_SLOW.format(seconds=seconds)) from None
    except ModelCallFailed as error:
        raise RecordingRefused(str(error).rstrip(".")) from error
    text = found.text.strip()
    log.info("recording_transcribed", seconds=found.seconds, characters=len(text))
    return shorten(text, MAX_CHARACTERS)


async def _call_twice(
    transcriber: Transcriber, recording: Recording, seconds: float, sleep: Sleep
) -> SpokenText:
    """Call the transcriber, and retry once after a temporary failure if the time limit allows."""
    try:
        return await _call(transcriber, recording)
    except ModelCallFailed as error:
        delay = DELAY if error.retry_after is None else error.retry_after
        log.warning("transcription_failed", category=str(error.category), detail=str(error))
        if not error.retryable or delay >= seconds:
            raise
    await sleep(delay)
    return await _call(transcriber, recording)


async def _prepare(transcriber: NeedsPreparation) -> None:
    try:
        async with asyncio.timeout(PREPARATION_SECONDS):
            await _supervise(transcriber.prepare)
    except TimeoutError:
        raise RecordingRefused(UNPREPARED) from None


async def _call(transcriber: Transcriber, recording: Recording) -> SpokenText:
    found = await _supervise(lambda: transcriber.transcribe(recording))
    if not isinstance(found, SpokenText):
        raise RecordingRefused("the transcriber returned no transcript")
    return found


async def _supervise(call: Callable[[], Awaitable[T]]) -> T:
    try:
        return await call()
    except (ModelCallFailed, RecordingRefused, TimeoutError):
        raise
    except Exception as error:  # noqa: BLE001 - supervisor: a custom class may raise anything; the log names it
        detail = redact_line(f"{type(error).__name__}: {error}")
        log.warning("transcriber_failed", detail=detail)
        raise RecordingRefused(f"the transcriber failed ({type(error).__name__})") from None
