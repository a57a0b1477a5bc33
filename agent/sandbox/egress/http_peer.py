"""One side of an HTTP/1.1 connection, parsed strictly by h11."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

import h11

from agent.sandbox.egress.rules import EgressError

CHUNK = 65_536
HEAD_BYTES = 32_768
DRAIN_BYTES, DRAIN_SECONDS = 1_000_000, 1.0
"""Bytes and seconds of a refused request that are read, so that its sender sees the answer."""
_HOP_BY_HOP = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"})
Headers = Iterable[tuple[bytes, bytes]]


class HttpPeer:
    """Reads and writes h11 events. `role` is ours."""

    def __init__(
        self, role: type[h11.CLIENT | h11.SERVER], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connection = h11.Connection(role, max_incomplete_event_size=HEAD_BYTES)
        self.reader, self.writer = reader, writer

    async def next_event(self) -> object:
        """Return the next event. Raises h11.RemoteProtocolError or OSError."""
        while (event := self.connection.next_event()) is h11.NEED_DATA:
            if self.connection.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self.connection.receive_data(await self.reader.read(CHUNK))
        return event

    async def read_request(self, seconds: float) -> h11.Request | None:
        """Return the request, or None if the client closed without one. Raises EgressError."""
        try:
            async with asyncio.timeout(seconds):
                event = await self.next_event()
        except h11.RemoteProtocolError:
            raise EgressError(400, "invalid request") from None
        except TimeoutError:
            raise EgressError(408, "the request did not arrive in time") from None
        return event if isinstance(event, h11.Request) else None

    async def read_response(self) -> h11.Response:
        """Return the final response. Raises h11.RemoteProtocolError."""
        while not isinstance(event := await self.next_event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("no response")
        return event

    async def send(self, event: h11.Event) -> None:
        """Send an event."""
        if data := self.connection.send(event):
            self.writer.write(data)
            await self.writer.drain()

    async def refuse(self, error: EgressError) -> None:
        """Respond with the reason in the status line, which most programs display, and discard further data
        from the client.
        """
        if self.connection.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        reason = error.reason.encode("ascii", "replace")
        headers = [(b"content-length", b"%d" % (len(reason) + 1)), (b"connection", b"close")]
        response = h11.Response(status_code=error.status, headers=headers, reason=reason)
        with suppress(OSError, TimeoutError):
            for event in (response, h11.Data(data=reason + b"\n"), h11.EndOfMessage()):
                await self.send(event)
            self.writer.write_eof()
            async with asyncio.timeout(DRAIN_SECONDS):
                left = DRAIN_BYTES
                while left > 0 and (data := await self.reader.read(CHUNK)):
                    left -= len(data)

    def abort(self) -> None:
        """Close the connection immediately."""
        self.writer.transport.abort()


def end_to_end(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return the headers that a proxy forwards, excluding those for this connection or the proxy itself."""
    pairs = list(headers)
    named = {
        token.strip().lower()
        for name, value in pairs
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    return [
        (name, value)
        for name, value in pairs
        if name.lower() not in _HOP_BY_HOP | named and not name.lower().startswith(b"proxy-")
    ]
