"""Parameters of a Bot API call, however they came: query, form, multipart or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.datastructures import UploadFile
from starlette.requests import Request

from bot.testing.emulators.http import read_body
from bot.testing.emulators.server import Receive, Scope
from bot.testing.emulators.telegram.errors import bad_request


@dataclass(frozen=True, slots=True)
class TelegramUpload:
    """A file of a multipart body."""

    name: str
    mime: str
    data: bytes = field(repr=False)


class Params:
    """Typed reading of parameters; values from forms are strings, objects are JSON inside them."""

    def __init__(
        self, values: Mapping[str, Any], uploads: Mapping[str, TelegramUpload] | None = None
    ) -> None:
        self.values = values
        self.uploads = uploads or {}

    def text(self, key: str) -> str:
        """A string ("" if absent)."""
        value = self.values.get(key, "")
        return value if isinstance(value, str) else str(value)

    def number(self, key: str, default: int = 0) -> int:
        """An integer. Raises ApiError 400 where it is none."""
        value = self.values.get(key)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f"invalid {key} specified") from None

    def flag(self, key: str) -> bool:
        """A truth value."""
        return self.values.get(key) in (True, "true", "True", "1")

    def object(self, key: str) -> Any:
        """A JSON value (None if absent). Raises ApiError 400 where it cannot be read."""
        value = self.values.get(key)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            raise bad_request(f"can't parse {key} JSON object") from None

    def chat_id(self) -> int | str | None:
        """`chat_id` as a number where it is one."""
        value = self.values.get("chat_id")
        if isinstance(value, str) and value.lstrip("-").isdigit():
            return int(value)
        return value

    def upload(self, key: str) -> TelegramUpload | None:
        """The file of that parameter: its own part, or the one that `attach://` names."""
        if key in self.uploads:
            return self.uploads[key]
        return self.attached(self.text(key))

    def attached(self, reference: str) -> TelegramUpload | None:
        """The part that an `attach://` reference names."""
        return self.uploads.get(reference.removeprefix("attach://"))


async def read_params(scope: Scope, receive: Receive) -> Params:
    """The parameters of a call."""
    content_type = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    if content_type.startswith(b"multipart/"):
        return await _multipart(scope, receive)
    body = await read_body(receive)
    values: dict[str, Any] = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
    if content_type.startswith(b"application/json"):
        values.update(_json(body))
    elif body:
        values.update(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return Params(values)


def _json(body: bytes) -> dict[str, Any]:
    try:
        loaded = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        raise bad_request("can't parse JSON object") from None
    return loaded if isinstance(loaded, dict) else {}


async def _multipart(scope: Scope, receive: Receive) -> Params:
    values: dict[str, Any] = {}
    uploads: dict[str, TelegramUpload] = {}
    async with Request(scope, receive).form() as form:
        for key, value in form.multi_items():
            if isinstance(value, UploadFile):
                mime = value.content_type or "application/octet-stream"
                uploads[key] = TelegramUpload(value.filename or key, mime, await value.read())
            else:
                values[key] = value
    return Params(values, uploads)
