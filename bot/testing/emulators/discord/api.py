"""Discord's REST API v10 over HTTP: token, faults, limits and transcript around the handlers."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bot.testing.emulators.discord.calls import DiscordCall, DiscordResult, read_call
from bot.testing.emulators.discord.errors import DiscordApiError, TooMany, not_found, unauthorized
from bot.testing.emulators.discord.limits import DiscordLimits, Headers
from bot.testing.emulators.discord.routes import DiscordRoute, find
from bot.testing.emulators.discord.workspace import DiscordWorkspace
from bot.testing.emulators.faults import AFTER, BEFORE, Fault, FaultBook, FaultKind
from bot.testing.emulators.http import answer, answer_bytes
from bot.testing.emulators.server import Receive, Scope, Send
from bot.testing.emulators.transcript import FrameKind, Transcript

PREFIX = "/api/v10"
CDN = "/attachments/"
_FILE = re.compile(r"(/attachments/\d+/\d+)/[^/]+")

Abort = Callable[[Scope, Receive], Awaitable[None]]
Handler = Callable[[DiscordCall], DiscordResult]


class RestApi:
    """Answers the calls of one bot; `handlers` holds what each route's name does."""

    def __init__(
        self,
        world: DiscordWorkspace,
        handlers: dict[str, Handler],
        limits: DiscordLimits,
        transcript: Transcript,
        *,
        token: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.faults = FaultBook()
        self.token = token
        self.revoked = False
        self.invalid = 0
        self._world = world
        self._handlers = handlers
        self._limits = limits
        self._transcript = transcript
        self._monotonic = monotonic

    async def call(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle one request below `PREFIX`."""
        route, path = find(scope["method"], scope["path"].removeprefix(PREFIX))
        name = route.name if route else f"{scope['method']} {scope['path']}"
        chat, done, call = self._chat(path), None, DiscordCall(path)
        headers: Headers = ()
        before = after = None
        try:
            call = await read_call(path, scope, receive)
            before = self.faults.strike(BEFORE, name, chat)
            if before is not None and before.kind is FaultKind.ERROR:
                raise DiscordApiError(before.status, 0, before.description)
            if before is None:
                headers = self._admit(scope, route, chat, path)
                done = self._handlers[name](call)
                after = self.faults.strike(AFTER, name, chat)
            status, body = 204 if done is None or done.result is None else 200, done.result if done else None
        except DiscordApiError as error:
            status, body = error.status, error.body()
            if isinstance(error, TooMany):
                headers = self._limits.refused(name, error)
        cut = (before is not None and before.kind is FaultKind.CLOSE) or _drops(after)
        self._record(route, name, call, chat, done, 0 if cut else status, body)
        if after is not None and after.kind is FaultKind.SLOW:
            await asyncio.sleep(after.seconds)
        await (abort(scope, receive) if cut else _reply(send, status, body, headers))

    async def download(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle an attachment's address; the signature in its query has to be there."""
        matched = _FILE.fullmatch(scope["path"])
        file = self._world.files.get(matched[1]) if matched else None
        fault = self.faults.strike(BEFORE | AFTER, "download", "")
        if fault is not None and fault.kind is not FaultKind.ERROR:
            self._transcript.count("download", 0)
            await abort(scope, receive)
            return
        signed = b"hm=" in scope["query_string"]
        status = fault.status if fault else 404 if file is None else 200 if signed else 403
        self._transcript.count("download", status)
        if status != 200 or file is None:
            await answer_bytes(send, status, b"This content is no longer available.", b"text/plain")
            return
        await answer_bytes(send, 200, file.data, file.mime.encode() or b"application/octet-stream")

    def _admit(self, scope: Scope, route: DiscordRoute | None, chat: str, path: dict[str, str]) -> Headers:
        """Token and limits; the headers of the answer."""
        given = dict(scope["headers"]).get(b"authorization", b"").decode()
        if route is None:
            raise not_found()
        if not route.open and not self.knows(given.removeprefix("Bot ")):
            raise unauthorized()
        return self._limits.take(route.name, path.get("token") or chat, self._monotonic())

    def knows(self, token: str) -> bool:
        """Whether a token is the bot's, and was not reset."""
        return not self.revoked and hmac.compare_digest(token.encode(), self.token.encode())

    def _chat(self, path: dict[str, str]) -> str:
        interaction = self._world.interactions.get(path.get("token", ""))
        return str(interaction.channel.id) if interaction else path.get("channel", "")

    def _record(
        self,
        route: DiscordRoute | None,
        name: str,
        call: DiscordCall,
        chat: str,
        done: DiscordResult | None,
        status: int,
        body: Any,
    ) -> None:
        self.invalid += status in (401, 403, 429)
        self._transcript.count(name, status)
        refused = done is None and isinstance(body, dict)
        self._transcript.add(
            route.kind if route else FrameKind.OTHER,
            name,
            chat=chat,
            message_id=(done.message_id if done else "") or call.path.get("message", ""),
            text=done.text if done else _tried(call),
            status=status,
            committed=done is not None,
            detail=str(body.get("message", "")) if refused else "",
        )


def _drops(fault: Fault | None) -> bool:
    return fault is not None and fault.kind is FaultKind.DROP


def _tried(call: DiscordCall) -> str:
    return str(call.body.get("content", "")) if isinstance(call.body, dict) else ""


async def _reply(send: Send, status: int, body: Any, headers: Headers) -> None:
    if body is None:
        await answer_bytes(send, status, b"", b"text/html; charset=utf-8", headers)
    else:
        await answer(send, status, body, headers)
