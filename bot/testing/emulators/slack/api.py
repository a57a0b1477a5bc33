"""The Web API over HTTP: tokens, faults and limits around the methods; uploads, downloads, response URLs."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from bot.testing.emulators.faults import AFTER, BEFORE, Fault, FaultBook, FaultKind
from bot.testing.emulators.http import answer, answer_bytes, read_body
from bot.testing.emulators.limits import CallLimit, RateLimits
from bot.testing.emulators.server import Receive, Scope, Send
from bot.testing.emulators.slack.calls import SlackCall, SlackMethod, SlackResult, read_call
from bot.testing.emulators.slack.errors import SlackApiError, rate_limited
from bot.testing.emulators.slack.methods import METHODS
from bot.testing.emulators.slack.workspace import STREAM_SECONDS, SlackWorkspace
from bot.testing.emulators.transcript import FrameKind, Transcript

PREFIX = "/api/"
CONNECTIONS_OPEN = "apps.connections.open"
POST_LIMIT = CallLimit("chat.postMessage", 1, 1.0)
"""One post a second in a channel (docs.slack.dev/apis/web-api/rate-limits)."""
STATUS_LIMIT = CallLimit("assistant.threads.setStatus", 1, 1.0)
"""Of a similar tier as chat.postMessage (slackapi/java-slack-sdk, MethodsRateLimitTier)."""
CONNECT_LIMIT = CallLimit(CONNECTIONS_OPEN, 20, 60.0)
"""Tier 1 is "one a minute and some burst"; how much is not published."""
_LOGIN_PAGE = b"<!DOCTYPE html><html><title>Sign in</title></html>"

Abort = Callable[[Scope, Receive], Awaitable[None]]
Announce = Callable[..., None]


class WebApi:
    """Answers the calls of one app."""

    def __init__(
        self,
        world: SlackWorkspace,
        limits: RateLimits,
        transcript: Transcript,
        *,
        bot_token: str,
        app_token: str,
        origin: Callable[[], str],
        announce: Announce,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.faults = FaultBook()
        self.bot_token = bot_token
        self.app_token = app_token
        self.revoked = False
        self.tickets = 0
        self._world = world
        self._limits = limits
        self._transcript = transcript
        self._origin = origin
        self._announce = announce
        self._monotonic = monotonic

    @property
    def lifetime(self) -> float:
        """Seconds that a stream stays open."""
        return STREAM_SECONDS * self._limits.scale

    async def call(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle `/api/<method>`."""
        name = scope["path"].removeprefix(PREFIX)
        values: dict[str, Any] = {}
        done: SlackResult | None = None
        before = after = None
        headers: tuple[tuple[bytes, bytes], ...] = ()
        try:
            values, token = await read_call(scope, receive)
            channel = _channel(values)
            before = self.faults.strike(BEFORE, name, channel)
            self._authorize(name, token)
            if before is not None and before.kind is FaultKind.ERROR:
                raise SlackApiError(before.description, before.status)
            if before is None:
                done = self._do(name, values)
                after = self.faults.strike(AFTER, name, channel)
            status, body = 200, {"ok": True, **(done.body if done else {})}
            headers = ((b"x-oauth-scopes", self._world.scopes.encode()),)
        except SlackApiError as error:
            status, body, headers = error.status, error.body(), error.headers()
        cut = _is(before, FaultKind.CLOSE) or _is(after, FaultKind.DROP)
        self._record(name, values, done, 0 if cut else status, body)
        if after is not None and after.kind is FaultKind.SLOW:
            await asyncio.sleep(after.seconds)
        await (abort(scope, receive) if cut else answer(send, status, body, headers))

    async def upload(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle the POST of a file's bytes."""
        file = self._world.files.get(scope["path"].rpartition("/")[2])
        data = await read_body(receive)
        fault = self.faults.strike(BEFORE | AFTER, "upload", "")
        self._transcript.count("upload", 404 if file is None else 200)
        if fault is not None and fault.kind in (FaultKind.CLOSE, FaultKind.DROP):
            await abort(scope, receive)
        elif file is None or fault is not None:
            await answer(send, 404 if file is None else fault.status if fault else 500, {"ok": False})
        else:
            file.data = data
            await answer_bytes(send, 200, b"OK - %d" % len(data), b"text/plain")

    async def download(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle the GET of a private file: without the right token comes a sign-in page, with status 200."""
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        file = self._world.files.get(scope["path"].split("/")[2])
        fault = self.faults.strike(BEFORE | AFTER, "download", "")
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if fault is not None and fault.kind is not FaultKind.ERROR:
            self._transcript.count("download", 0)
            await abort(scope, receive)
            return
        status = fault.status if fault else 404 if file is None else 200
        self._transcript.count("download", status)
        if file is None or fault is not None:
            await answer(send, status, {"ok": False, "error": "file_not_found"})
        elif self.revoked or not hmac.compare_digest(token, self.bot_token):
            await answer_bytes(send, 200, _LOGIN_PAGE, b"text/html; charset=utf-8")
        else:
            await answer_bytes(send, 200, file.data, file.mime.encode())

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a response URL: `/respond/<channel>/<user>/<serial>`, five uses."""
        _, _, channel_id, user, serial = scope["path"].split("/")
        body = orjson.loads(await read_body(receive) or b"{}")
        uses = CallLimit("respond", 5, 1800.0)
        if self._limits.take([(uses, serial)], self._monotonic()) > 0:
            await answer(send, 404, {"ok": False, "error": "used_url"})
            return
        channel = self._world.known(channel_id)
        blocks = body.get("blocks") or []
        markdown = next((block["text"] for block in blocks if block.get("type") == "markdown"), "")
        message = self._world.add(
            channel,
            self._world.bot,
            markdown or str(body.get("text", "")),
            visible_to="" if body.get("response_type") == "in_channel" else user,
        )
        self._transcript.count("respond", 200)
        self._transcript.add(
            FrameKind.POST, "respond", chat=channel.id, message_id=message.ts, text=message.text, status=200
        )
        await answer(send, 200, {"ok": True})

    def _authorize(self, name: str, token: str) -> None:
        wanted = self.app_token if name == CONNECTIONS_OPEN else self.bot_token
        if not token:
            raise SlackApiError("not_authed")
        if self.revoked:
            raise SlackApiError("token_revoked")
        if not hmac.compare_digest(token.encode(), wanted.encode()):
            raise SlackApiError("not_allowed_token_type" if token[:5] != wanted[:5] else "invalid_auth")

    def _do(self, name: str, values: dict[str, Any]) -> SlackResult:
        now = self._monotonic()
        if name == CONNECTIONS_OPEN:
            self._take([(CONNECT_LIMIT, "")], now)
            self.tickets += 1
            address = self._origin().replace("http://", "ws://")
            return SlackResult({"url": f"{address}/link/?ticket={self.tickets}"})
        method = METHODS.get(name)
        if method is None:
            raise SlackApiError("unknown_method")
        self._limit(name, method, values, now)
        call = SlackCall(self._world, values, now, self.lifetime, self._origin(), self._announce)
        return method.call(call)

    def _limit(self, name: str, method: SlackMethod, values: dict[str, Any], now: float) -> None:
        wanted: list[tuple[CallLimit, str]] = []
        if method.per_minute:
            wanted.append((CallLimit(name, method.per_minute, 60.0), ""))
        if name == "chat.postMessage":
            wanted.append((POST_LIMIT, _channel(values)))
        elif name == "assistant.threads.setStatus":
            wanted.append((STATUS_LIMIT, _channel(values)))
        self._take(wanted, now, _channel(values) if method.kind is not FrameKind.OTHER else "")

    def _take(self, wanted: list[tuple[CallLimit, str]], now: float, penalty: str = "") -> None:
        wait = self._limits.take(wanted, now, penalty)
        if wait > 0:
            raise rate_limited(wait)

    def _record(
        self, name: str, values: dict[str, Any], done: SlackResult | None, status: int, body: dict[str, Any]
    ) -> None:
        counted = status if status != 200 or body["ok"] else 400
        self._transcript.count(name, counted)
        method = METHODS.get(name)
        self._transcript.add(
            method.kind if method else FrameKind.OTHER,
            name,
            chat=(done.channel if done else "") or _channel(values),
            message_id=(done.ts if done else "") or str(values.get("ts") or ""),
            text=done.text if done else str(values.get("markdown_text") or values.get("text") or ""),
            status=counted,
            committed=done is not None,
            detail=str(body.get("error", "")),
        )


def _channel(values: dict[str, Any]) -> str:
    return str(values.get("channel") or values.get("channel_id") or "")


def _is(fault: Fault | None, kind: FaultKind) -> bool:
    return fault is not None and fault.kind is kind
