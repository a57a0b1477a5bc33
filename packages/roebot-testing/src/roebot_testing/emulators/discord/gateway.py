"""The gateway: sessions with numbered events, HELLO, IDENTIFY, heartbeats, RESUME and close codes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.discord.wire import guild_wire
from roebot_testing.emulators.discord.workspace import DiscordWorkspace
from roebot_testing.emulators.server import Receive, Scope, Send

UNKNOWN_OPCODE, DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED = 4001, 4002, 4003, 4004
ALREADY_AUTHENTICATED, INVALID_SEQUENCE, RATE_LIMITED = 4005, 4007, 4008
INVALID_INTENTS, DISALLOWED_INTENTS = 4013, 4014
"""Close codes (docs.discord.com/developers/topics/opcodes-and-status-codes#gateway)."""
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 7, 9, 10, 11
_IGNORED = frozenset({3, 4, 8})
HEARTBEAT_SECONDS = 41.25
KEPT = 1000
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
"""Intents (docs.discord.com/developers/events/gateway#list-of-intents)."""
_INTENTS = sum(1 << bit for bit in (*range(17), 20, 21, 24, 25))
PAYLOAD_BYTES = 4096
"""Most bytes that an app may send (docs.discord.com/developers/events/gateway#sending-events)."""
SENT, SENT_SECONDS = 120, 60.0
"""Payloads that an app may send on one connection
(docs.discord.com/developers/events/gateway#rate-limiting)."""
_ALWAYS = frozenset({"READY", "RESUMED", "INTERACTION_CREATE"})

Json = dict[str, Any]


@dataclass(slots=True)
class GatewaySession:
    """One session of the bot; `send` writes to its socket, None while it has none."""

    id: str
    intents: int
    bot_id: str
    sequence: int = 0
    events: deque[Json] = field(default_factory=lambda: deque(maxlen=KEPT))
    send: Callable[[Json], None] | None = None

    def emit(self, event: str, data: Json) -> None:
        """Number, store and send an event if the intents include it."""
        if not self._is_subscribed(event, data):
            return
        self.sequence += 1
        payload = {"op": 0, "t": event, "s": self.sequence, "d": self._without_content(event, data)}
        self.events.append(payload)
        if self.send is not None:
            self.send(payload)

    def since(self, sequence: int) -> list[Json] | None:
        """Return the events after a number; None if they are no longer stored."""
        if self.events and self.events[0]["s"] > sequence + 1:
            return None
        return [payload for payload in self.events if payload["s"] > sequence]

    def _is_subscribed(self, event: str, data: Json) -> bool:
        if event in _ALWAYS:
            return True
        if not event.startswith("MESSAGE_"):
            return bool(self.intents & GUILDS)
        return bool(self.intents & (GUILD_MESSAGES if "guild_id" in data else DIRECT_MESSAGES))

    def _without_content(self, event: str, data: Json) -> Json:
        """Empty the messages of guilds that do not mention the bot, without the privileged intent."""
        if self.intents & MESSAGE_CONTENT or event != "MESSAGE_CREATE" or "guild_id" not in data:
            return data
        involved = [data["author"], *data["mentions"]]
        if any(person["id"] == self.bot_id for person in involved):
            return data
        return {**data, "content": "", "attachments": [], "embeds": [], "components": []}


class Socket:
    """A connection, whose payloads go through a queue that preserves their order."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.session: GatewaySession | None = None
        self.received: deque[float] = deque(maxlen=SENT)
        """When the last payloads came."""
        self._queue: asyncio.Queue[Json | bytes | int] = asyncio.Queue()

    def send(self, payload: Json | bytes) -> None:
        """Queue a payload; bytes are sent as they are."""
        self._queue.put_nowait(payload)

    def close(self, code: int) -> None:
        """Close once the queue is sent."""
        self._queue.put_nowait(code)

    async def write(self, send: Send, held: Callable[[], asyncio.Event]) -> None:
        """Send the queue until closed, and only while `held` is set."""
        while True:
            item = await self._queue.get()
            if isinstance(item, int):
                await send({"type": "websocket.close", "code": item})
                return
            await held().wait()
            if isinstance(item, bytes):
                await send({"type": "websocket.send", "bytes": item})
            else:
                await send({"type": "websocket.send", "text": orjson.dumps(item).decode()})


class Gateway:
    """Sessions and sockets of one bot. `accepting` False refuses connections, `twice` sends each event
    twice."""

    def __init__(
        self, world: DiscordWorkspace, knows: Callable[[str], bool], monotonic: Callable[[], float]
    ) -> None:
        self.accepting = True
        self.twice = False
        self.content_allowed = True
        self.url = ""
        self.heartbeat = HEARTBEAT_SECONDS
        self.sockets: list[Socket] = []
        self.sessions: dict[str, GatewaySession] = {}
        self.identified = self.resumed = self.heartbeats = 0
        self._world = world
        self._knows = knows
        self._monotonic = monotonic
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._late: list[tuple[str, Json]] | None = None

    @property
    def session(self) -> GatewaySession | None:
        """The newest session."""
        return next(reversed(self.sessions.values()), None)

    def emit(self, event: str, data: Json) -> None:
        """Send an event to the bot, or store it for its RESUME."""
        if self._late is not None:
            self._late.append((event, data))
            return
        if self.session is not None and not self._out(data):
            for _ in range(2 if self.twice else 1):
                self.session.emit(event, data)

    def stall(self) -> None:
        """Send nothing, heartbeats included."""
        self._flowing.clear()

    def release(self) -> None:
        """End `stall`."""
        self._flowing.set()

    def hold(self) -> None:
        """Collect events until `let_go`."""
        self._late = []

    def let_go(self, *, reverse: bool) -> None:
        """Send the events collected by `hold`, optionally in reverse order."""
        late, self._late = self._late or [], None
        for event, data in reversed(late) if reverse else late:
            self.emit(event, data)

    def close(self, code: int) -> int:
        """Close every socket and return their number."""
        for socket in self.sockets:
            socket.close(code)
        return len(self.sockets)

    def invalidate(self) -> None:
        """Drop every session: a RESUME is refused, and events are not stored until a new one starts."""
        for session in self.sessions.values():
            session.send = None
        self.sessions.clear()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, from handshake to close."""
        await receive()
        if not self.accepting:
            await send({"type": "websocket.close", "code": 1013})
            return
        await send({"type": "websocket.accept"})
        socket = Socket(scope)
        self.sockets.append(socket)
        writer = asyncio.create_task(socket.write(send, lambda: self._flowing), name="emulator:writes")
        socket.send({"op": HELLO, "d": {"heartbeat_interval": int(self.heartbeat * 1000)}})
        try:
            while (message := await receive())["type"] == "websocket.receive":
                self._take(socket, message.get("text") or message.get("bytes") or "")
        finally:
            self._gone(socket)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    def _out(self, data: Json) -> bool:
        """Return whether an event belongs to an unavailable guild."""
        guild = self._world.guilds.get(int(data.get("guild_id") or 0)) if "guild_id" in data else None
        return guild is not None and not guild.available

    def _gone(self, socket: Socket) -> None:
        self.sockets.remove(socket)
        if socket.session is not None and socket.session.send == socket.send:
            socket.session.send = None

    def _take(self, socket: Socket, text: str | bytes) -> None:
        now = self._monotonic()
        if len(socket.received) == SENT and now - socket.received[0] < SENT_SECONDS:
            socket.close(RATE_LIMITED)
            return
        socket.received.append(now)
        if len(text if isinstance(text, bytes) else text.encode()) > PAYLOAD_BYTES:
            socket.close(DECODE_ERROR)
            return
        try:
            payload = orjson.loads(text)
            op, data = payload["op"], payload.get("d")
        except (orjson.JSONDecodeError, TypeError, KeyError):
            socket.close(DECODE_ERROR)
            return
        if op == HEARTBEAT:
            self.heartbeats += 1
            socket.send({"op": ACK})
        elif op == IDENTIFY:
            self._identify(socket, data)
        elif op == RESUME:
            self._resume(socket, data)
        elif op not in _IGNORED:
            socket.close(UNKNOWN_OPCODE)
        elif socket.session is None:
            socket.close(NOT_AUTHENTICATED)

    def _identify(self, socket: Socket, data: Any) -> None:
        if not isinstance(data, dict) or not self._knows(str(data.get("token"))):
            socket.close(AUTHENTICATION_FAILED)
            return
        if socket.session is not None:
            socket.close(ALREADY_AUTHENTICATED)
            return
        intents = int(data.get("intents", 0))
        if intents & ~_INTENTS:
            socket.close(INVALID_INTENTS)
            return
        if intents & MESSAGE_CONTENT and not self.content_allowed:
            socket.close(DISALLOWED_INTENTS)
            return
        self.identified += 1
        session = GatewaySession(f"session{self._world.snowflake()}", intents, str(self._world.bot.id))
        self.sessions = {session.id: session}
        self._attach(socket, session)
        guilds = [guild for guild in self._world.guilds.values() if guild.present]
        session.emit("READY", self._ready(session, [str(guild.id) for guild in guilds]))
        for guild in guilds:
            if guild.available:
                session.emit("GUILD_CREATE", guild_wire(self._world, guild))

    def _ready(self, session: GatewaySession, guilds: list[str]) -> Json:
        app = {"id": str(self._world.bot.id), "flags": 1 << 19}
        return {
            "v": 10,
            "user": {**self._world.bot.wire(), "verified": True, "mfa_enabled": False, "flags": 0},
            "guilds": [{"id": guild, "unavailable": True} for guild in guilds],
            "private_channels": [],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": app,
        }

    def _resume(self, socket: Socket, data: Any) -> None:
        if not isinstance(data, dict) or not self._knows(str(data.get("token"))):
            socket.close(AUTHENTICATION_FAILED)
            return
        session = self.sessions.get(str(data.get("session_id")))
        sequence = int(data.get("seq") or 0)
        if session is not None and sequence > session.sequence:
            socket.close(INVALID_SEQUENCE)
            return
        missed = session.since(sequence) if session else None
        if session is None or missed is None:
            socket.send({"op": INVALID_SESSION, "d": False})
            return
        self.resumed += 1
        self._attach(socket, session)
        for payload in missed:
            socket.send(payload)
        session.emit("RESUMED", {"_trace": []})

    def _attach(self, socket: Socket, session: GatewaySession) -> None:
        socket.session = session
        session.send = socket.send
