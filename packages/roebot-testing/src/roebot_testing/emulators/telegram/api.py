"""The Bot API: tokens and limits of its methods, downloads, polls and webhooks."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from roebot_testing.emulators.api import ApiCall, CallResult, PlatformApi
from roebot_testing.emulators.faults import AFTER, BEFORE, Fault, FaultKind
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.limits import CallLimit, RateLimits
from roebot_testing.emulators.server import Receive
from roebot_testing.emulators.telegram import rules
from roebot_testing.emulators.telegram.errors import (
    NOT_FOUND,
    UNAUTHORIZED,
    TelegramApiError,
    bad_request,
    too_many_requests,
)
from roebot_testing.emulators.telegram.limit_table import LIMITS
from roebot_testing.emulators.telegram.limits import check_limits
from roebot_testing.emulators.telegram.methods import METHODS, TelegramMethod
from roebot_testing.emulators.telegram.params import Params, read_params
from roebot_testing.emulators.telegram.updates import Pusher, TelegramUpdates
from roebot_testing.emulators.telegram.workspace import TelegramWorkspace
from roebot_testing.emulators.transcript import FrameKind, Transcript

_CALL = re.compile(r"/bot(\d+:[\w-]{10,})/(\w+)")
_FILE = re.compile(r"/file/bot(\d+:[\w-]{10,})/(.+)")
PER_CHAT = CallLimit("chat", 1, 1.0, burst=3)
PER_GROUP = CallLimit("group", 20, 60.0)
OVERALL = CallLimit("overall", 30, 1.0)
LONGEST_POLL = 50


@dataclass(slots=True, kw_only=True)
class TelegramCall(ApiCall):
    """One call; `method` is None for getUpdates, the webhook methods and unknown ones."""

    method: TelegramMethod | None
    receive: Receive
    params: Params = field(default_factory=lambda: Params({}))

    @property
    def target(self) -> str:
        return self.params.text("message_id")

    @property
    def content(self) -> str:
        return self.params.text("text") or self.params.text("caption") or self.params.text("rich_message")

    async def read(self, http: Exchange) -> None:
        """Read the parameters. Raises TelegramApiError 400 if they cannot be read."""
        self.params = await read_params(http)
        self.chat = str(self.params.chat_id() or "")


class BotApi(PlatformApi[TelegramCall]):
    """Answers the calls of one bot."""

    NOT_FOUND: ClassVar[dict[str, Any]] = {"ok": False, "error_code": 404, "description": "Not Found"}

    def __init__(
        self,
        world: TelegramWorkspace,
        queue: TelegramUpdates,
        limits: RateLimits,
        transcript: Transcript,
        *,
        token: str,
        rich: bool,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(limits, transcript, monotonic)
        self.token = token
        self.rich = rich
        self.pusher = Pusher(queue)
        self._world = world
        self._queue = queue

    def open(self, http: Exchange) -> TelegramCall:
        matched = _CALL.fullmatch(http.path)
        token, name = (matched[1], matched[2]) if matched else ("", "")
        method = METHODS.get(name.lower())
        return TelegramCall(
            name=method.name if method else _NAMES.get(name.lower(), name),
            kind=method.kind if method else FrameKind.OTHER,
            token=token,
            method=method,
            receive=http.receive,
        )

    def authorize(self, call: TelegramCall) -> None:
        self._check_token(call.token)

    def limit(self, call: TelegramCall) -> None:
        if call.name in _SPECIAL:
            return
        if call.method is None or (call.method.rich and not self.rich):
            raise rules.UNKNOWN_METHOD.refusal()
        if "rich_message" in call.params.values and not self.rich:
            raise bad_request("message text is empty")
        if call.method.limited:
            self._count(call.params.chat_id())

    async def do(self, call: TelegramCall) -> CallResult:
        check_limits(LIMITS, call.name, call.params)
        if call.method is None:
            return await _SPECIAL[call.name](self, call.params, call.receive)
        return call.method.call(self._world, call.params)

    def success(self, call: TelegramCall) -> dict[str, Any]:
        return {"ok": True, "result": call.result.body if call.result else None}

    def refusal(self, fault: Fault) -> TelegramApiError:
        return TelegramApiError(fault.status, fault.description)

    def detail(self, call: TelegramCall, body: dict[str, Any]) -> str:
        return str(body.get("description", ""))

    def record(self, call: TelegramCall, status: int, body: dict[str, Any]) -> None:
        """Record the call; polls are counted but get no frame."""
        if call.name == "getUpdates":
            self._transcript.count(call.name, status)
            return
        if status == 404:
            call.kind = FrameKind.OTHER
        super().record(call, status, body)

    async def download(self, http: Exchange) -> None:
        """Handle `/file/bot<token>/<path>`."""
        matched = _FILE.fullmatch(http.path)
        file = self._world.files_by_path.get(matched[2]) if matched else None
        try:
            self._check_token(matched[1] if matched else "")
            if file is None:
                raise TelegramApiError(*NOT_FOUND)
            fault = self.faults.strike(BEFORE | AFTER, "download", "")
            if fault is not None and fault.kind is FaultKind.ERROR:
                raise self.refusal(fault)
        except TelegramApiError as error:
            self._transcript.count("download", error.status)
            await http.answer(error.status, error.body())
            return
        self._transcript.count("download", 0 if fault else 200)
        await (http.cut() if fault else http.answer_bytes(200, file.data, b"application/octet-stream"))

    def _check_token(self, token: str) -> None:
        if not token:
            raise TelegramApiError(*NOT_FOUND)
        if self.revoked or not hmac.compare_digest(token, self.token):
            raise TelegramApiError(*UNAUTHORIZED)

    def _count(self, chat_id: Any) -> None:
        chat = self._world.chats.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None:
            return
        key = str(chat.id)
        limits = [(PER_CHAT, key), (OVERALL, "")]
        if chat.id < 0:
            limits.append((PER_GROUP, key))
        wait = self._limits.take(limits, self._monotonic(), key)
        if wait > 0:
            raise too_many_requests(wait)

    async def _get_updates(self, params: Params, receive: Receive) -> CallResult:
        if self.pusher.url:
            raise rules.WEBHOOK_ACTIVE.refusal()
        self._queue.allow(params.object("allowed_updates"))
        limit = min(max(params.number("limit", 100), 1), 100)
        timeout = min(max(params.number("timeout"), 0), LONGEST_POLL)
        gone = asyncio.ensure_future(receive())
        try:
            return CallResult(await self._queue.poll(params.number("offset"), limit, timeout, gone))
        finally:
            gone.cancel()

    async def _set_webhook(self, params: Params, receive: Receive) -> CallResult:
        self._queue.allow(params.object("allowed_updates"))
        if params.text("url"):
            self._queue.end_poll()
        await self.pusher.register(params.text("url"), params.text("secret_token"))
        return CallResult(True)

    async def _delete_webhook(self, params: Params, receive: Receive) -> CallResult:
        await self.pusher.close()
        if params.flag("drop_pending_updates"):
            self._queue.confirm(2**62)
        return CallResult(True)

    async def _get_webhook_info(self, params: Params, receive: Receive) -> CallResult:
        found: dict[str, Any] = {
            "url": self.pusher.url,
            "has_custom_certificate": False,
            "pending_update_count": self._queue.pending,
        }
        if self.pusher.last_error is not None:
            found["last_error_date"], found["last_error_message"] = self.pusher.last_error
        return CallResult(found)


_SPECIAL: dict[str, Callable[[BotApi, Params, Receive], Awaitable[CallResult]]] = {
    "getUpdates": BotApi._get_updates,
    "setWebhook": BotApi._set_webhook,
    "deleteWebhook": BotApi._delete_webhook,
    "getWebhookInfo": BotApi._get_webhook_info,
}
_NAMES = {name.lower(): name for name in _SPECIAL}
