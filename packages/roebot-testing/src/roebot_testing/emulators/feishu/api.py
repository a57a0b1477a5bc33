"""The REST API: tokens and limits of its methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from roebot_testing.emulators.api import CallResult, PlatformApi
from roebot_testing.emulators.faults import BEFORE, Fault, FaultKind
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.contacts import Credentials
from roebot_testing.emulators.feishu.errors import FeishuApiError, bad_token, too_many_requests
from roebot_testing.emulators.feishu.fields import check_fields
from roebot_testing.emulators.feishu.routes import (
    PER_CHAT,
    FeishuRoute,
    app_limits,
    chat_of,
    find,
    own_limits,
)
from roebot_testing.emulators.feishu.scopes import check_scopes
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.limits import RateLimits
from roebot_testing.emulators.transcript import FrameKind, Transcript

TOKEN_PATH = "/open-apis/auth/v3/tenant_access_token/internal"  # noqa: S105  a path
_SHOWN = frozenset({FrameKind.REACTION, FrameKind.POST, FrameKind.EDIT})


@dataclass(slots=True, kw_only=True)
class RoutedCall(FeishuCall):
    """A call of a known method."""

    route: FeishuRoute


class FeishuApi(PlatformApi[RoutedCall]):
    """Answers the calls of one app."""

    NOT_FOUND: ClassVar[dict[str, Any]] = {"code": 404, "msg": "404 page not found"}

    def __init__(
        self, world: FeishuWorkspace, credentials: Credentials, limits: RateLimits, transcript: Transcript
    ) -> None:
        super().__init__(limits, transcript, world.monotonic)
        self._world = world
        self._credentials = credentials

    def open(self, http: Exchange) -> RoutedCall | None:
        found = find(http.method, http.path)
        if found is None:
            return None
        route, args = found
        return RoutedCall(route.name, route.kind, args=args, route=route)

    async def read(self, call: RoutedCall, http: Exchange) -> None:
        await call.read(http)
        call.chat = chat_of(self._world, call.route, call)

    def authorize(self, call: RoutedCall) -> None:
        if not self._credentials.knows(call.token):
            raise bad_token()
        check_scopes(self._world.scopes, call.name)

    def limit(self, call: RoutedCall) -> None:
        shown = call.chat if call.kind in _SHOWN else ""
        for limits in (own_limits(call.route, self._world, call), app_limits(call.route)):
            wait = self._limits.take(limits, self._monotonic(), shown)
            if wait > 0:
                raise too_many_requests(wait, limits[0][0].count if limits else PER_CHAT.count)

    async def do(self, call: RoutedCall) -> CallResult:
        check_fields(call.name, call)
        return call.route.call(self._world, call)

    def success(self, call: RoutedCall) -> dict[str, Any]:
        data = call.result.body if call.result else None
        if call.name == "bot.info":
            return {"code": 0, "msg": "ok", "bot": data}
        return {"code": 0, "msg": "success", "data": data}

    def refusal(self, fault: Fault) -> FeishuApiError:
        """Return the error that a fault describes: "<code> <message>", or a plain HTTP status."""
        code, _, msg = fault.description.partition(" ")
        if code.isdecimal():
            return FeishuApiError(fault.status, int(code), msg)
        return FeishuApiError(fault.status, fault.status, fault.description)

    def detail(self, call: RoutedCall, body: dict[str, Any]) -> str:
        return "" if call.result or not body else f"{body['code']} {body['msg']}"

    async def issue_token(self, http: Exchange) -> None:
        """Answer a request for a tenant access token; only `close` and `error` faults strike it."""
        fault = self.faults.strike(BEFORE, "token", "")
        if fault is not None and fault.kind is FaultKind.CLOSE:
            self._transcript.count("token", 0)
            await http.cut()
            return
        status, call = 200, FeishuCall()
        try:
            if fault is not None:
                raise self.refusal(fault)
            await call.read(http)
            body = self._credentials.issue(self._world, call)
        except FeishuApiError as error:
            status, body = error.status, error.body()
        self._transcript.count("token", status)
        await http.answer(status, body)
