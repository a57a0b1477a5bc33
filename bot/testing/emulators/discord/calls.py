"""A call of the API as its handler sees it: path, query and body, however it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

from bot.testing.emulators.discord.errors import invalid
from bot.testing.emulators.http import read_body
from bot.testing.emulators.server import Receive, Scope


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a multipart body."""

    name: str
    mime: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class DiscordCall:
    """One call; `path` holds what the route's pattern named."""

    path: Mapping[str, str]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    files: tuple[Upload, ...] = ()

    def number(self, name: str) -> int:
        """An id of the path."""
        return int(self.path[name])

    @property
    def json(self) -> dict[str, Any]:
        """The body as an object. Raises ApiError 400."""
        if not isinstance(self.body, dict):
            raise invalid(_="the body must be an object")
        return self.body


@dataclass(frozen=True, slots=True)
class DiscordResult:
    """What a handler answers (`result` None: 204), and what the transcript says of it."""

    result: Any = None
    message_id: str = ""
    text: str = ""


async def read_call(path: Mapping[str, str], scope: Scope, receive: Receive) -> DiscordCall:
    """Read a request. Raises ApiError 400 for a body that cannot be read."""
    query = dict(parse_qsl(scope["query_string"].decode()))
    kind = dict(scope["headers"]).get(b"content-type", b"").decode()
    if kind.startswith("multipart/form-data"):
        return await _read_form(path, query, scope, receive)
    body = await read_body(receive)
    try:
        return DiscordCall(path, query, orjson.loads(body) if body else None)
    except orjson.JSONDecodeError:
        raise invalid(_="the body is no JSON") from None


async def _read_form(
    path: Mapping[str, str], query: Mapping[str, str], scope: Scope, receive: Receive
) -> DiscordCall:
    form = await Request(scope, receive).form()
    files, payload = [], b"{}"
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            data = await value.read()
            if name == "payload_json":
                payload = data
            else:
                files.append(Upload(value.filename or name, value.content_type or "", data))
        elif name == "payload_json":
            payload = value.encode()
    await form.close()
    return DiscordCall(path, query, orjson.loads(payload), tuple(files))
