"""The way from a replica to PostgreSQL, which can be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK = 65_536


class CuttableNetwork:
    """Forwards connections to the Unix socket at `path`, unless it is cut. `port` is where it listens."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None] | None] = set()
        self.port = 0
        self.is_cut = False

    def cut(self) -> None:
        """Let nothing through; open connections hang, as in a real network."""
        self.is_cut = True

    def mend(self) -> None:
        """Let new connections through. Those from before are lost."""
        self.is_cut = False
        for writer in tuple(self._writers):
            writer.transport.abort()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Listen on a free port while the block runs."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            self.mend()
            for task in filter(None, tuple(self._tasks)):
                await asyncio.wait({task}, timeout=1.0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._tasks.add(task := asyncio.current_task())
        try:
            with suppress(OSError):
                to_server = await asyncio.open_unix_connection(self._path)
                self._writers.add(to_server[1])
                try:
                    await asyncio.gather(
                        self._forward(reader, to_server[1]), self._forward(to_server[0], writer)
                    )
                finally:
                    self._writers.discard(to_server[1])
                    to_server[1].transport.abort()
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            while self.is_cut:
                await asyncio.sleep(0.1)
            writer.write(data)
            await writer.drain()
        writer.transport.abort()
