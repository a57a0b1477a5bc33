"""HTTP proxy that connects only to permitted targets, by plain HTTP or CONNECT tunnels.

It resolves names itself and connects to the address that it has checked. The client follows redirects, so
each of their targets is checked as well. A connection carries one request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import h11
import structlog

from agent.sandbox.egress.forwarding import EgressUsage, Transfer, forward_request, read_target, run_tunnel
from agent.sandbox.egress.http_peer import HttpPeer
from agent.sandbox.egress.rules import EgressError, EgressRules, EgressTarget

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EgressLimits:
    """Concurrent connections per sandbox and in total, and time limits in seconds."""

    sandbox_connections: int = 64
    connections: int = 200
    head_seconds: float = 10.0
    connect_seconds: float = 10.0
    idle_seconds: float = 120.0


class EgressProxy:
    """Serves the connections of all sandboxes by the same rules."""

    def __init__(self, rules: EgressRules, limits: EgressLimits | None = None) -> None:
        self._rules, self._limits = rules, limits or EgressLimits()
        self._open = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, usage: EgressUsage
    ) -> None:
        """Serve a connection until it is closed, and count it in `usage`."""
        client = HttpPeer(h11.SERVER, reader, writer)
        usage.connections += 1
        usage.open += 1
        self._open += 1
        try:
            if self._has_room(usage):
                await self._answer(client, usage)
            else:
                # An answer would hold a descriptor of the service longer.
                usage.note("too many connections")
                client.abort()
        except EgressError as error:
            usage.note(error.reason)
            await client.refuse(error)
        except (OSError, TimeoutError, h11.LocalProtocolError):
            client.abort()
        except asyncio.CancelledError:
            client.abort()
            raise
        finally:
            usage.open -= 1
            self._open -= 1
            with suppress(OSError):
                writer.close()

    def _has_room(self, usage: EgressUsage) -> bool:
        return usage.open <= self._limits.sandbox_connections and self._open <= self._limits.connections

    async def _answer(self, client: HttpPeer, usage: EgressUsage) -> None:
        request = await client.read_request(self._limits.head_seconds)
        if request is None:
            return
        target, path = read_target(request)
        async with usage.lookups:
            addresses = await self._rules.find_addresses(target)
        upstream = await self._connect(target, addresses)
        try:
            async with asyncio.timeout(None) as timeout:
                transfer = Transfer(usage, timeout, self._limits.idle_seconds)
                if request.method == b"CONNECT":
                    await run_tunnel(client, upstream, transfer)
                else:
                    await forward_request(client, request, target, path, upstream, transfer)
        finally:
            upstream.abort()

    async def _connect(self, target: EgressTarget, addresses: Sequence[str]) -> HttpPeer:
        """Connect to the first address that responds. Raises EgressError."""
        for address in addresses:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._limits.connect_seconds):
                    reader, writer = await asyncio.open_connection(address, target.port)
                if _is_own_address(writer):
                    writer.transport.abort()
                    raise EgressError(403, f"{target.host} is this machine")
                return HttpPeer(h11.CLIENT, reader, writer)
        raise EgressError(502, f"{target.host} can't be reached")


def _is_own_address(writer: asyncio.StreamWriter) -> bool:
    """Return whether a connection's peer is this machine, whose services may trust its own addresses."""
    near, far = writer.get_extra_info("sockname"), writer.get_extra_info("peername")
    return bool(near and far and near[0] == far[0])


def log_usage(sandbox: str, usage: EgressUsage) -> None:
    """Log a sandbox's traffic, if any; the sandbox is identified by its thread or its address."""
    if usage.connections:
        log.info(
            "sandbox_egress",
            sandbox=sandbox,
            connections=usage.connections,
            sent=usage.sent,
            received=usage.received,
            refused=list(dict.fromkeys(usage.refused)),
        )
