"""A homeserver that answers what a test says, also what no real one would."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

BOT = "@roebot:example.org"
ANN = "@ann:example.org"
ROOM = "!room:example.org"
SENT_AT = 1_790_000_000_000
"""When Ann says what has no other time (ms since the epoch)."""


class ScriptedHomeserver:
    """Answers each path with the (status, JSON text) in `answers`, and each sync with the next of `syncs`.

    Once `syncs` is empty, nothing happens any more. `calls` counts the requests by path.
    """

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, tuple[int, str]] = {}
        self.syncs: list[dict[str, Any]] = []
        self.calls: Counter[str] = Counter()
        self.tokens: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path = request.path.removeprefix("/_matrix/client/v3")
        self.calls[path] += 1
        if path in self.answers:
            status, text = self.answers[path]
            return web.Response(status=status, text=text, content_type="application/json")
        if path == "/account/whoami":
            return web.json_response({"user_id": BOT, "device_id": "D"})
        if path == "/sync":
            since = request.query.get("since", "")
            self.tokens.append(since)
            number = int(since or "0")
            # A real one would wait while nothing happens.
            await asyncio.sleep(0.01 if number == len(self.syncs) else 0.0)
            rooms = self.syncs[number] if number < len(self.syncs) else {}
            return web.json_response({"next_batch": str(number + bool(rooms)), "rooms": rooms})
        return web.json_response({"errcode": "M_NOT_FOUND", "error": "Not found"}, status=404)


@asynccontextmanager
async def scripted() -> AsyncIterator[ScriptedHomeserver]:
    """Run such a homeserver on loopback."""
    server = ScriptedHomeserver()
    app = web.Application(handler_args={"max_line_size": 1 << 20})
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def said(event_id: str, content: dict[str, Any], at: int = SENT_AT) -> dict[str, Any]:
    """Return an event in which Ann says something at a time (ms)."""
    content = {"msgtype": "m.text", "body": "hello", **content}
    return {
        "type": "m.room.message",
        "event_id": event_id,
        "sender": ANN,
        "origin_server_ts": at,
        "content": content,
    }
