"""A proxy in front of a homeserver that loses answers, fails, limits, falls silent and cuts connections.

It runs in a thread of its own, so that its tasks are not among those of a test.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

import aiohttp
from aiohttp import web

IDLE_MILLISECONDS = "150"
"""How long a sync stays open here while nothing happens; a homeserver keeps it for half a minute."""
ACCEPTING = 10
"""Iterations of the event loop after which an accepted connection is among the server's; it takes three."""


@dataclass
class Wire:
    """What went over the wire: texts by message, typing by room, and the number of syncs that began."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    typing: Counter[str] = field(default_factory=Counter)
    syncs: int = 0


class FaultyProxy:
    """One bot's way to the homeserver."""

    def __init__(self, target: str) -> None:
        self.wire = Wire()
        self.url = ""
        self.silent = False
        self._cut_syncs = 0
        self._target = target
        self._drops: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._limits: dict[str, float] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._start())
        return self

    def __exit__(self, *_error: object) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def loses_answer(self, operation: str) -> None:
        """Carry out the next call of a kind, and answer nothing.

        aiohttp repeats a PUT that is cut off once, without a word; the answer to that is lost too.
        """
        self._drops[operation] += 2

    def fails(self, operation: str) -> None:
        """Answer the next call of a kind with status 500."""
        self._errors[operation] += 1

    def limits(self, room: str, seconds: float) -> None:
        """Refuse what is sent to a room for a time; 0 ends it."""
        self._limits[room] = time.time() + seconds

    def cuts(self) -> None:
        """Cut every connection, and the next sync: a client repeats one that is cut once without a word."""
        self._cut_syncs = 1
        self._do(self._cut())

    async def synced(self) -> None:
        """Wait until the bot has read what the homeserver has: another sync begins after that one."""
        begun = self.wire.syncs
        while self.wire.syncs < begun + 2:
            await asyncio.sleep(0.01)

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._runner.server.connections) if self._runner.server else 0

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30.0)

    async def _start(self) -> None:
        self._http = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=100 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        self._listener = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(self._runner, self._listener).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        # Python never closes a connection that it was accepting while the server was closed
        # (python/cpython#109564).
        self._loop.remove_reader(self._listener)
        for _ in range(ACCEPTING):
            await asyncio.sleep(0)
        await self._cut()
        await self._runner.cleanup()
        await self._http.close()

    async def _cut(self) -> None:
        for connection in list(self._runner.server.connections if self._runner.server else ()):
            if connection.transport is not None:
                connection.transport.abort()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        operations, room = _operations(request, body)
        is_sync = request.path.endswith("/sync")
        self.wire.syncs += is_sync
        if is_sync and self._cut_syncs and request.transport is not None:
            self._cut_syncs -= 1
            request.transport.abort()
        if self._limits.get(room, 0.0) > time.time() and operations & {"post", "edit", "file"}:
            left = round((self._limits[room] - time.time()) * 1000)
            error = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": left}
            return web.json_response(error, status=429)
        if self._take(self._errors, operations):
            return web.json_response({"errcode": "M_UNKNOWN", "error": "Internal server error"}, status=500)
        while self.silent and is_sync:
            await asyncio.sleep(0.02)
        status, headers, answer = await self._forward(request, body)
        self._note(operations, room, body, answer)
        if self._take(self._drops, operations) and request.transport is not None:
            request.transport.abort()
        return web.Response(status=status, headers=headers, body=answer)

    async def _forward(self, request: web.Request, body: bytes) -> tuple[int, dict[str, str], bytes]:
        params = [
            (key, IDLE_MILLISECONDS if key == "timeout" else value) for key, value in request.query.items()
        ]
        kept = {
            name: request.headers[name]
            for name in ("Authorization", "Content-Type")
            if name in request.headers
        }
        url = aiohttp.client.URL(f"{self._target}{request.raw_path.partition('?')[0]}", encoded=True)
        async with self._http.request(
            request.method, url.update_query(params), data=body or None, headers=kept
        ) as answer:
            given = {
                name: answer.headers[name]
                for name in ("Content-Type", "Content-Disposition", "Content-Encoding")
                if name in answer.headers
            }
            return answer.status, given, await answer.read()

    def _take(self, faults: Counter[str], operations: set[str]) -> bool:
        for operation in operations:
            if faults[operation] > 0:
                faults[operation] -= 1
                return True
        return False

    def _note(self, operations: set[str], room: str, body: bytes, answer: bytes) -> None:
        if "typing" in operations:
            self.wire.typing[room] += 1
        if operations & {"post", "edit"} and b"event_id" in answer:
            content = json.loads(body)
            relation = content.get("m.relates_to", {})
            edited = relation.get("event_id") if relation.get("rel_type") == "m.replace" else ""
            text = content.get("m.new_content", content).get("body", "")
            texts = self.wire.texts.setdefault(edited or json.loads(answer)["event_id"], [])
            if texts[-1:] != [text]:
                texts.append(text)


def _operations(request: web.Request, body: bytes) -> tuple[set[str], str]:
    """Return what a call is in the words of the kit, and the room that it concerns."""
    parts = request.raw_path.partition("?")[0].split("/")
    room = unquote(parts[parts.index("rooms") + 1]) if "rooms" in parts else ""
    if "typing" in parts:
        return {"typing"}, room
    if "send" not in parts or request.method != "PUT":
        return set(), room
    content = json.loads(body)
    if "m.new_content" in content:
        return {"edit", "frame", "final"}, room
    return ({"post"} if content.get("msgtype") == "m.text" else {"file"}), room
