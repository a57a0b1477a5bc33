"""uvicorn's HTTP/1.1 protocol with limits on what a client can hold: connections, headers, time and memory.

uvicorn limits neither the size of headers nor the time that a client takes to send a request or to read the
response. The limits act before any application code runs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

import orjson
import uvicorn
from uvicorn.server import ServerState

from agent.shared.connection_table import ConnectionLimits, ConnectionTable

if sys.platform == "win32":
    from uvicorn.protocols.http.h11_impl import H11Protocol as HttpProtocol
else:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol

MAX_PIPELINED: Final = 16
"""Requests that a client may send ahead; each is held in memory until its turn."""
MAX_DISCARDED: Final = 8_388_608
"""Bytes of a refused body that are read and dropped. The connection of a client that sends more is closed,
possibly before the client has read the answer."""
CLOSE_SECONDS: Final = 5.0
"""Time that a client has to read the rest of the response on a connection that is being closed."""
STALLED_SECONDS: Final = 5.0
"""Time after which a client that does not read its response can be disconnected to make room."""
ANONYMOUS: Final = "roebot.anonymous_body"
"""Key of the scope of a request whose body is read without a credential."""
KEEP_ALIVE: Final = 5


class _Phase(Enum):
    WAITING = "headers"
    BODY = "body"
    SERVING = "response"
    CLOSING = "closing"


class _LimitExceeded(Exception):
    """Stops the parser; the connection is answered with an error and closed."""


class LimitedConfig(uvicorn.Config):
    """A configuration that serves by `LimitedProtocol`, without WebSockets.

    Addresses in forwarding headers are ignored here: the application decides which proxies to trust.
    """

    def __init__(
        self,
        app: Any,
        limits: ConnectionLimits,
        *,
        is_proxy: Callable[[str], bool] = lambda _address: False,
        **options: Any,
    ) -> None:
        idle = min(KEEP_ALIVE, max(1, int(limits.header_seconds)))
        super().__init__(
            app, http=LimitedProtocol, ws="none", proxy_headers=False, timeout_keep_alive=idle, **options
        )
        self.connections = ConnectionTable(limits, is_proxy=is_proxy)


class LimitedProtocol(HttpProtocol):
    """One connection, limited by the table of its `LimitedConfig`."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert isinstance(config, LimitedConfig)
        self.address = ""
        self._table = config.connections
        self._limits = config.connections.limits
        self._phase: tuple[_Phase, Any] = (_Phase.WAITING, None)
        self._phase_began = self.loop.time()
        self._received = self._received_before = 0
        self._unread = 0
        self._unread_since = self._phase_began
        self._header_bytes = self._unparsed = self._discarded = 0
        self._has_progress = self._is_too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or answer 503 if there is no room."""
        super().connection_made(transport)
        self.address = self._table.group_of(self.client[0]) if self.client else ""
        if not self._table.admit(self, self.loop.time()):
            self._answer(503, "Too many connections. Try again later.", retry_after=5)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the table."""
        self._table.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data. Refuse a request element that exceeds the limit before it is complete."""
        self._received += len(data)
        self._has_progress = False
        super().data_received(data)
        self._unparsed = 0 if self._has_progress else self._unparsed + len(data)
        if self._unparsed > self._limits.header_bytes and not self.transport.is_closing():
            self._refuse_headers()

    def resume_writing(self) -> None:
        """Continue a response that the client reads again."""
        self._unread_since = self.loop.time()
        super().resume_writing()

    def on_message_begin(self) -> None:
        """Start a request."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _LimitExceeded("too many requests sent ahead")
        self._header_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count a part of the request's target."""
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, or a trailer of a chunked body."""
        self._count_header(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Accept a part of the body; drop that of a request that was answered before its end."""
        self._has_progress = True
        super().on_body(body)
        if self.cycle.response_complete:
            self._discarded += len(body)
            if self._discarded > MAX_DISCARDED and not self.transport.is_closing():
                self._table.closed["discarded"] += 1
                self.transport.close()

    def on_message_complete(self) -> None:
        """End a request."""
        self._discarded = 0
        self._has_progress = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that could not be parsed, or whose headers are too large."""
        if self._is_too_large:
            self._refuse_headers()
        elif self._is_answering():
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def has_request(self, now: float) -> bool:
        """Return whether a request is in progress that has a credential or needs none, and makes progress."""
        phase = self._find_phase()
        if phase is _Phase.SERVING and self._unread and now - self._unread_since > STALLED_SECONDS:
            return False
        return phase is _Phase.SERVING or (phase is _Phase.BODY and ANONYMOUS not in self.cycle.scope)

    def find_expiry(self, now: float) -> str:
        """Return the limit in time that the connection exceeds, "" if none."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread < self._unread:
            self._unread_since = now
        self._unread = unread
        if now - self._unread_since > self._limits.response_seconds:
            return _Phase.SERVING.value
        phase = (self._find_phase(), self.cycle)
        # A paused connection waits for the application, not for the client.
        if phase != self._phase or (phase[0] is _Phase.BODY and self.flow.read_paused):
            self._phase, self._phase_began, self._received_before = phase, now, self._received
        return phase[0].value if now - self._phase_began > self._allowed_seconds(phase[0]) else ""

    def close_for(self, reason: str) -> None:
        """Close the connection: with an answer if the client still sends a request, else at once."""
        is_idle = reason == _Phase.WAITING.value and self._received == self._received_before
        if is_idle or reason not in (_Phase.WAITING.value, _Phase.BODY.value):
            self.transport.abort()
            return
        self._answer(408, "The request took too long to arrive.")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _is_answering(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete or not self.cycle.response_started
        return bool(self.pipeline) or not is_answered

    def _find_phase(self) -> _Phase:
        # The application may have written all of a response that the client still reads.
        if self.transport.get_write_buffer_size():
            return _Phase.SERVING
        if self.transport.is_closing():
            return _Phase.CLOSING
        if self.cycle is None or self.cycle.response_complete:
            return _Phase.WAITING
        return _Phase.BODY if self.cycle.more_body else _Phase.SERVING

    def _allowed_seconds(self, phase: _Phase) -> float:
        limits = self._limits
        if phase is _Phase.WAITING:
            return limits.header_seconds
        if phase is _Phase.BODY:
            credit = 0 if ANONYMOUS in self.cycle.scope else self._received - self._received_before
            return limits.body_seconds + credit / limits.body_rate
        return CLOSE_SECONDS if phase is _Phase.CLOSING else float("inf")

    def _count_header(self, size: int) -> None:
        self._has_progress = True
        self._header_bytes += size
        if self._header_bytes > self._limits.header_bytes:
            self._is_too_large = True
            raise _LimitExceeded("headers too large")

    def _refuse_headers(self) -> None:
        self._table.closed["header_bytes"] += 1
        self._answer(431, "The headers of the request are too large.")

    def _answer(self, status: int, detail: str, *, retry_after: int = 0) -> None:
        """Answer without the application, and close the connection; only close it within a response."""
        if self._is_answering():
            self.transport.abort()
            return
        body = orjson.dumps({"detail": detail})
        more = f"retry-after: {retry_after}\r\n" if retry_after else ""
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n{more}\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
