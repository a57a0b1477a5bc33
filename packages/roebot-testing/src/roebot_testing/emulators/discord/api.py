"""Discord's REST API v10: token and limits of its handlers, and attachments."""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

from roebot_testing.emulators.api import CallResult, PlatformApi
from roebot_testing.emulators.discord.calls import DiscordCall, find
from roebot_testing.emulators.discord.errors import DiscordApiError, DiscordRefusal, TooMany
from roebot_testing.emulators.discord.limits import DiscordLimits
from roebot_testing.emulators.discord.workspace import DiscordWorkspace
from roebot_testing.emulators.faults import AFTER, BEFORE, Fault, FaultKind
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.transcript import FrameKind, Transcript

PREFIX = "/api/v10"
CDN = "/attachments/"
_FILE = re.compile(r"(/attachments/\d+/\d+)/[^/]+")

MethodHandler = Callable[[DiscordCall], CallResult]


class RestApi(PlatformApi[DiscordCall]):
    """Answers the calls of one bot; `handlers` are the methods by the names of their routes."""

    FAULTS_FIRST: ClassVar[bool] = True
    NOT_FOUND: ClassVar[dict[str, Any]] = {"message": "404: Not Found", "code": 0}

    def __init__(
        self,
        world: DiscordWorkspace,
        handlers: dict[str, MethodHandler],
        limits: DiscordLimits,
        transcript: Transcript,
        *,
        token: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(limits, transcript, monotonic)
        self.token = token
        self.invalid = 0
        self._world = world
        self._handlers = handlers

    def knows(self, token: str) -> bool:
        """Return whether a token is the bot's and was not reset."""
        return not self.revoked and hmac.compare_digest(token.encode(), self.token.encode())

    def open(self, http: Exchange) -> DiscordCall:
        route, path = find(http.method, http.path.removeprefix(PREFIX))
        name = route.name if route else f"{http.method} {http.path}"
        interaction = self._world.interactions.get(path.get("token", ""))
        chat = str(interaction.channel.id) if interaction else path.get("channel", "")
        return DiscordCall(name, route.kind if route else FrameKind.OTHER, chat, route=route, path=path)

    def authorize(self, call: DiscordCall) -> None:
        if call.route is None:
            raise DiscordRefusal.NOT_FOUND.error()
        if not call.route.open and not self.knows(call.token):
            raise DiscordRefusal.UNAUTHORIZED.error()

    def limit(self, call: DiscordCall) -> None:
        try:
            call.headers = self._limits.take(
                call.name, call.path.get("token") or call.chat, self._monotonic()
            )
        except TooMany as refusal:
            refusal.headers = self._limits.refused(call.name, refusal)
            raise

    async def do(self, call: DiscordCall) -> CallResult:
        return self._handlers[call.name](call)

    def success(self, call: DiscordCall) -> Any:
        return call.result.body if call.result else None

    def refusal(self, fault: Fault) -> DiscordApiError:
        return DiscordApiError(fault.status, 0, fault.description)

    def detail(self, call: DiscordCall, body: Any) -> str:
        return str(body.get("message", "")) if call.result is None and isinstance(body, dict) else ""

    def record(self, call: DiscordCall, status: int, body: Any) -> None:
        """Record the call; Discord counts the invalid ones (401, 403, 429) for a ban."""
        self.invalid += status in (401, 403, 429)
        super().record(call, status, body)

    async def download(self, http: Exchange) -> None:
        """Handle an attachment's address; its query must have a signature."""
        matched = _FILE.fullmatch(http.path)
        file = self._world.files.get(matched[1]) if matched else None
        fault = self.faults.strike(BEFORE | AFTER, "download", "")
        if fault is not None and fault.kind is not FaultKind.ERROR:
            self._transcript.count("download", 0)
            await http.cut()
            return
        status = fault.status if fault else 404 if file is None else 200 if "hm" in http.query else 403
        self._transcript.count("download", status)
        if status != 200 or file is None:
            await http.answer_bytes(status, b"This content is no longer available.", b"text/plain")
            return
        await http.answer_bytes(200, file.data, file.mime.encode() or b"application/octet-stream")
