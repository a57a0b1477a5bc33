"""Services that transcribe, as strict as OpenAI's and Groq's.

Form: `CreateTranscriptionRequest` of https://github.com/openai/openai-openapi, that is
openai/types/audio/transcription_create_params.py of the openai package 3.54.0. Texts of rejections as the
services answer:

- size: https://github.com/murtaza-nasir/speakr/issues/42
- extension: https://github.com/gsamat/telegram_openai_whisper_api_transcriber/issues/12 (OpenAI) and
  https://github.com/chigwell/telegram-mcp/issues/219 (Groq, which takes no `.oga`)
- content: https://github.com/adamcohenhillel/ADeus/issues/60
- response format of a model: https://github.com/Thinline-Dynamic-Solutions/ThinLineRadio/issues/114
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from aiohttp import BodyPartReader, web
from pydantic import Field, ValidationError

from tests.harness.strict_providers.server import RejectedRequest, Strict

MAX_BODY = 26_214_400
WHISPER_FORMATS = frozenset({"json", "text", "srt", "verbose_json", "vtt"})
SIGNATURES: Mapping[str, bytes] = {
    "ogg": rb"OggS",
    "oga": rb"OggS",
    "opus": rb"OggS",
    "flac": rb"fLaC",
    "wav": rb"RIFF.{4}WAVE",
    "mp3": rb"ID3|\xff[\xe2-\xff]",
    "mpeg": rb"ID3|\xff[\xe2-\xff]",
    "mpga": rb"ID3|\xff[\xe2-\xff]",
    "m4a": rb".{4}ftyp",
    "mp4": rb".{4}ftyp",
    "webm": rb"\x1a\x45\xdf\xa3",
}


class Form(Strict):
    """The fields besides the file, which are all text in a form."""

    model: str
    chunking_strategy: str | None = None
    include: str | None = Field(None, alias="include[]")
    language: str | None = Field(None, pattern="^[a-z]{2,3}$")
    prompt: str | None = None
    response_format: Literal["json", "text", "srt", "verbose_json", "vtt", "diarized_json"] = "json"
    stream: Literal["true", "false"] | None = None
    temperature: str | None = None
    timestamp_granularities: str | None = Field(None, alias="timestamp_granularities[]")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request: its form, the name and content of its file, and the attempt of the client's package."""

    form: Mapping[str, str]
    filename: str
    content: bytes
    attempt: int
    key: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer in place of the next transcript; `hangs` never answers."""

    status: int = 500
    text: str = "The server had an error while processing your request. Sorry about that!"
    kind: str = "server_error"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hangs: bool = False


@dataclass
class StrictTranscription:
    """Answers each acceptable request with the next text. `models` maps those that exist to their formats."""

    texts: deque[str] = field(default_factory=deque)
    failures: deque[Failure] = field(default_factory=deque)
    models: Mapping[str, frozenset[str]] = field(
        default_factory=lambda: {
            "whisper-1": WHISPER_FORMATS,
            "gpt-transcribe": frozenset({"json"}),
            "gpt-4o-transcribe": frozenset({"json", "text"}),
        }
    )
    extensions: frozenset[str] = frozenset(SIGNATURES) - {"opus"}
    billed: Literal["seconds", "tokens"] = "seconds"
    keys: frozenset[str] = frozenset({"sk-test"})
    sent: list[Sent] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by each acceptable request."""
    _free: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._free.set()

    def hold(self) -> None:
        """Answer no request until `release`."""
        self._free.clear()

    def release(self) -> None:
        """Answer the requests that were held."""
        self._free.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        try:
            sent = await self._read(request)
            self.sent.append(sent)
            self._check(sent)
        except RejectedRequest as error:
            self.rejections.append(str(error))
            kind = "server_error" if error.status == 413 else "invalid_request_error"
            return _error(error.status or 400, str(error), kind, None, {})
        self.reached.set()
        await self._free.wait()
        if self.failures:
            return await self._fail(request, self.failures.popleft())
        return self._tell(self.texts.popleft(), sent)

    async def _read(self, request: web.Request) -> Sent:
        key = re.fullmatch(r"Bearer (\S+)", request.headers.get("Authorization", ""))
        if key is None:
            raise RejectedRequest("You didn't provide an API key.", 401)
        if key[1] not in self.keys:
            raise RejectedRequest("Incorrect API key provided.", 401)
        length = request.content_length or 0
        if length > MAX_BODY:
            text = f"413: Maximum content size limit ({MAX_BODY}) exceeded ({length} bytes read)"
            raise RejectedRequest(text, 413)
        if request.content_type != "multipart/form-data":
            raise RejectedRequest("Invalid Content-Type header. Expected multipart/form-data.", 415)
        form: dict[str, str] = {}
        filename, content = "", None
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name == "file" and part.filename:
                filename, content = part.filename, bytes(await part.read())
            else:
                form[part.name or ""] = await part.text()
        if content is None:
            raise RejectedRequest("Missing required parameter: 'file'.")
        attempt = int(request.headers.get("x-stainless-retry-count", "0"))
        return Sent(form, filename, content, attempt, key[1])

    def _check(self, sent: Sent) -> None:
        try:
            form = Form.model_validate(sent.form, strict=False)
        except ValidationError as error:
            found = error.errors(include_url=False)[0]
            word = "Unknown parameter" if found["type"] == "extra_forbidden" else "Invalid value"
            raise RejectedRequest(f"{word}: '{found['loc'][0]}'. {found['msg']}") from None
        if form.model not in self.models:
            raise RejectedRequest(f"The model `{form.model}` does not exist.", 404)
        if form.response_format not in self.models[form.model]:
            raise RejectedRequest(
                f"response_format '{form.response_format}' is not compatible with model '{form.model}'."
            )
        extension = PurePosixPath(sent.filename).suffix.removeprefix(".")
        if extension not in self.extensions:
            known = sorted(self.extensions)
            raise RejectedRequest(f"Unrecognized file format. Supported formats: {known}")
        if not re.match(SIGNATURES[extension], sent.content, re.DOTALL):
            raise RejectedRequest("The audio file could not be decoded or its format is not supported.")

    async def _fail(self, request: web.Request, failure: Failure) -> web.StreamResponse:
        if failure.hangs:
            while request.transport is not None and not request.transport.is_closing():
                await asyncio.sleep(0.005)
        if failure.body is not None:
            return web.Response(
                status=failure.status, body=failure.body, headers={"Content-Type": "application/json"}
            )
        return _error(failure.status, failure.text, failure.kind, failure.code, failure.headers)

    def _tell(self, text: str, sent: Sent) -> web.Response:
        usage: dict[str, Any] = {"type": "duration", "seconds": 3}
        if self.billed == "tokens":
            usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 45, "total_tokens": 59}
        if sent.form.get("response_format", "json") == "json":
            return web.json_response({"text": text, "usage": usage})
        return web.Response(text=text)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen on a free port of this machine and return the base URL of the API."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/audio/transcriptions", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()


def groq() -> StrictTranscription:
    """Return a service that takes the models and extensions of Groq."""
    return StrictTranscription(
        models={"whisper-large-v3-turbo": frozenset({"json", "text", "verbose_json"})},
        extensions=frozenset(SIGNATURES) - {"oga"},
    )


def _error(status: int, text: str, kind: str, code: str | None, headers: Mapping[str, str]) -> web.Response:
    told = {"message": text, "type": kind, "param": None, "code": code}
    return web.json_response({"error": told}, status=status, headers=headers)


OGG = b"OggS\x00\x02" + bytes(22) + b"\x01\x13OpusHead\x01\x01"
"""The first bytes of a voice message of Telegram or Discord: Opus in Ogg."""
M4A = b"\x00\x00\x00\x1cftypM4A \x00\x00\x00\x00M4A isom" + bytes(16)
"""The first bytes of an audio clip of Slack."""
