"""A call of the API as its handler sees it: path, query and body, however it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from bot.testing.emulators.api import ApiCall
from bot.testing.emulators.discord.errors import invalid
from bot.testing.emulators.discord.routes import DiscordRoute
from bot.testing.emulators.http import Exchange, Upload


@dataclass(slots=True)
class DiscordCall(ApiCall):
    """One call; `path` holds the named parts of the route, which is None for an unknown path."""

    route: DiscordRoute | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    files: tuple[Upload, ...] = ()

    @property
    def target(self) -> str:
        return self.path.get("message", "")

    @property
    def content(self) -> str:
        return str(self.body.get("content", "")) if isinstance(self.body, dict) else ""

    @property
    def json(self) -> dict[str, Any]:
        """The body as an object. Raises DiscordApiError 400."""
        if not isinstance(self.body, dict):
            raise invalid(_="the body must be an object")
        return self.body

    def number(self, name: str) -> int:
        """Return an id of the path."""
        return int(self.path[name])

    async def read(self, http: Exchange) -> None:
        """Read token, query and body. Raises DiscordApiError 400 for a body that cannot be read."""
        self.token = http.headers.get("authorization", "").removeprefix("Bot ")
        self.query = {key: value for key, value in http.query.items() if value}
        if http.content_type.startswith("multipart/form-data"):
            fields, uploads = await http.read_multipart()
            payload = uploads.pop("payload_json", None)
            self.body = orjson.loads(payload.data if payload else fields.get("payload_json", "{}"))
            self.files = tuple(uploads.values())
            return
        try:
            self.body = await http.read_json()
        except orjson.JSONDecodeError:
            raise invalid(_="the body is no JSON") from None
