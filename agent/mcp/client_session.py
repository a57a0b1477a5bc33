"""A session of the mcp package that continues while a person is asked, and forwards server notifications.

An abandoned call is canceled on the server, so that it can stop its work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio
import structlog
from mcp import ClientSession
from mcp import types as protocol
from mcp.shared.exceptions import McpError
from mcp.shared.session import RequestResponder

from agent.errors import McpUnavailable, redact_line
from agent.mcp.live_calls import CANCEL, Answer, ServerQuestion, read_question
from agent.mcp.stateless import (
    ACKNOWLEDGED,
    DISCOVER,
    LISTEN,
    Era,
    HeaderParameters,
    RawRequest,
    RawResult,
    check_refusal,
    read_discovery,
    stamp,
)

log = structlog.get_logger(__name__)
LOG_LINES, LOG_SECONDS = 20, 60.0
"""Lines of a session that are logged, per this number of seconds."""
CANCEL_SECONDS = 1.0
PROBE_SECONDS = 5.0
"""Seconds to wait for an answer to `server/discover` over HTTP before a session is opened instead."""
SILENT_SECONDS = 2.0
"""Seconds to wait for a program's answer to `server/discover` before it is also sent `initialize`."""
LISTEN_PAUSE_SECONDS = 30.0
"""Seconds between the end of `subscriptions/listen` and the next one."""
_LOUD = frozenset({"warning", "error", "critical", "alert", "emergency"})
_CHANGES = (
    protocol.ToolListChangedNotification,
    protocol.PromptListChangedNotification,
    protocol.ResourceListChangedNotification,
)


@dataclass(frozen=True, slots=True)
class SessionHooks:
    """A session's callbacks: `on_broken` receives the reason when its connection fails, `on_changed` is
    called when the server's offer changes, `answer` receives a question for a person (None: the server can't
    ask). The session updates `era`, which sessions of the same server share.
    """

    server: str
    on_broken: Callable[[str], None]
    on_changed: Callable[[], None]
    answer: Callable[[ServerQuestion], Awaitable[Answer]] | None = None
    era: Era = field(default_factory=lambda: Era(is_stateless=False))


class _Notification(protocol.ServerNotification):
    """A notification, including `notifications/subscriptions/acknowledged`, which the package rejects."""

    @classmethod
    def model_validate(cls, obj: Any, *options: Any, **named: Any) -> Any:
        if obj.get("method") != ACKNOWLEDGED:
            return super().model_validate(obj, *options, **named)
        root: Any = protocol.Notification(method=ACKNOWLEDGED, params=None)
        return cls.model_construct(root=root)


class InteractiveSession(ClientSession):
    """A session with these hooks.

    Servers of the protocol version 2026-07-28 have no sessions: each request stands on its own. `parameters`
    holds the headers that their tools need over HTTP; None: a program, or a server with sessions.
    """

    def __init__(
        self, reading: Any, writing: Any, hooks: SessionHooks, parameters: HeaderParameters | None = None
    ) -> None:
        self._hooks, self.parameters = hooks, parameters
        self._lines: list[float] = []
        self._listening: int | None = None
        self._has_gap = False
        super().__init__(
            reading,
            writing,
            elicitation_callback=None if hooks.answer is None else self._answer,
            logging_callback=self._log,
            message_handler=self._handle_message,
            client_info=protocol.Implementation(name="roebot", version="1"),
        )
        self._receive_notification_type = _Notification

    @property
    def server(self) -> str:
        return self._hooks.server

    @property
    def is_stateless(self) -> bool:
        """Return whether the server speaks the protocol version 2026-07-28."""
        return self._hooks.era.is_stateless is True

    async def initialize(self) -> None:  # type: ignore[override]
        """Determine the server's protocol era, and initialize the session if it has sessions.

        Raises McpUnavailable or McpError, with `era` set, if the server needs a session but this connection
        can't have one: over HTTP, or if a program ended on `server/discover`.
        """
        era = self._hooks.era
        if era.is_stateless is False:
            await self._begin()
        elif self.parameters is not None or era.is_stateless:
            if not await self._discover():
                era.is_stateless = False
                raise McpUnavailable("needs a session", server=self._hooks.server)
        else:
            await self._probe()
        if self.is_stateless:
            self._task_group.start_soon(self._listen)

    async def _probe(self) -> None:
        """Send a program `server/discover`; if it doesn't answer in time, also `initialize`.

        See basic/transports/stdio, Backward Compatibility. A program that starts slowly answers the former.
        """
        discovery = asyncio.ensure_future(self._discover())
        session: asyncio.Future[None] | None = None
        try:
            await asyncio.wait([discovery], timeout=SILENT_SECONDS)
            if not discovery.done():
                session = asyncio.ensure_future(self._begin())
                await asyncio.wait([discovery, session], return_when=asyncio.FIRST_COMPLETED)
            if discovery.done() and await discovery:
                return
            await (session or self._begin())
            self._hooks.era.is_stateless = False
        finally:
            discovery.cancel()
            if session is not None:
                session.cancel()

    async def _discover(self) -> bool:
        """Return whether the server speaks the protocol version 2026-07-28. Raises McpUnavailable."""
        era, server = self._hooks.era, self._hooks.server
        request = stamp(RawRequest({"method": DISCOVER}), can_ask=self._hooks.answer is not None)
        limit = None if self.parameters is None or era.is_stateless else timedelta(seconds=PROBE_SECONDS)
        try:
            result = await super().send_request(request, RawResult, limit)  # type: ignore[arg-type]
        except McpError as error:
            # Servers also use this code for errors of their own.
            if (error.error.code, error.error.message) == (protocol.CONNECTION_CLOSED, "Connection closed"):
                if era.is_stateless is None:
                    era.is_stateless = False
                raise
            check_refusal(error, server)
            return False
        self._server_capabilities = read_discovery(result.root, server)
        if self._server_capabilities is None:
            return False
        era.is_stateless = True
        return True

    async def _listen(self) -> None:
        """Subscribe to changes of the server's lists (basic/patterns/subscriptions)."""
        kinds = {
            f"{key}ListChanged": True
            for key in ("tools", "prompts", "resources")
            if getattr(getattr(self._server_capabilities, key, None), "listChanged", None)
        }
        request = RawRequest({"method": LISTEN, "params": {"notifications": kinds}})
        while kinds:
            self._listening = self._request_id
            with suppress(McpError):
                await self.send_request(request, RawResult)
            self._listening = None
            # Changes until the server acknowledges the next subscription are not announced.
            self._has_gap = True
            self._hooks.on_changed()
            await anyio.sleep(LISTEN_PAUSE_SECONDS)

    async def send_ping(self) -> protocol.EmptyResult:
        """Check that the server answers."""
        if not self.is_stateless:
            return await super().send_ping()
        await self.send_request(RawRequest({"method": DISCOVER}), RawResult)
        return protocol.EmptyResult()

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            # A program answers this request when it ends; the package's transport fails on an unread answer.
            if self._listening is not None:
                await self._cancel_request(self._listening)
        finally:
            is_suppressed = await super().__aexit__(*error)
        return is_suppressed

    async def _begin(self) -> None:
        """Initialize the session, and request log messages if the server supports them."""
        result = await super().initialize()
        if result.capabilities.logging is not None:
            try:
                await self.set_logging_level("info")
            except McpError as error:
                log.info("mcp_server_log_off", server=self._hooks.server, code=error.error.code)

    async def send_request(self, request: Any, *options: Any, **named: Any) -> Any:
        """Send a request, and cancel it on the server if it is abandoned.

        With sessions, this applies to tool calls only; tasks are canceled in `agent.mcp.task_calls`.
        """
        number, call = self._request_id, request.root
        if self.is_stateless:
            request = stamp(request, can_ask=self._hooks.answer is not None)
        try:
            return await super().send_request(request, *options, **named)
        except asyncio.CancelledError:
            is_call = isinstance(call, protocol.CallToolRequest) and call.params.task is None
            if is_call or self.is_stateless:
                await self._cancel_request(number)
            raise

    async def _cancel_request(self, number: int) -> None:
        params = protocol.CancelledNotificationParams(requestId=number, reason="The call was canceled.")
        note = protocol.ClientNotification(protocol.CancelledNotification(params=params))
        with suppress(TimeoutError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            async with asyncio.timeout(CANCEL_SECONDS):
                await self.send_notification(note)

    async def _received_request(
        self, responder: RequestResponder[protocol.ServerRequest, protocol.ClientResult]
    ) -> None:
        # The package waits for the answer before it reads the next message, and a person takes long.
        if isinstance(responder.request.root, protocol.ElicitRequest):
            self._task_group.start_soon(super()._received_request, responder)
            return
        await super()._received_request(responder)

    async def _answer(self, context: Any, params: protocol.ElicitRequestParams) -> protocol.ElicitResult:
        question = read_question(params.model_dump())
        answer = CANCEL if question is None else await self.ask(question)
        return protocol.ElicitResult.model_validate(answer)

    async def ask(self, question: ServerQuestion) -> Answer:
        """Ask a person; cancel if nobody can be asked."""
        return CANCEL if self._hooks.answer is None else await self._hooks.answer(question)

    async def _log(self, params: protocol.LoggingMessageNotificationParams) -> None:
        now = time.monotonic()
        self._lines = [at for at in self._lines if now - at < LOG_SECONDS]
        if len(self._lines) >= LOG_LINES:
            return
        self._lines.append(now)
        write = log.warning if params.level in _LOUD else log.info
        detail = redact_line(str(params.data))
        write("mcp_server_log", server=self._hooks.server, level_there=params.level, detail=detail)

    async def _handle_message(self, message: object) -> None:
        root = getattr(message, "root", None)
        is_resumed = self._has_gap and getattr(root, "method", None) == ACKNOWLEDGED
        if is_resumed or isinstance(root, _CHANGES):
            self._hooks.on_changed()
