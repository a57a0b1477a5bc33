"""Socket Mode: up to ten WebSockets, each event to one of them."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.server import Receive, Scope, Send
from roebot_testing.emulators.slack.envelopes import Envelope, Outbox
from roebot_testing.emulators.slack.workspace import APP_ID

MOST_CONNECTIONS = 10


@dataclass(eq=False, slots=True)
class _Link:
    """One connection; None in its queue closes it."""

    line: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)


class SocketMode:
    """All connections of the app. `refuse` rejects new ones."""

    def __init__(self) -> None:
        self.refuse = False
        self.opened = 0
        self._links: list[_Link] = []
        self._turn = itertools.count()

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._links)

    def carry(self, envelope: Envelope) -> bool:
        """Send an envelope over one connection; False if there is none."""
        if not self._links:
            return False
        link = self._links[next(self._turn) % len(self._links)]
        link.line.put_nowait(envelope.wire())
        return True

    def say(self, frame: dict[str, Any]) -> None:
        """Send a frame to every connection."""
        for link in self._links:
            link.line.put_nowait(frame)

    def close_all(self) -> None:
        """Close every connection from the server's side."""
        for link in self._links:
            link.line.put_nowait(None)
        self._links.clear()

    async def serve(self, scope: Scope, receive: Receive, send: Send, outbox: Outbox) -> None:
        """Serve a connection until it is closed."""
        await receive()
        if self.refuse or len(self._links) >= MOST_CONNECTIONS:
            await send({"type": "websocket.close", "code": 1013})
            return
        await send({"type": "websocket.accept"})
        link = _Link()
        link.line.put_nowait(
            {
                "type": "hello",
                "num_connections": len(self._links) + 1,
                "connection_info": {"app_id": APP_ID},
                "debug_info": {"host": "emulator", "approximate_connection_time": 3600},
            }
        )
        self._links.append(link)
        self.opened += 1
        outbox.flush()
        speaking = asyncio.ensure_future(self._speak(link, send))
        try:
            await self._listen(receive, outbox)
        finally:
            if link in self._links:
                self._links.remove(link)
            speaking.cancel()
            await asyncio.gather(speaking, return_exceptions=True)

    async def _speak(self, link: _Link, send: Send) -> None:
        while (frame := await link.line.get()) is not None:
            await send({"type": "websocket.send", "text": orjson.dumps(frame).decode()})
        await send({"type": "websocket.close", "code": 1000})

    async def _listen(self, receive: Receive, outbox: Outbox) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            try:
                frame = orjson.loads(message.get("text") or message.get("bytes") or b"")
            except orjson.JSONDecodeError:
                continue
            if isinstance(frame, dict) and "envelope_id" in frame:
                outbox.ack(str(frame["envelope_id"]), frame.get("payload") or {})
