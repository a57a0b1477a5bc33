"""An HTTP request to an emulator: reading it, and answering it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

from roebot_testing.emulators.server import Receive, Scope, Send

Abort = Callable[[Scope, Receive], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a multipart body; `mime` is "" if its part names no content type."""

    name: str
    mime: str
    data: bytes = field(repr=False)


class Exchange(Request):
    """A request with the means to answer it; `abort` cuts its connection.

    Reading a body raises ClientDisconnect if the client hung up before its end.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        super().__init__(scope, receive, send)
        self._abort = abort

    @property
    def path(self) -> str:
        """Path of the request, decoded."""
        return str(self.scope["path"])

    @property
    def query(self) -> dict[str, str]:
        """Query parameters, blank ones included; the last of several values counts."""
        return dict(parse_qsl(self.scope["query_string"].decode(), keep_blank_values=True))

    @property
    def content_type(self) -> str:
        """Content type of the body, or "" if there is none."""
        return self.headers.get("content-type", "")

    @property
    def bearer_token(self) -> str:
        """Token of the `Authorization: Bearer` header, "" without one."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() == "bearer" else ""

    async def read_json(self) -> Any:
        """Parse the body, or None for an empty one. Raises orjson.JSONDecodeError."""
        body = await self.body()
        return orjson.loads(body) if body else None

    async def read_form(self, errors: str = "strict") -> dict[str, str]:
        """Parse an urlencoded body. Raises UnicodeDecodeError unless `errors` is "replace"."""
        body = await self.body()
        return dict(parse_qsl(body.decode("utf-8", errors), keep_blank_values=True))

    async def read_multipart(self) -> tuple[dict[str, str], list[tuple[str, Upload]]]:
        """Parse a multipart body into fields by name, and files with the names of their parts, in order."""
        fields: dict[str, str] = {}
        uploads: list[tuple[str, Upload]] = []
        async with self.form() as form:
            for key, value in form.multi_items():
                if isinstance(value, UploadFile):
                    data = await value.read()
                    uploads.append((key, Upload(value.filename or key, value.content_type or "", data)))
                else:
                    fields[key] = value
        return fields, uploads

    async def answer(self, status: int, body: Any, headers: Headers = ()) -> None:
        """Answer with JSON."""
        await answer(self._send, status, body, headers)

    async def answer_bytes(
        self, status: int, body: bytes, content_type: bytes, headers: Headers = ()
    ) -> None:
        """Answer with bytes."""
        await answer_bytes(self._send, status, body, content_type, headers)

    async def cut(self) -> None:
        """Cut the connection without an answer."""
        await self._abort(self.scope, self.receive)


async def answer(send: Send, status: int, body: Any, headers: Headers = ()) -> None:
    """Answer with JSON."""
    await answer_bytes(send, status, orjson.dumps(body, default=str), b"application/json", headers)


async def answer_bytes(
    send: Send, status: int, body: bytes, content_type: bytes, headers: Headers = ()
) -> None:
    """Answer with bytes."""
    fixed = [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body})
