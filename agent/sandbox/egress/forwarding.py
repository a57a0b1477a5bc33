"""Forwarding of a request or tunnel between a client and a chosen server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import h11

from agent.sandbox.egress.http_peer import CHUNK, HttpPeer, end_to_end
from agent.sandbox.egress.rules import EgressError, EgressTarget, parse_target

_SCHEME = "http://"
_OURS = frozenset({b"expect", b"host"})
MAX_LOOKUPS = 4
MAX_REASONS = 20
"""Refusals of a sandbox that are kept for the log."""
CountBytes = Callable[[int], None]


@dataclass(slots=True)
class EgressUsage:
    """A sandbox's traffic: connections, bytes in both directions, and reasons for refusals.

    `lookups` limits its name look-ups, which occupy threads that the whole process shares.
    """

    connections: int = 0
    open: int = 0
    sent: int = 0
    received: int = 0
    refused: list[str] = field(default_factory=list)
    lookups: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_LOOKUPS))

    def note(self, reason: str) -> None:
        """Record the reason for a refusal for the log, up to a limit."""
        if len(self.refused) < MAX_REASONS:
            self.refused.append(reason)


class Transfer:
    """Counts a connection's bytes, and closes it by `timeout` after `idle_seconds` without traffic."""

    def __init__(self, usage: EgressUsage, timeout: asyncio.Timeout, idle_seconds: float) -> None:
        self._usage, self._timeout, self._idle = usage, timeout, idle_seconds
        self._touch()

    def count_sent(self, size: int) -> None:
        """Count bytes from the sandbox."""
        self._usage.sent += size
        self._touch()

    def count_received(self, size: int) -> None:
        """Count bytes to the sandbox."""
        self._usage.received += size
        self._touch()

    def _touch(self) -> None:
        if not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._idle)


def read_target(request: h11.Request) -> tuple[EgressTarget, bytes]:
    """Return the target of a proxy request, and the path for its server. Raises EgressError.

    A request that two programs may read differently is refused.
    """
    try:
        text = request.target.decode("ascii")
    except UnicodeDecodeError:
        raise EgressError(400, "invalid request") from None
    names = [name for name, _ in request.headers]
    if {b"content-length", b"transfer-encoding"} <= set(names):
        raise EgressError(400, "the request specifies its length twice")
    if request.method == b"CONNECT":
        if b"content-length" in names or b"transfer-encoding" in names:
            raise EgressError(400, "CONNECT has no body")
        target, path = parse_target(text), b""
    else:
        if not text.lower().startswith(_SCHEME):
            raise EgressError(400, "only http addresses and CONNECT are supported")
        authority, slash, rest = text[len(_SCHEME) :].partition("/")
        target, path = parse_target(authority, 80), (slash + rest).encode() or b"/"
    _check_host(request, target)
    return target, path


def _check_host(request: h11.Request, target: EgressTarget) -> None:
    for name, value in request.headers:
        if name != b"host":
            continue
        # The Host of a CONNECT often has no port.
        default = target.port if request.method == b"CONNECT" else 80
        if parse_target(value.decode("ascii", "replace"), default) != target:
            raise EgressError(400, "the Host header differs from the target")


async def forward_request(
    client: HttpPeer,
    request: h11.Request,
    target: EgressTarget,
    path: bytes,
    upstream: HttpPeer,
    transfer: Transfer,
) -> None:
    """Forward the request, and return its response. Raises EgressError for an invalid response."""
    headers = [(name, value) for name, value in end_to_end(request.headers) if name not in _OURS]
    headers.insert(0, (b"host", target.authority.encode()))
    if any(name == b"transfer-encoding" for name, _ in request.headers):
        headers.append((b"transfer-encoding", b"chunked"))
    headers.append((b"connection", b"close"))
    await upstream.send(h11.Request(method=request.method, target=path, headers=headers))
    sending = asyncio.create_task(_send_body(client, upstream, transfer))
    try:
        try:
            response = await upstream.read_response()
        except (h11.RemoteProtocolError, OSError):
            raise EgressError(502, "the server's response is invalid") from None
        headers = [*end_to_end(response.headers), (b"connection", b"close")]
        await client.send(
            h11.Response(status_code=response.status_code, headers=headers, reason=response.reason)
        )
        await _return_body(upstream, client, transfer)
    finally:
        sending.cancel()
        await asyncio.wait([sending])


async def _send_body(client: HttpPeer, upstream: HttpPeer, transfer: Transfer) -> None:
    """Copy the request body to the upstream server. Abort if the body is cut off, so that it never looks
    complete.
    """
    try:
        while not isinstance(event := await client.next_event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise h11.RemoteProtocolError("no body")
            transfer.count_sent(len(event.data))
            await upstream.send(h11.Data(data=event.data))
        await upstream.send(h11.EndOfMessage())
    except (h11.RemoteProtocolError, h11.LocalProtocolError, OSError):
        upstream.abort()


async def _return_body(upstream: HttpPeer, client: HttpPeer, transfer: Transfer) -> None:
    """Copy the response body to the client. If the body is cut off, close the client's connection."""
    with suppress(h11.RemoteProtocolError, OSError):
        while not isinstance(event := await upstream.next_event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                return
            transfer.count_received(len(event.data))
            await client.send(h11.Data(data=event.data))
        await client.send(h11.EndOfMessage())


async def run_tunnel(client: HttpPeer, upstream: HttpPeer, transfer: Transfer) -> None:
    """Respond to a CONNECT and copy bytes in both directions until both are closed."""
    await client.send(h11.Response(status_code=200, headers=[], reason=b"Connection established"))
    early, _ = client.connection.trailing_data
    if early:
        transfer.count_sent(len(early))
        upstream.writer.write(early)
    async with asyncio.TaskGroup() as group:
        group.create_task(_pump(client, upstream, transfer.count_sent))
        group.create_task(_pump(upstream, client, transfer.count_received))


async def _pump(source: HttpPeer, target: HttpPeer, count: CountBytes) -> None:
    try:
        while (data := await source.reader.read(CHUNK)) and not target.writer.is_closing():
            count(len(data))
            target.writer.write(data)
            await target.writer.drain()
        if not target.writer.is_closing():
            target.writer.write_eof()
    except OSError:
        source.abort()
        target.abort()
