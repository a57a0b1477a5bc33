"""OpenAI's transcriber against strict services: what it sends, what it reads, how it fails."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.errors import ModelCallFailed, ModelUnavailable, RecordingRefused
from agent.transcription.containers import AudioContainer, find_container
from agent.transcription.interface import Recording, SpokenText, Transcriber
from agent.transcription.openai import MAX_BYTES, OpenAITranscriber
from agent.transcription.running import MAX_CHARACTERS, transcribe
from roebot_testing.agent.conformance import TranscriberSuite
from tests.harness.strict_providers.transcription import M4A, OGG, Failure, StrictTranscription, groq

VOICE = Recording(OGG, AudioContainer.OGG)


class TestOpenAI(TranscriberSuite):
    @pytest.fixture
    async def transcriber(self) -> AsyncIterator[Transcriber]:  # type: ignore[override]
        service = StrictTranscription(deque(["Hello."] * 5))
        async with service.serve() as base:
            yield OpenAITranscriber(base_url=base, api_key="sk-test")

    @pytest.fixture
    def recording(self) -> Recording:
        return VOICE


async def given() -> Recording:
    """Load it."""
    return VOICE


async def ask(service: StrictTranscription, recording: Recording = VOICE, **settings: Any) -> SpokenText:
    async with service.serve() as base:
        made = OpenAITranscriber(**{"base_url": base, "api_key": "sk-test", **settings})
        assert isinstance(made, Transcriber)
        return await made.transcribe(recording)


async def test_a_recording_becomes_text() -> None:
    service = StrictTranscription(deque(["Deploy it on Friday."]))
    found = await ask(service, model="whisper-1", language="en", prompt="Roebot")
    assert found == SpokenText("Deploy it on Friday.", 3.0)
    [sent] = service.sent
    fields = {"model": "whisper-1", "response_format": "json", "language": "en", "prompt": "Roebot"}
    assert sent.form == fields
    assert (sent.filename, sent.content, sent.attempt) == ("recording.ogg", OGG, 0)
    assert service.rejections == []


async def test_a_model_that_is_billed_by_tokens_tells_no_length() -> None:
    service = StrictTranscription(deque(["Hello."]), billed="tokens")
    assert await ask(service) == SpokenText("Hello.", None)


@pytest.mark.parametrize("content", [OGG, M4A])
@pytest.mark.parametrize("make", [StrictTranscription, groq])
async def test_each_service_takes_the_recordings_of_every_platform(make: Any, content: bytes) -> None:
    """Telegram sends .oga, Discord .ogg, Feishu .opus (all Opus in Ogg), Slack .m4a."""
    service = make()
    service.texts.append("Hello.")
    container = find_container(content)
    assert container is not None
    await ask(service, Recording(content, container), model=next(iter(service.models)))
    assert service.rejections == []


@pytest.mark.parametrize(
    ("failure", "category", "retryable", "wait"),
    [
        (Failure(401, "Incorrect API key provided."), "auth", False, None),
        (Failure(403, "No access."), "permission", False, None),
        (Failure(404, "The model does not exist."), "not_found", False, None),
        (Failure(400, "Bad audio."), "invalid_request", False, None),
        (Failure(429, "Slow down.", headers={"retry-after": "7"}), "rate_limit", True, 7.0),
        (Failure(429, "Pay.", code="insufficient_quota"), "quota", False, None),
        (Failure(500), "overloaded", True, None),
        (Failure(503), "overloaded", True, None),
        (Failure(200, body=b"<html>"), "malformed", True, None),
        (Failure(200, body=b'{"words": []}'), "malformed", True, None),
    ],
)
async def test_failures_are_those_of_models(
    failure: Failure, category: str, retryable: bool, wait: float | None
) -> None:
    service = StrictTranscription(failures=deque([failure]))
    with pytest.raises(ModelCallFailed) as caught:
        await ask(service)
    assert (caught.value.category, caught.value.retryable) == (category, retryable)
    assert caught.value.retry_after == wait
    assert "sk-test" not in str(caught.value)
    assert len(service.sent) == 1


async def test_a_wrong_key_and_an_unknown_model_are_named() -> None:
    with pytest.raises(ModelCallFailed, match="rejected the API key"):
        await ask(StrictTranscription(), api_key="sk-wrong")
    with pytest.raises(ModelCallFailed, match="The model `gpt-hear` does not exist"):
        await ask(StrictTranscription(), model="gpt-hear")


async def test_a_service_that_is_not_there() -> None:
    made = OpenAITranscriber(base_url="http://127.0.0.1:9", api_key="sk-test")
    with pytest.raises(ModelCallFailed) as caught:
        await made.transcribe(VOICE)
    assert caught.value.category == "connection"


async def test_recordings_that_are_too_large_are_not_sent() -> None:
    service = StrictTranscription()
    with pytest.raises(RecordingRefused, match="too large"):
        await ask(service, Recording(OGG + bytes(MAX_BYTES), AudioContainer.OGG))
    assert service.sent == []
    refusing = StrictTranscription(failures=deque([Failure(413, "Too large.")]))
    with pytest.raises(RecordingRefused, match="too large"):
        await ask(refusing)


@pytest.mark.guard(
    "the key for OpenAI is sent to OpenAI only",
    "agent/transcription/openai.py",
    "key = api_key or (_NO_KEY if base_url else None)",
    "key = api_key",
    against="stolen secrets",
)
async def test_openai_needs_a_key_and_another_address_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        OpenAITranscriber()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    service = StrictTranscription(deque(["Hello."]), keys=frozenset({"no-key"}))
    async with service.serve() as base:
        assert (await OpenAITranscriber(base_url=base).transcribe(VOICE)).text == "Hello."
    assert [one.key for one in service.sent] == ["no-key"]


@pytest.mark.guard(
    "OpenAI's address is not taken from the environment",
    "agent/transcription/openai.py",
    "base_url=base_url or ADDRESS,",
    "base_url=base_url,",
    against="stolen secrets",
)
async def test_openais_key_goes_to_openai_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to the address that the package takes from the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert OpenAITranscriber().address == "https://api.openai.com/v1/"
    assert OpenAITranscriber(base_url="http://127.0.0.1:8/v1").address == "http://127.0.0.1:8/v1/"


class Clock:
    """Records pauses instead of waiting."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


async def run(service: StrictTranscription, clock: Clock, seconds: float = 60.0) -> str:
    async with service.serve() as base:
        made = OpenAITranscriber(base_url=base, api_key="sk-test")
        return await transcribe(made, given, seconds, clock.sleep)


@pytest.mark.parametrize(
    ("failure", "pause"), [(Failure(500), 1.0), (Failure(429, headers={"retry-after": "7"}), 7.0)]
)
async def test_a_temporary_failure_is_tried_again_once(failure: Failure, pause: float) -> None:
    clock = Clock()
    service = StrictTranscription(deque(["Hello."]), deque([failure]))
    assert await run(service, clock) == "Hello."
    assert (clock.pauses, len(service.sent)) == ([pause], 2)
    service = StrictTranscription(deque(["Hello."]), deque([failure, failure]))
    with pytest.raises(RecordingRefused, match='The model "gpt-transcribe" failed'):
        await run(service, clock)
    assert len(service.sent) == 2


@pytest.mark.parametrize("failure", [Failure(401), Failure(429, headers={"retry-after": "60"})])
async def test_other_failures_are_final(failure: Failure) -> None:
    clock = Clock()
    service = StrictTranscription(failures=deque([failure]))
    with pytest.raises(RecordingRefused):
        await run(service, clock)
    assert (clock.pauses, len(service.sent)) == ([], 1)


async def test_a_service_that_does_not_answer_is_given_up() -> None:
    service = StrictTranscription(failures=deque([Failure(hangs=True)]))
    with pytest.raises(RecordingRefused, match=r"took longer than 0\.1 s"):
        await run(service, Clock(), 0.1)


@pytest.mark.guard(
    "a long transcript is cut",
    "agent/transcription/running.py",
    "return shorten(text, MAX_CHARACTERS)",
    "return text",
    against="endless work",
)
async def test_a_long_transcript_is_cut() -> None:
    service = StrictTranscription(deque(["a" * (MAX_CHARACTERS + 1)]))
    text = await run(service, Clock())
    assert (len(text), text[-2:]) == (MAX_CHARACTERS, "a…")


class Parallel:
    """Counts how many recordings are in memory at a time."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.gate = asyncio.Event()

    async def load(self) -> Recording:
        self.now += 1
        self.most = max(self.most, self.now)
        return VOICE

    async def transcribe(self, recording: Recording, /) -> SpokenText:
        for _ in range(10):  # so that others could begin
            await asyncio.sleep(0)
        if self.now >= 2:
            self.gate.set()
        await self.gate.wait()
        self.now -= 1
        return SpokenText("Hello.")


@pytest.mark.guard(
    "few recordings are transcribed at a time",
    "agent/transcription/running.py",
    "async with asyncio.timeout(seconds), _rooms.get():",
    "async with asyncio.timeout(seconds):",
    against="endless work",
)
async def test_two_are_transcribed_at_a_time() -> None:
    made = Parallel()
    await asyncio.gather(*(transcribe(made, made.load, 5.0) for _ in range(5)))
    assert made.most == 2


class Broken:
    async def transcribe(self, recording: Recording, /) -> SpokenText:
        raise ZeroDivisionError("/home/roe/secret")


@pytest.mark.guard(
    "a transcriber that fails is named without its text",
    "agent/transcription/running.py",
    'raise RecordingRefused(f"the transcriber failed ({type(error).__name__})") from None',
    'raise RecordingRefused(f"the transcriber failed ({error})") from None',
    against="stolen secrets",
)
async def test_a_broken_class_is_named_without_its_text() -> None:
    with pytest.raises(RecordingRefused) as caught:
        await transcribe(Broken(), given, 5.0)
    assert str(caught.value) == "the transcriber failed (ZeroDivisionError)"


class Unprepared(Broken):
    """Takes a while to get ready."""

    is_ready = False

    async def prepare(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        self.is_ready = True


async def test_getting_ready_is_not_part_of_the_time_limit() -> None:
    made = Unprepared()
    with pytest.raises(RecordingRefused):
        await transcribe(made, given, 0.0)
    assert made.is_ready


class Unloadable(Broken):
    async def prepare(self) -> None:
        raise OSError("/home/roe/secret")


async def test_a_class_that_can_not_get_ready_is_named() -> None:
    with pytest.raises(RecordingRefused) as caught:
        await transcribe(Unloadable(), given, 5.0)
    assert str(caught.value) == "the transcriber failed (OSError)"


class Blocking:
    """No coroutine, as somebody may write by mistake."""

    def transcribe(self, recording: Recording, /) -> SpokenText:
        raise ZeroDivisionError


async def test_a_class_that_is_not_asynchronous_is_named() -> None:
    with pytest.raises(RecordingRefused, match="ZeroDivisionError"):
        await transcribe(Blocking(), given, 5.0)  # type: ignore[arg-type]
