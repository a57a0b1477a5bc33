"""One call of the API, read: path, query, JSON or multipart body."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

from bot.testing.emulators.feishu.errors import refused
from bot.testing.emulators.http import read_body
from bot.testing.emulators.server import Receive, Scope


@dataclass(slots=True)
class FeishuCall:
    """`args` are the parts of the path, `body` the JSON object or the form's fields, `upload` (name, bytes),
    `size` the bytes of the body."""

    args: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    upload: tuple[str, bytes] | None = None
    size: int = 0

    def text(self, key: str) -> str:
        """A string of the body. Raises ApiError where it is missing or none."""
        value = self.body.get(key)
        if not isinstance(value, str) or not value:
            raise refused(99992402, f"field validation failed: {key} is required")
        return value

    def number(self, key: str) -> int:
        """A whole number of the body. Raises ApiError."""
        value = self.body.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise refused(99992402, f"field validation failed: {key} is required")
        return value

    def json_in(self, key: str) -> dict[str, Any]:
        """A JSON object that travels inside a string of the body. Raises ApiError."""
        try:
            loaded = orjson.loads(self.text(key))
        except orjson.JSONDecodeError:
            raise refused(230001, f"invalid {key}: no JSON") from None
        if not isinstance(loaded, dict):
            raise refused(230001, f"invalid {key}: no object")
        return loaded


async def read_call(scope: Scope, receive: Receive, args: tuple[str, ...]) -> FeishuCall:
    """Read a request."""
    query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
    content_type = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if content_type.startswith(b"multipart/"):
        return await _form(scope, receive, args, query)
    body = await read_body(receive)
    try:
        loaded = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError:
        raise refused(9499, "Bad Request: invalid JSON") from None
    return FeishuCall(args, query, loaded if isinstance(loaded, dict) else {}, size=len(body))


async def _form(scope: Scope, receive: Receive, args: tuple[str, ...], query: dict[str, str]) -> FeishuCall:
    call = FeishuCall(args, query)
    async with Request(scope, receive).form() as form:
        for key, value in form.multi_items():
            if isinstance(value, UploadFile):
                name = value.filename or key
                call.upload = (re.sub(r"[/\\]", "_", name), await value.read())
            elif key in ("file", "image"):
                # The SDK sends a file without a name where it was given an open one.
                call.upload = (key, value.encode())
            else:
                call.body[key] = value
    return call
