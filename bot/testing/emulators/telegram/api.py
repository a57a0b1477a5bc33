"""The Bot API over HTTP: tokens, faults and limits around the methods."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bot.testing.emulators.faults import AFTER, BEFORE, Fault, FaultBook, FaultKind
from bot.testing.emulators.http import answer, answer_bytes
from bot.testing.emulators.limits import CallLimit, RateLimits
from bot.testing.emulators.server import Receive, Scope, Send
from bot.testing.emulators.telegram.errors import (
    NOT_FOUND,
    UNAUTHORIZED,
    WEBHOOK_ACTIVE,
    TelegramApiError,
    bad_request,
    too_many_requests,
)
from bot.testing.emulators.telegram.methods import METHODS, TelegramMethod, TelegramResult
from bot.testing.emulators.telegram.params import Params, read_params
from bot.testing.emulators.telegram.pusher import Pusher
from bot.testing.emulators.telegram.updates import PollCut, TelegramUpdates
from bot.testing.emulators.telegram.workspace import TelegramWorkspace
from bot.testing.emulators.transcript import FrameKind, Transcript

_CALL = re.compile(r"/bot(\d+:[\w-]{10,})/(\w+)")
_FILE = re.compile(r"/file/bot(\d+:[\w-]{10,})/(.+)")
PER_CHAT = CallLimit("chat", 1, 1.0)
PER_GROUP = CallLimit("group", 20, 60.0)
OVERALL = CallLimit("overall", 30, 1.0)
LONGEST_POLL = 50

Abort = Callable[[Scope, Receive], Awaitable[None]]


class BotApi:
    """Answers the calls of one bot."""

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
        self.faults = FaultBook()
        self.token = token
        self.revoked = False
        self.rich = rich
        self.pusher = Pusher(queue)
        self._world = world
        self._queue = queue
        self._limits = limits
        self._transcript = transcript
        self._monotonic = monotonic

    async def call(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle `/bot<token>/<method>`."""
        matched = _CALL.fullmatch(scope["path"])
        name = matched[2] if matched else ""
        method = METHODS.get(name.lower())
        chat, done, params = "", None, Params({})
        before = after = None
        cut = False
        try:
            params = await read_params(scope, receive)
            chat = str(params.chat_id() or "")
            self._authorize(matched[1] if matched else "")
            shown = method.name if method else name
            before = self.faults.strike(BEFORE, shown, chat)
            if before is not None and before.kind is FaultKind.ERROR:
                raise TelegramApiError(before.status, before.description)
            if before is None:
                done = await self._do(name, method, params, receive)
                after = self.faults.strike(AFTER, shown, chat)
            status, body = 200, {"ok": True, "result": done.result if done else None}
        except TelegramApiError as error:
            status, body = error.status, error.body()
        except PollCut:
            status, body, cut = 0, {}, True
        cut = cut or (before is not None and before.kind is FaultKind.CLOSE) or _drops(after)
        self._record(name, method, params, chat, done, 0 if cut else status, body)
        if after is not None and after.kind is FaultKind.SLOW:
            await asyncio.sleep(after.seconds)
        await (abort(scope, receive) if cut else answer(send, status, body))

    async def download(self, scope: Scope, receive: Receive, send: Send, abort: Abort) -> None:
        """Handle `/file/bot<token>/<path>`."""
        matched = _FILE.fullmatch(scope["path"])
        file = self._world.files_by_path.get(matched[2]) if matched else None
        try:
            self._authorize(matched[1] if matched else "")
            if file is None:
                raise TelegramApiError(*NOT_FOUND)
            fault = self.faults.strike(BEFORE | AFTER, "download", "")
            if fault is not None and fault.kind is FaultKind.ERROR:
                raise TelegramApiError(fault.status, fault.description)
        except TelegramApiError as error:
            self._transcript.count("download", error.status)
            await answer(send, error.status, error.body())
            return
        self._transcript.count("download", 0 if fault else 200)
        if fault is not None:
            await abort(scope, receive)
            return
        await answer_bytes(send, 200, file.data, b"application/octet-stream")

    def _authorize(self, token: str) -> None:
        if not token:
            raise TelegramApiError(*NOT_FOUND)
        if self.revoked or not hmac.compare_digest(token, self.token):
            raise TelegramApiError(*UNAUTHORIZED)

    async def _do(
        self, name: str, method: TelegramMethod | None, params: Params, receive: Receive
    ) -> TelegramResult:
        special = _SPECIAL.get(name.lower())
        if special is not None:
            return await special(self, params, receive)
        if method is None or (method.rich and not self.rich):
            raise TelegramApiError(*NOT_FOUND)
        if "rich_message" in params.values and not self.rich:
            raise bad_request("message text is empty")
        if method.limited:
            self._limit(params.chat_id())
        return method.call(self._world, params)

    def _limit(self, chat_id: Any) -> None:
        chat = self._world.chats.get(chat_id) if isinstance(chat_id, int) else None
        if chat is None:
            return
        key = str(chat.id)
        wanted = [(PER_CHAT, key), (OVERALL, "")]
        if chat.id < 0:
            wanted.append((PER_GROUP, key))
        wait = self._limits.take(wanted, self._monotonic(), key)
        if wait > 0:
            raise too_many_requests(wait)

    def _record(
        self,
        name: str,
        method: TelegramMethod | None,
        params: Params,
        chat: str,
        done: TelegramResult | None,
        status: int,
        body: dict[str, Any],
    ) -> None:
        shown = method.name if method else _NAMES.get(name.lower(), name)
        self._transcript.count(shown, status)
        if shown == "getUpdates":
            return
        self._transcript.add(
            method.kind if method and status != 404 else FrameKind.OTHER,
            shown,
            chat=chat,
            message_id=(done.message_id if done else "") or params.text("message_id"),
            text=done.text if done else _tried(params),
            status=status,
            committed=done is not None,
            detail=str(body.get("description", "")),
        )

    async def _get_updates(self, params: Params, receive: Receive) -> TelegramResult:
        if self.pusher.url:
            raise TelegramApiError(409, WEBHOOK_ACTIVE)
        self._queue.allow(params.object("allowed_updates"))
        limit = min(max(params.number("limit", 100), 1), 100)
        timeout = min(max(params.number("timeout"), 0), LONGEST_POLL)
        gone = asyncio.ensure_future(receive())
        try:
            return TelegramResult(await self._queue.poll(params.number("offset"), limit, timeout, gone))
        finally:
            gone.cancel()

    async def _set_webhook(self, params: Params, receive: Receive) -> TelegramResult:
        self._queue.allow(params.object("allowed_updates"))
        await self.pusher.register(params.text("url"), params.text("secret_token"))
        return TelegramResult(True)

    async def _delete_webhook(self, params: Params, receive: Receive) -> TelegramResult:
        await self.pusher.close()
        if params.flag("drop_pending_updates"):
            self._queue.confirm(2**62)
        return TelegramResult(True)

    async def _get_webhook_info(self, params: Params, receive: Receive) -> TelegramResult:
        found: dict[str, Any] = {
            "url": self.pusher.url,
            "has_custom_certificate": False,
            "pending_update_count": self._queue.pending,
        }
        if self.pusher.last_error is not None:
            found["last_error_date"], found["last_error_message"] = self.pusher.last_error
        return TelegramResult(found)


_SPECIAL: dict[str, Callable[[BotApi, Params, Receive], Awaitable[TelegramResult]]] = {
    "getupdates": BotApi._get_updates,
    "setwebhook": BotApi._set_webhook,
    "deletewebhook": BotApi._delete_webhook,
    "getwebhookinfo": BotApi._get_webhook_info,
}
_NAMES = {name.lower(): name for name in ("getUpdates", "setWebhook", "deleteWebhook", "getWebhookInfo")}


def _drops(fault: Fault | None) -> bool:
    return fault is not None and fault.kind is FaultKind.DROP


def _tried(params: Params) -> str:
    return params.text("text") or params.text("caption") or params.text("rich_message")
