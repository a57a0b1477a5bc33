"""A web site on this machine, and guards that take 127.0.0.1 for the public internet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.tools.community.guard import Guard

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.2"
Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Names:
    """Host names for a guard: each look-up takes the next answer, the last one stays."""

    known: Mapping[str, list[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.known:
            raise OSError("no such host")
        answers = self.known[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def guard(names: Names | None = None, **known: str) -> Guard:
    """A guard of these names (`_` for a dot), for which PUBLIC alone is public, on every port."""
    found = names or Names({host.replace("_", "."): [[address]] for host, address in known.items()})
    return Guard(found, permitted=lambda address: address == PUBLIC, ports=None)


@dataclass
class Site:
    """What is answered by path, and what was asked: request heads as text."""

    port: int
    pages: dict[str, Answer] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str, body: bytes | str, *headers: str, status: str = "200 OK") -> None:
        data = body if isinstance(body, bytes) else body.encode()
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close", *headers]
        self.pages[path] = "\r\n".join([*lines, "", ""]).encode() + data

    def leads(self, path: str, target: str, body: bytes = b"") -> None:
        self.page(path, body, f"Location: {target}", status="302 Found")


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """A site that answers what a test puts there; a body may also be written by the test itself."""
    here = Site(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        here.heads.append(head)
        found = here.pages.get(head.split()[1], b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        try:
            if callable(found):
                await found(reader, writer)
            else:
                writer.write(found)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, PUBLIC, 0)
    here.port = server.sockets[0].getsockname()[1]
    async with server:
        yield here
        server.close()
