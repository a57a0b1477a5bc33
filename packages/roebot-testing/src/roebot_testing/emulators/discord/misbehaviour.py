"""Faults of the emulated gateway, on demand."""

from __future__ import annotations

import asyncio
from typing import Any

from roebot_testing.emulators.discord.gateway import INVALID_SESSION, RECONNECT, Gateway
from roebot_testing.emulators.discord.wire import guild_wire
from roebot_testing.emulators.discord.workspace import DiscordWorkspace
from roebot_testing.emulators.server import LoopbackServer, Message, Scope


class Misbehaviour:
    """Faults of the gateway and of its sockets."""

    gateway: Gateway
    world: DiscordWorkspace
    _server: LoopbackServer
    _cutting: asyncio.Task[None]

    def disallow_content(self, allowed: bool = False) -> None:
        """Switch the privileged Message Content Intent off (or on) in the developer portal."""
        self.gateway.content_allowed = allowed

    def close_sockets(self, code: int = 1001) -> int:
        """Close every socket with a code; the session can be resumed."""
        return self.gateway.close(code)

    def cut_sockets(self) -> asyncio.Task[None]:
        """Cut every connection without a close code; await the task to be sure it happened."""
        self._cutting = asyncio.ensure_future(self._cut([socket.scope for socket in self.gateway.sockets]))
        return self._cutting

    def ask_to_reconnect(self) -> None:
        """Send RECONNECT."""
        self._to_all({"op": RECONNECT, "d": None})

    def garble(self) -> None:
        """Send a compressed frame that is cut off, as a faulty proxy would; the session can be resumed."""
        self._to_all(b"\x00\x01garbled\x00\x00\xff\xff")

    def invalidate_sessions(self) -> None:
        """End every session with INVALID_SESSION: no RESUME, and events are not stored."""
        self.gateway.invalidate()
        self._to_all({"op": INVALID_SESSION, "d": False})

    def go_away(self, code: int = 1001) -> None:
        """Take the gateway down: close sockets, drop sessions, refuse connections."""
        self.gateway.accepting = False
        self.gateway.invalidate()
        self.gateway.close(code)

    def come_back(self) -> None:
        """End `go_away` and `stall`."""
        self.gateway.accepting = True
        self.gateway.release()

    def stall(self) -> None:
        """Keep the sockets open but send nothing, heartbeat answers included."""
        self.gateway.stall()

    def release(self) -> None:
        """End `stall`."""
        self.gateway.release()

    def hold(self) -> None:
        """Collect events until `let_go`."""
        self.gateway.hold()

    def let_go(self, reverse: bool = False) -> None:
        """Send the collected events, optionally in reverse order."""
        self.gateway.let_go(reverse=reverse)

    def redeliver(self, count: int = 1) -> None:
        """Send the last events again, as new ones."""
        session = self.gateway.session
        for payload in list(session.events)[-count:] if session else []:
            self.gateway.emit(payload["t"], payload["d"])

    def duplicate(self, on: bool = True) -> None:
        """Send every event twice from now on."""
        self.gateway.twice = on

    def inject(self, event: str, data: Any) -> None:
        """Send an event as it is."""
        self.gateway.emit(event, data)

    def outage(self, guild: int, on: bool = True) -> None:
        """Make a guild unavailable, so that its events are not sent (`on` False: available again)."""
        place = self.world.guilds[guild]
        place.available = not on
        if on:
            self.gateway.emit("GUILD_DELETE", {"id": str(guild), "unavailable": True})
        else:
            self.gateway.emit("GUILD_CREATE", guild_wire(self.world, place))

    async def _cut(self, scopes: list[Scope]) -> None:
        async def gone() -> Message:
            return {"type": "http.disconnect"}

        for scope in scopes:
            await self._server.abort(scope, gone)

    def _to_all(self, payload: dict[str, Any] | bytes) -> None:
        for socket in self.gateway.sockets:
            socket.send(payload)
