"""A server that receives webhooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Answer = Callable[[Received], Awaitable[bytes]]


@dataclass
class Receiver:
    """What arrived, and how it is answered: a status line and headers without the last line break."""

    url: str = ""
    answer: Answer | None = None
    queue: asyncio.Queue[Received] = field(default_factory=asyncio.Queue)
    open: int = 0
    most_open: int = 0

    async def next(self) -> Received:
        """The next request."""
        return await asyncio.wait_for(self.queue.get(), 20)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request and answer it."""
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.split(": ", 1) for line in head[1:] if line)
            headers = {name.lower(): value for name, value in pairs}
            path = head[0].split(" ")[1]
            found = Received(path, headers, await reader.readexactly(int(headers["content-length"])))
            self.queue.put_nowait(found)
            writer.write(b"HTTP/1.1 204 OK\r\n\r\n" if self.answer is None else await self.answer(found))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def receiving(answer: Answer | None = None) -> AsyncIterator[Receiver]:
    """Receive webhooks on a loopback port."""
    receiver = Receiver(answer=answer)
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield receiver
    finally:
        server.close()
