"""One call of the Web API: its parameters, however they came, and the table entry of its method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.api import ApiCall, CallResult
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.workspace import SlackWorkspace
from roebot_testing.emulators.transcript import FrameKind


@dataclass(slots=True, kw_only=True)
class SlackCall(ApiCall):
    """One call. `now` is monotonic, `lifetime` that of a stream in seconds, `origin` this server's."""

    world: SlackWorkspace
    lifetime: float
    origin: str
    announce: Callable[..., None]
    now: float = 0.0
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return str(self.values.get("ts") or "")

    @property
    def content(self) -> str:
        return str(self.values.get("markdown_text") or self.values.get("text") or "")

    async def read(self, http: Exchange) -> None:
        """Take the parameters from query, form and JSON body. Raises SlackApiError for an unreadable body."""
        values: dict[str, Any] = http.query
        is_json = http.content_type.startswith("application/json")
        if is_json:
            try:
                loaded = orjson.loads(await http.body() or b"{}")
            except orjson.JSONDecodeError:
                raise SlackApiError("invalid_json") from None
            if not isinstance(loaded, dict):
                raise SlackApiError("json_not_object")
            values.update(loaded)
        elif http.content_type.startswith("application/x-www-form-urlencoded"):
            try:
                values.update(await http.read_form())
            except UnicodeDecodeError:
                raise SlackApiError("invalid_form_data") from None
        self.values = values
        # "You cannot present a token … as an attribute in your posted JSON" (docs.slack.dev/apis/web-api).
        self.token = http.bearer_token or ("" if is_json else str(values.get("token") or ""))
        self.chat = str(values.get("channel") or values.get("channel_id") or "")

    def text(self, key: str) -> str:
        """Return a string, or "" if it is absent."""
        value = self.values.get(key)
        return "" if value is None else str(value)

    def number(self, key: str, default: int) -> int:
        """Return a whole number. Raises SlackApiError for anything else."""
        try:
            return int(self.values.get(key) or default)
        except ValueError:
            raise SlackApiError("invalid_arguments") from None

    def flag(self, key: str) -> bool:
        """Return a switch as forms write it."""
        return self.text(key).lower() in ("1", "true")

    @property
    def unfurls(self) -> bool:
        """True unless the call suppresses previews of both pages and media."""
        return any(self.text(key).lower() not in ("0", "false") for key in ("unfurl_links", "unfurl_media"))

    def json(self, key: str, error: str = "invalid_arguments") -> Any:
        """Return an object or list that came as such or as JSON text. Raises SlackApiError with `error`."""
        value = self.values.get(key)
        if isinstance(value, str):
            try:
                return orjson.loads(value)
            except orjson.JSONDecodeError:
                raise SlackApiError(error) from None
        return value


@dataclass(frozen=True, slots=True)
class SlackMethod:
    """A method with its limit in calls a minute (0: none by tier) and the kind of its transcript frames."""

    call: Callable[[SlackCall], CallResult]
    per_minute: int
    kind: FrameKind = FrameKind.OTHER
