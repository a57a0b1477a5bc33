"""One call of the Web API: what was asked, and what a method made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson

from bot.testing.emulators.http import read_body
from bot.testing.emulators.server import Receive, Scope
from bot.testing.emulators.slack.errors import SlackApiError
from bot.testing.emulators.slack.workspace import SlackWorkspace
from bot.testing.emulators.transcript import FrameKind


@dataclass(frozen=True, slots=True)
class SlackResult:
    """What a method did: the answer's body, and what the transcript shall say."""

    body: dict[str, Any] = field(default_factory=dict)
    channel: str = ""
    ts: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SlackCall:
    """One call. `now` is monotonic, `lifetime` that of a stream in seconds, `origin` this server's."""

    world: SlackWorkspace
    values: dict[str, Any]
    now: float
    lifetime: float
    origin: str
    announce: Callable[..., None]

    def text(self, key: str) -> str:
        """A string, "" where absent."""
        value = self.values.get(key)
        return "" if value is None else str(value)

    def number(self, key: str, default: int) -> int:
        """A whole number."""
        try:
            return int(self.values.get(key) or default)
        except ValueError:
            raise SlackApiError("invalid_arguments") from None

    def flag(self, key: str) -> bool:
        """A switch as forms write it."""
        return self.text(key).lower() in ("1", "true")

    def json(self, key: str) -> Any:
        """An object or list, given as such or as its JSON text."""
        value = self.values.get(key)
        if isinstance(value, str):
            try:
                return orjson.loads(value)
            except orjson.JSONDecodeError:
                raise SlackApiError("invalid_arguments") from None
        return value


@dataclass(frozen=True, slots=True)
class SlackMethod:
    """A method: what does it, which tier limits it (calls a minute), and what it is to a reader."""

    call: Callable[[SlackCall], SlackResult]
    per_minute: int
    kind: FrameKind = FrameKind.OTHER
    app_token: bool = False


async def read_call(scope: Scope, receive: Receive) -> tuple[dict[str, Any], str]:
    """The parameters of a call from its query, form or JSON, and its token."""
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    values: dict[str, Any] = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
    body = await read_body(receive)
    kind = headers.get("content-type", "")
    if kind.startswith("application/json"):
        try:
            loaded = orjson.loads(body or b"{}")
        except orjson.JSONDecodeError:
            raise SlackApiError("invalid_json") from None
        if not isinstance(loaded, dict):
            raise SlackApiError("json_not_object")
        values.update(loaded)
    elif kind.startswith("application/x-www-form-urlencoded"):
        values.update(parse_qsl(body.decode(), keep_blank_values=True))
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return values, token if scheme.lower() == "bearer" else str(values.get("token") or "")
