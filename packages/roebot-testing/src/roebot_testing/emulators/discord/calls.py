"""Routes of the API, and a call as its handler sees it: path, query and body, however it came."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from roebot_testing.emulators.api import ApiCall
from roebot_testing.emulators.discord.errors import DiscordRefusal
from roebot_testing.emulators.http import Exchange, Upload
from roebot_testing.emulators.transcript import FrameKind


@dataclass(slots=True)
class DiscordCall(ApiCall):
    """An API call; `path` contains the parameters of the route, which is None for an unknown path."""

    route: DiscordRoute | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    files: tuple[Upload, ...] = ()
    parts: tuple[str, ...] = ()
    """Names of the files' parts, such as "files[0]"."""

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
            raise DiscordRefusal.NO_JSON.error()
        return self.body

    def number(self, name: str) -> int:
        """Return an id of the path."""
        return int(self.path[name])

    async def read(self, http: Exchange) -> None:
        """Read token, query and body. Raises DiscordApiError 400 for a body that cannot be read."""
        self.token = http.headers.get("authorization", "").removeprefix("Bot ")
        self.query = {key: value for key, value in http.query.items() if value}
        is_form = http.content_type.startswith("multipart/form-data")
        try:
            if is_form:
                await self._read_form(http)
            else:
                self.body = await http.read_json()
        except orjson.JSONDecodeError:
            raise (DiscordRefusal.INVALID_FORM if is_form else DiscordRefusal.NO_JSON).error() from None

    async def _read_form(self, http: Exchange) -> None:
        """Read files and `payload_json`, which may be a part with a file name too."""
        fields, uploads = await http.read_multipart()
        payload: str | bytes = fields.get("payload_json", "{}")
        for part, upload in uploads:
            if part == "payload_json":
                payload = upload.data
            else:
                self.files += (upload,)
                self.parts += (part,)
        self.body = orjson.loads(payload)


@dataclass(frozen=True, slots=True)
class DiscordRoute:
    """A method and path; `name` is used by faults and the transcript, `open` routes need no token."""

    name: str
    method: str
    pattern: re.Pattern[str]
    kind: FrameKind = FrameKind.OTHER
    open: bool = False


class Found(NamedTuple):
    """A route and the named parts of its path."""

    route: DiscordRoute | None
    path: dict[str, str]


def _route(
    name: str, method: str, path: str, kind: FrameKind = FrameKind.OTHER, *, free: bool = False
) -> DiscordRoute:
    pattern = re.sub(r"\{(\w+)\}", lambda found: rf"(?P<{found[1]}>{_part(found[1])})", path)
    return DiscordRoute(name, method, re.compile(pattern), kind, free)


def _part(name: str) -> str:
    return (
        r"[^/]+"
        if name in ("token", "emoji")
        else r"@original|\d{1,20}"
        if name == "message"
        else r"\d{1,20}"
    )


_CHANNEL = "/channels/{channel}"
_REACTION = _CHANNEL + "/messages/{message}/reactions/{emoji}/@me"
_WEBHOOK = "/webhooks/{app}/{token}"
ROUTES = (
    _route("getMe", "GET", "/users/@me"),
    _route("getApplication", "GET", "/oauth2/applications/@me"),
    _route("getApplication", "GET", "/applications/@me"),
    _route("getGateway", "GET", "/gateway", free=True),
    _route("getGatewayBot", "GET", "/gateway/bot"),
    _route("createDm", "POST", "/users/@me/channels"),
    _route("getChannel", "GET", _CHANNEL),
    _route("createMessage", "POST", _CHANNEL + "/messages", FrameKind.POST),
    _route("listMessages", "GET", _CHANNEL + "/messages"),
    _route("getMessage", "GET", _CHANNEL + "/messages/{message}"),
    _route("editMessage", "PATCH", _CHANNEL + "/messages/{message}", FrameKind.EDIT),
    _route("deleteMessage", "DELETE", _CHANNEL + "/messages/{message}", FrameKind.DELETE),
    _route("addReaction", "PUT", _REACTION, FrameKind.REACTION),
    _route("removeReaction", "DELETE", _REACTION, FrameKind.REACTION),
    _route("modifyChannel", "PATCH", _CHANNEL),
    _route("startThread", "POST", _CHANNEL + "/messages/{message}/threads"),
    _route("typing", "POST", _CHANNEL + "/typing", FrameKind.TYPING),
    _route("getRoles", "GET", "/guilds/{guild}/roles"),
    _route("getMember", "GET", "/guilds/{guild}/members/{user}"),
    _route("putCommands", "PUT", "/applications/{app}/commands"),
    _route("getCommands", "GET", "/applications/{app}/commands"),
    _route("callback", "POST", "/interactions/{interaction}/{token}/callback", free=True),
    _route("followup", "POST", _WEBHOOK, FrameKind.POST, free=True),
    _route("editAnswer", "PATCH", _WEBHOOK + "/messages/{message}", FrameKind.EDIT, free=True),
    _route("getAnswer", "GET", _WEBHOOK + "/messages/{message}", free=True),
    _route("deleteAnswer", "DELETE", _WEBHOOK + "/messages/{message}", FrameKind.DELETE, free=True),
)


def find(method: str, path: str) -> Found:
    """Return the route of a request."""
    for route in ROUTES:
        if route.method == method and (matched := route.pattern.fullmatch(path)):
            return Found(route, matched.groupdict())
    return Found(None, {})
