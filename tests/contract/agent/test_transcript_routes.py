"""Transcripts of uploads over real HTTP: made once, stored with the upload, deleted with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent.core.schemas import UploadResult
from agent.management.routes import management_routes
from agent.shared.schemas import RecordingTranscript
from agent.uploads.recordings import TranscriptRecords
from tests.harness.local_server import served
from tests.harness.strict_providers.transcription import OGG, Failure, StrictTranscription

THREAD = "0191d0a2-0000-7000-8000-000000000001"
UPLOADS = f"/api/threads/{THREAD}/uploads"
USE = "agent.transcription.openai:OpenAITranscriber"


@pytest.fixture
async def service() -> AsyncIterator[StrictTranscription]:
    yield StrictTranscription(deque(["Hello."]))


@pytest.fixture
async def base(service: StrictTranscription) -> AsyncIterator[str]:
    async with service.serve() as address:
        yield address


@pytest.fixture
def path(tmp_path: Path, base: str) -> Path:
    """The configuration, with a transcriber."""
    path = tmp_path / "config.yaml"
    path.write_text(f"transcriber: {{use: '{USE}', base_url: '{base}', api_key: sk-test, model: whisper-1}}")
    return path


@pytest.fixture
async def client(home: Path, path: Path) -> AsyncIterator[httpx.AsyncClient]:
    routes = await asyncio.to_thread(management_routes, home, path)
    async with served(routes) as http:
        yield http


async def put(client: httpx.AsyncClient, content: bytes = OGG, name: str = "voice.oga", key: str = "") -> str:
    """Upload a file; the name under which it is stored."""
    headers = {"Idempotency-Key": key} if key else {}
    answer = await client.post(UPLOADS, files={"files": (name, content)}, headers=headers)
    return UploadResult.model_validate_json(answer.content).files[0].filename


async def transcribe(client: httpx.AsyncClient, name: str = "voice.oga") -> RecordingTranscript:
    answer = await client.post(f"{UPLOADS}/{name}/transcript")
    assert answer.status_code == 200, answer.text
    return RecordingTranscript.model_validate_json(answer.content)


def records(home: Path) -> list[str]:
    """The names of the stored transcripts."""
    return sorted(one.name for one in (home / "threads" / THREAD / TranscriptRecords.folder).glob("*"))


@pytest.mark.guard(
    "two requests for a recording share the work",
    "agent/transcription/service.py",
    "work = self._running.get(key)",
    "work = None",
    against="lost transcripts",
)
async def test_an_upload_is_transcribed_once(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path
) -> None:
    await put(client)
    answers = await asyncio.gather(*(transcribe(client) for _ in range(3)), transcribe(client))
    assert {one.text for one in [*answers, await transcribe(client)]} == {"Hello."}
    assert (len(service.sent), service.rejections) == (1, [])
    assert service.sent[0].filename == "recording.ogg"
    assert records(home) == ["voice.oga.json"]


@pytest.mark.guard(
    "a restart of the agent knows what was transcribed",
    "agent/transcription/service.py",
    "        if known is not None:\n            return known\n",
    "",
    against="lost transcripts",
)
async def test_a_restart_knows_it(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path, path: Path
) -> None:
    await put(client, key="roebot-1-1-0")
    await transcribe(client)
    routes = await asyncio.to_thread(management_routes, home, path)
    async with served(routes) as again:
        assert await put(again, key="roebot-1-1-0") == "voice.oga"
        assert (await transcribe(again)).text == "Hello."
    assert len(service.sent) == 1


async def test_it_is_deleted_with_the_upload(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path
) -> None:
    await put(client)
    await transcribe(client)
    await client.delete(f"{UPLOADS}/voice.oga")
    assert records(home) == []
    assert (await client.post(f"{UPLOADS}/voice.oga/transcript")).status_code == 404
    service.texts.append("Another one.")
    await put(client, OGG + b"more")
    assert (await transcribe(client)).text == "Another one."


@pytest.mark.guard(
    "another file of the same name has a transcript of its own",
    "agent/uploads/recordings.py",
    "return record.text if record.digest == digest else None",
    "return record.text",
    against="mistaken words",
)
async def test_a_file_that_takes_the_place_of_another_is_transcribed(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path
) -> None:
    await put(client)
    await transcribe(client)
    [upload] = (home / "threads" / THREAD).rglob("voice.oga")
    upload.write_bytes(OGG + b"more")
    service.texts.append("Another one.")
    assert (await transcribe(client)).text == "Another one."


@pytest.mark.guard(
    "an upload that was deleted meanwhile leaves no transcript",
    "agent/uploads/recordings.py",
    "        if upload.is_file():\n"
    "            self._put(thread_id, name, record.model_dump_json())\n"
    "        if not upload.is_file():\n"
    "            self.remove(thread_id, name)\n",
    "        self._put(thread_id, name, record.model_dump_json())\n",
    against="undeleted transcripts",
)
async def test_an_upload_deleted_meanwhile_leaves_no_transcript(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path
) -> None:
    await put(client)
    service.hold()
    asked = asyncio.create_task(transcribe(client))
    await service.reached.wait()
    await client.delete(f"{UPLOADS}/voice.oga")
    service.release()
    assert (await asked).text == "Hello."
    assert records(home) == []


async def test_a_transcript_that_can_not_be_stored_is_returned(
    client: httpx.AsyncClient, service: StrictTranscription, home: Path
) -> None:
    await put(client)
    (home / "threads" / THREAD / TranscriptRecords.folder).write_text("in the way")
    assert (await transcribe(client)).text == "Hello."
    assert len(service.sent) == 1


async def test_a_failure_is_a_note_and_is_not_stored(
    client: httpx.AsyncClient, service: StrictTranscription
) -> None:
    service.failures.append(Failure(401, "Incorrect API key provided."))
    await put(client)
    first = await transcribe(client)
    assert (first.text, first.note) == (
        None,
        'The model "whisper-1" failed: its provider rejected the API key. Replace the key',
    )
    assert (await transcribe(client)).text == "Hello."


@pytest.mark.parametrize("content", [b"#!AMR\n", b"", b"text"])
async def test_other_formats_are_not_sent(
    client: httpx.AsyncClient, service: StrictTranscription, content: bytes
) -> None:
    await put(client, content)
    assert (await transcribe(client)).note == "its audio format is unknown"
    assert service.sent == []


async def test_silence_is_told_and_kept(client: httpx.AsyncClient, service: StrictTranscription) -> None:
    service.texts[0] = "  "
    await put(client)
    for _ in range(2):
        assert await transcribe(client) == RecordingTranscript(
            text=None, note="no speech was recognized in it"
        )
    assert len(service.sent) == 1


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ("{}", "no transcriber is configured; an admin can set transcriber in the configuration"),
        (
            f"transcriber: {{use: '{USE}', base_url: 'http://127.0.0.1:9', modle: x}}",
            f"The settings of {USE} are invalid: unknown key modle; known: model, base_url, api_key, "
            "language, prompt.",
        ),
        (
            "transcriber: {use: 'agent.transcription.openai:Gone'}",
            "The transcriber can't be loaded: agent.transcription.openai has no Gone "
            "(use: agent.transcription.openai:Gone).",
        ),
        (
            "transcriber: {use: 'pathlib:Path'}",
            "pathlib:Path is not a transcriber: it has no method transcribe.",
        ),
    ],
)
async def test_without_a_usable_transcriber(
    client: httpx.AsyncClient, path: Path, config: str, note: str
) -> None:
    path.write_text(config)
    await asyncio.sleep(1.1)
    await put(client)
    assert await transcribe(client) == RecordingTranscript(text=None, note=note)


async def test_what_is_refused(client: httpx.AsyncClient) -> None:
    assert (await client.post(f"{UPLOADS}/gone.ogg/transcript")).status_code == 404
    assert (await client.post("/api/threads/a.b/uploads/voice.oga/transcript")).status_code == 400
