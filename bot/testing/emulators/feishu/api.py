"""The REST API over HTTP: tokens, faults and limits around the methods."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bot.testing.emulators.faults import AFTER, BEFORE, Fault, FaultBook, FaultKind
from bot.testing.emulators.feishu.call import FeishuCall, read_call
from bot.testing.emulators.feishu.contacts import Credentials
from bot.testing.emulators.feishu.errors import FeishuApiError, bad_token, refused, too_many_requests
from bot.testing.emulators.feishu.messages import FeishuResult
from bot.testing.emulators.feishu.routes import PER_CHAT, FeishuRoute, app_limits, chat_of, find, own_limits
from bot.testing.emulators.feishu.workspace import FeishuWorkspace
from bot.testing.emulators.http import answer, answer_bytes
from bot.testing.emulators.limits import RateLimits
from bot.testing.emulators.server import Receive, Scope, Send
from bot.testing.emulators.transcript import FrameKind, Transcript

TOKEN_PATH = "/open-apis/auth/v3/tenant_access_token/internal"  # noqa: S105  a path
_SHOWN = frozenset({FrameKind.POST, FrameKind.EDIT})

Abort = Callable[[Scope, Receive], Awaitable[None]]


class FeishuApi:
    """Answers the calls of one app."""

    def __init__(
        self, world: FeishuWorkspace, credentials: Credentials, limits: RateLimits, transcript: Transcript
    ) -> None:
        self.faults = FaultBook()
        self._world = world
        self._credentials = credentials
        self._limits = limits
        self._transcript = transcript

    async def call(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle one request below /open-apis/."""
        if scope["path"] == TOKEN_PATH:
            await self._token(scope, receive, send, abort)
            return
        found = find(scope["method"], scope["path"])
        if found is None:
            await answer(send, 404, {"code": 404, "msg": "404 page not found"})
            return
        route, args = found
        call, chat, done = FeishuCall(args), "", None
        before = after = None
        headers: dict[str, str] = {}
        try:
            call = await read_call(scope, receive, args)
            chat = chat_of(self._world, route, call)
            self._authorize(scope, route)
            before = self.faults.strike(BEFORE, route.name, chat)
            if before is not None and before.kind is FaultKind.ERROR:
                raise _ordered(before)
            if before is None:
                self._limit(route, call, chat)
                done = route.call(self._world, call)
                after = self.faults.strike(AFTER, route.name, chat)
            status, body = 200, _success(route, done)
        except FeishuApiError as error:
            status, body, headers = error.status, error.body(), error.headers
        cut = (before is not None and before.kind is FaultKind.CLOSE) or _drops(after)
        self._record(route, call, chat, done, 0 if cut else status, body)
        if after is not None and after.kind is FaultKind.SLOW:
            await asyncio.sleep(after.seconds)
        if cut:
            await abort(scope, receive)
        elif done is not None and done.raw is not None:
            await answer_bytes(send, 200, done.raw, b"application/octet-stream")
        else:
            await answer(send, status, body, tuple((k.encode(), v.encode()) for k, v in headers.items()))

    async def _token(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        fault = self.faults.strike(BEFORE, "token", "")
        if fault is not None and fault.kind is FaultKind.CLOSE:
            self._transcript.count("token", 0)
            await abort(scope, receive)
            return
        try:
            if fault is not None:
                raise _ordered(fault)
            status: int = 200
            body: dict[str, Any] = self._credentials.issue(self._world, await read_call(scope, receive, ()))
        except FeishuApiError as error:
            status, body = error.status, error.body()
        self._transcript.count("token", status)
        await answer(send, status, body)

    def _authorize(self, scope: Scope, route: FeishuRoute) -> None:
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        kind, _, token = given.decode().partition(" ")
        if kind.lower() != "bearer" or not self._credentials.knows(token):
            raise bad_token()
        if route.name in self._credentials.scopes_missing:
            raise refused(
                99991672, "Access denied. One of the following scopes is required: [emulated:scope]"
            )

    def _limit(self, route: FeishuRoute, call: FeishuCall, chat: str) -> None:
        shown = chat if route.kind in _SHOWN else ""
        for limits in (own_limits(route, self._world, call), app_limits(route)):
            wait = self._limits.take(limits, self._world.monotonic(), shown)
            if wait > 0:
                raise too_many_requests(wait, limits[0][0].count if limits else PER_CHAT.count)

    def _record(
        self,
        route: FeishuRoute,
        call: FeishuCall,
        chat: str,
        done: FeishuResult | None,
        status: int,
        body: dict[str, Any],
    ) -> None:
        self._transcript.count(route.name, status)
        self._transcript.add(
            route.kind,
            route.name,
            chat=(done.chat if done else "") or chat,
            message_id=(done.message_id if done else "") or (call.args[0] if call.args else ""),
            text=done.text if done else str(call.body.get("content", "")),
            status=status,
            committed=done is not None and done.committed,
            detail="" if done else f"{body['code']} {body['msg']}",
        )


def _success(route: FeishuRoute, done: FeishuResult | None) -> dict[str, Any]:
    data = done.data if done is not None else None
    if route.name == "bot.info":
        return {"code": 0, "msg": "ok", "bot": data}
    return {"code": 0, "msg": "success", "data": data}


def _ordered(fault: Fault) -> FeishuApiError:
    """The refusal that a fault describes: "<code> <message>", or a plain HTTP status."""
    code, _, msg = fault.description.partition(" ")
    if code.isdecimal():
        return FeishuApiError(fault.status, int(code), msg)
    return FeishuApiError(fault.status, fault.status, fault.description)


def _drops(fault: Fault | None) -> bool:
    return fault is not None and fault.kind is FaultKind.DROP
