"""uvicorn's HTTP/1.1 protocol with limits on connections and headers.

No other layer sees a request whose headers are incomplete, and uvicorn limits neither the time that headers
take to arrive nor their size.

A connection beyond the limit replaces the one whose client has been silent the longest before or within a
request; if new connections were refused, idle ones could lock people out. Connections are closed in rounds,
twenty times a second, and only once the loop has had a chance to read from them: a request that arrives
immediately is served, regardless of how many clients connect at the same time. If complete requests occupy
all connections, further requests are refused.

Limits per address, and on clients that stop reading, are left to a reverse proxy (`deploy/proxy/nginx.conf`);
without one, an address can occupy all connections with requests in progress.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from operator import attrgetter
from typing import Any, Final

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from agent.shared.connection_limits import ConnectionLimits

MAX_PIPELINED: Final = 16
"""Requests that a client may send ahead; each is held in memory until its turn."""
KEEP_ALIVE: Final = 5
ROOM_SECONDS: Final = 0.05
"""Time between two rounds that close connections beyond the limit (s); until then, they are held."""


class _LimitExceeded(Exception):
    """Stops the parser; the connection receives an error and is closed."""


class LimitedConfig(uvicorn.Config):
    """A configuration that serves with `LimitedProtocol`, without WebSockets.

    Addresses in forwarding headers are ignored here: the application decides which proxies to trust. `closed`
    counts the closed connections by the name of the limit.
    """

    def __init__(self, app: Any, limits: ConnectionLimits, **options: Any) -> None:
        idle = min(KEEP_ALIVE, max(1, int(limits.header_seconds)))
        super().__init__(
            app, http=LimitedProtocol, ws="none", proxy_headers=False, timeout_keep_alive=idle, **options
        )
        self.limits = limits
        self.closed = Counter[str]()
        self.makes_room = False
        self.is_full = False


class LimitedProtocol(HttpToolsProtocol):
    """One connection, with the limits of its `LimitedConfig`."""

    config: LimitedConfig
    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _unread = 0
    heard_at = 0.0
    was_read = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection. If there are too many, schedule a round that closes some."""
        super().connection_made(transport)
        self.heard_at = self.loop.time()
        self._await_headers()
        if len(self.connections) > self.config.limits.total:
            self._make_room_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received data. Refuse an oversized part of a request before it is complete."""
        self.heard_at = self.loop.time()
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > self.config.limits.header_bytes:
            self._refuse_headers()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise _LimitExceeded("too many requests sent ahead")
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Serve a request, unless its headers are too large."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.config.limits.header_bytes:
            self._refuse_headers()
            raise _LimitExceeded("headers too large")
        if self.config.is_full:
            self._refuse_for_room()
            raise _LimitExceeded("too many requests in progress")
        self._header_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Accept a part of the body. Trailers and chunk extensions count as headers."""
        self._header_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._header_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the client to read the rest of the response."""
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last:
            self._await_headers()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that could not be parsed."""
        if self._is_answering():
            self.transport.abort()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _make_room_later(self) -> None:
        if not self.config.makes_room:
            self.config.makes_room = True
            self.loop.call_later(ROOM_SECONDS, self._make_room)

    def _make_room(self) -> None:
        """Close the connections that have been silent the longest, of those that the loop could read."""
        excess = max(0, len(self.connections) - self.config.limits.total)
        waiting = [
            one for one in self.connections if isinstance(one, LimitedProtocol) and one._is_incomplete()
        ]
        silent = sorted((one for one in waiting if one.was_read), key=attrgetter("heard_at"))
        for one in silent[:excess]:
            one._refuse_for_room()
        for one in waiting:
            # The loop reads arrived data before it calls a timer again.
            one.was_read = True
        self.config.is_full = excess > len(waiting)
        self.config.makes_room = False
        if excess > len(silent):
            self._make_room_later()

    def _refuse_for_room(self) -> None:
        self._refuse("total", 503, "Too many connections. Try again later.")

    def _is_incomplete(self) -> bool:
        """Return whether the client has yet to send a request or the rest of one."""
        return self._deadline is not None or (self.cycle is not None and self.cycle.more_body)

    def _await_headers(self) -> None:
        self._deadline = self.loop.call_later(self.config.limits.header_seconds, self._close_late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close_late(self) -> None:
        unread, before = self.transport.get_write_buffer_size(), self._unread
        self._unread = unread
        if unread and unread != before:
            self._await_headers()
        elif self._header_bytes:
            self._refuse("headers", 408, "The request took too long to arrive.")
        else:
            self.config.closed["headers"] += 1
            self.transport.abort()

    def _refuse_headers(self) -> None:
        self._refuse("header_bytes", 431, "The headers of the request are too large.")

    def _refuse(self, limit: str, status: int, detail: str) -> None:
        """Respond without the application, and close the connection; within a response, only close it."""
        if self.transport.is_closing():
            return
        self.config.closed[limit] += 1
        if self._is_answering():
            self.transport.abort()
            return
        body = orjson.dumps({"detail": detail})
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\nretry-after: 5\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _is_answering(self) -> bool:
        if self.pipeline or self.transport.get_write_buffer_size():
            return True
        return self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
