"""The egress proxy on a network address, for sandboxes that are separate machines or pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.sandbox.egress.forwarding import EgressUsage
from agent.sandbox.egress.proxy import EgressProxy, log_usage


class EgressServer:
    """Serves each client address as a separate sandbox, and logs its traffic after its last connection."""

    def __init__(self, proxy: EgressProxy) -> None:
        self._proxy = proxy
        self._usages: dict[str, EgressUsage] = {}

    @asynccontextmanager
    async def listen(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve within the context, and yield the port. Raises OSError."""
        server = await asyncio.start_server(self._serve, host, port)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            # Leaving its own context waits for every open connection, from Python 3.12 on.
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str(writer.get_extra_info("peername")[0])
        usage = self._usages.setdefault(peer, EgressUsage())
        try:
            await self._proxy.serve(reader, writer, usage)
        finally:
            if not usage.open and self._usages.get(peer) is usage:
                del self._usages[peer]
                log_usage(peer, usage)
