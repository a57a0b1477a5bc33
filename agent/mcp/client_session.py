"""A session of the mcp package that continues while a person is asked, and forwards server notifications.

The server is told of a call that is given up, so that it can stop its work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import structlog
from mcp import ClientSession
from mcp import types as protocol
from mcp.shared.exceptions import McpError
from mcp.shared.session import RequestResponder

from agent.errors import redact_line
from agent.mcp.live_calls import Answer, ServerQuestion

log = structlog.get_logger(__name__)
LOG_LINES, LOG_SECONDS = 20, 60.0
"""Lines of a session that are logged, per this number of seconds."""
CANCEL_SECONDS = 1.0
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
    ask).
    """

    server: str
    on_broken: Callable[[str], None]
    on_changed: Callable[[], None]
    answer: Callable[[ServerQuestion], Awaitable[Answer]] | None = None


class InteractiveSession(ClientSession):
    """A session with these hooks."""

    def __init__(self, reading: Any, writing: Any, hooks: SessionHooks) -> None:
        self._hooks = hooks
        self._lines: list[float] = []
        super().__init__(
            reading,
            writing,
            elicitation_callback=None if hooks.answer is None else self._answer,
            logging_callback=self._log,
            message_handler=self._handle_message,
            client_info=protocol.Implementation(name="roebot", version="1"),
        )

    async def initialize(self) -> protocol.InitializeResult:
        """Initialize the session, and request log messages if the server supports them."""
        result = await super().initialize()
        if result.capabilities.logging is not None:
            try:
                await self.set_logging_level("info")
            except McpError as error:
                log.info("mcp_server_log_off", server=self._hooks.server, code=error.error.code)
        return result

    async def send_request(self, request: protocol.ClientRequest, *options: Any, **named: Any) -> Any:
        """Send a request, and notify the server if a tool call is abandoned."""
        number = self._request_id
        try:
            return await super().send_request(request, *options, **named)
        except asyncio.CancelledError:
            call = request.root
            if isinstance(call, protocol.CallToolRequest) and call.params.task is None:
                await self._cancel_request(number)
            raise

    async def _cancel_request(self, number: int) -> None:
        params = protocol.CancelledNotificationParams(requestId=number, reason="The call was given up.")
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
        assert self._hooks.answer is not None
        if isinstance(params, protocol.ElicitRequestURLParams):
            if not params.url.startswith(("https://", "http://")):
                return protocol.ElicitResult(action="cancel")
            question = ServerQuestion(params.message, url=params.url)
        else:
            question = ServerQuestion(params.message, params.requestedSchema)
        answer = await self._hooks.answer(question)
        return protocol.ElicitResult.model_validate(answer)

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
        if isinstance(getattr(message, "root", None), _CHANGES):
            self._hooks.on_changed()
