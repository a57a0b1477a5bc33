"""The strict transcription services are strict: for each rule, a request that breaks it is rejected."""

from __future__ import annotations

from collections import deque
from typing import Any

import httpx
import pytest

from tests.harness.strict_providers.transcription import M4A, MAX_BODY, OGG, StrictTranscription, groq

KEY = {"Authorization": "Bearer sk-test"}


async def post(
    service: StrictTranscription,
    file: tuple[str, bytes] | None = ("a.ogg", OGG),
    headers: dict[str, str] | None = None,
    **form: Any,
) -> httpx.Response:
    fields = {"model": "whisper-1", "response_format": "json", **form}
    async with service.serve() as base, httpx.AsyncClient() as http:
        return await http.post(
            f"{base}/audio/transcriptions",
            data={key: value for key, value in fields.items() if value is not None},
            files={"file": file} if file else {"other": ("x", b"x")},
            headers=KEY if headers is None else headers,
        )


async def test_what_the_schema_allows_is_accepted() -> None:
    service = StrictTranscription(deque(["Hello."] * 4))
    for form in ({}, {"language": "de", "prompt": "Roebot"}, {"response_format": None}, {"temperature": "0"}):
        answer = await post(service, **form)
        assert answer.json() == {"text": "Hello.", "usage": {"type": "duration", "seconds": 3}}
    assert service.rejections == []


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ({"headers": {}}, 401, "You didn't provide an API key."),
        ({"headers": {"Authorization": "Bearer sk-other"}}, 401, "Incorrect API key provided."),
        ({"model": "gpt-hear"}, 404, "The model `gpt-hear` does not exist."),
        ({"model": None}, 400, "Invalid value: 'model'."),
        ({"response_format": "yaml"}, 400, "Invalid value: 'response_format'."),
        ({"response_format": "diarized_json"}, 400, "is not compatible with model 'whisper-1'"),
        (
            {"model": "gpt-4o-transcribe", "response_format": "verbose_json"},
            400,
            "response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe'.",
        ),
        ({"language": "German"}, 400, "Invalid value: 'language'."),
        ({"speed": "2"}, 400, "Unknown parameter: 'speed'."),
        ({"file": None}, 400, "Missing required parameter: 'file'."),
        ({"file": ("a.opus", OGG)}, 400, "Unrecognized file format."),
        ({"file": ("a", OGG)}, 400, "Unrecognized file format."),
        ({"file": ("a.amr", b"#!AMR\n")}, 400, "Unrecognized file format."),
        ({"file": ("a.mp3", OGG)}, 400, "The audio file could not be decoded"),
        ({"file": ("a.ogg", M4A)}, 400, "The audio file could not be decoded"),
        ({"file": ("a.ogg", b"")}, 400, "The audio file could not be decoded"),
    ],
)
async def test_what_openai_rejects(given: dict[str, Any], status: int, told: str) -> None:
    service = StrictTranscription()
    answer = await post(service, **given)
    assert answer.status_code == status
    assert told in answer.json()["error"]["message"]
    assert len(service.rejections) == 1


async def test_a_body_that_is_too_large_is_rejected() -> None:
    answer = await post(StrictTranscription(), ("a.ogg", OGG + bytes(MAX_BODY)))
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "server_error"


async def test_a_body_that_is_no_form_is_rejected() -> None:
    async with StrictTranscription().serve() as base, httpx.AsyncClient() as http:
        answer = await http.post(f"{base}/audio/transcriptions", json={"model": "whisper-1"}, headers=KEY)
    assert answer.status_code == 415


@pytest.mark.parametrize(("name", "accepted"), [("a.oga", False), ("a.opus", True), ("a.ogg", True)])
async def test_groq_takes_other_extensions(name: str, accepted: bool) -> None:
    service = groq()
    service.texts.append("Hello.")
    answer = await post(service, (name, OGG), model="whisper-large-v3-turbo")
    assert answer.is_success == accepted
