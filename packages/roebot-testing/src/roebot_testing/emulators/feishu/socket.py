"""The long connection: `POST /callback/ws/endpoint`, then binary frames over a WebSocket."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.contacts import Credentials
from roebot_testing.emulators.feishu.errors import FeishuApiError
from roebot_testing.emulators.feishu.pushes import Push, Pushes
from roebot_testing.emulators.feishu.ws_frame import CONTROL, DATA, BadFrame, WsFrame, decode
from roebot_testing.emulators.http import Exchange
from roebot_testing.emulators.server import Receive, Scope, Send

ENDPOINT_PATH = "/callback/ws/endpoint"
SOCKET_PATH = "/ws/v2"
MOST_CONNECTIONS = 50
"""Connections of one app (open.feishu.cn, long connection)."""
PING_SECONDS = 120


@dataclass(slots=True)
class _Connection:
    send: Send
    service: int
    acks: dict[str, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    closing: asyncio.Event = field(default_factory=asyncio.Event)


class LongConnection:
    """Open connections of the app; an event goes to one of them at random."""

    def __init__(
        self, credentials: Credentials, pushes: Pushes, origin: Callable[[], str], *, seed: int = 0
    ) -> None:
        self.pings = 0
        self.answer_pings = True
        self.answer_acks = True
        self.refuse = ""
        self.fragment = 0
        self.acked: list[int] = []
        self._credentials = credentials
        self._pushes = pushes
        self._origin = origin
        self._open: list[_Connection] = []
        self._tickets: set[str] = set()
        self._serial = itertools.count(1)
        self._random = random.Random(seed)  # noqa: S311  which connection gets an event

    @property
    def count(self) -> int:
        """Number of open connections."""
        return len(self._open)

    async def endpoint(self, http: Exchange) -> None:
        """Answer with the URL to connect to."""
        call = FeishuCall()
        try:
            await call.read(http)
        except FeishuApiError as error:
            await http.answer(error.status, error.body())
            return
        body = call.body
        if not self._credentials.matches(body.get("AppID"), body.get("AppSecret")):
            await http.answer(200, {"code": 10014, "msg": "app secret invalid", "data": None})
            return
        if self.refuse:
            code, _, msg = self.refuse.partition(" ")
            await http.answer(200, {"code": int(code), "msg": msg, "data": None})
            return
        ticket = f"device{next(self._serial)}"
        self._tickets.add(ticket)
        url = f"{self._origin().replace('http', 'ws', 1)}{SOCKET_PATH}?device_id={ticket}&service_id=33554678"
        config = {
            "ReconnectCount": -1,
            "ReconnectInterval": 120,
            "ReconnectNonce": 30,
            "PingInterval": PING_SECONDS,
        }
        await http.answer(200, {"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": config}})

    async def connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a WebSocket, from handshake to close."""
        query = dict(part.partition("=")[::2] for part in scope["query_string"].decode().split("&"))
        await receive()
        if query.get("device_id") not in self._tickets or len(self._open) >= MOST_CONNECTIONS:
            await self._refuse(scope, send, full=len(self._open) >= MOST_CONNECTIONS)
            return
        self._tickets.discard(query["device_id"])
        await send({"type": "websocket.accept"})
        connection = _Connection(send, int(query.get("service_id", "0")))
        self._open.append(connection)
        self._pushes.line = self
        self._pushes.flush()
        try:
            await self._serve(connection, receive)
        finally:
            self._gone(connection)

    async def deliver(self, push: Push, seconds: float) -> dict[str, Any] | None:
        if not self._open:
            return None
        connection = self._random.choice(self._open)
        message_id = f"{push.id}-{next(self._serial)}"
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        connection.acks[message_id] = waiting
        try:
            for frame in self._frames(connection, push, message_id):
                await connection.send({"type": "websocket.send", "bytes": frame.encode()})
            found = await asyncio.wait_for(waiting, seconds)
        except (TimeoutError, OSError, RuntimeError):
            return None
        finally:
            connection.acks.pop(message_id, None)
        self.acked.append(int(found.get("code", 0)))
        return found if found.get("code") == 200 and self.answer_acks else None

    def close_all(self) -> int:
        """Close every connection from the server's side and return their number."""
        for connection in self._open:
            connection.closing.set()
        return len(self._open)

    async def send_raw(self, data: bytes) -> None:
        """Send arbitrary bytes to every connection."""
        for connection in list(self._open):
            await connection.send({"type": "websocket.send", "bytes": data})

    def _frames(self, connection: _Connection, push: Push, message_id: str) -> list[WsFrame]:
        payload = orjson.dumps(push.event)
        size = self.fragment or len(payload) or 1
        pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
        frames = []
        for index, piece in enumerate(pieces):
            headers = {
                "type": "event",
                "message_id": message_id,
                "sum": str(len(pieces)),
                "seq": str(index),
                "trace_id": f"trace-{message_id}",
            }
            frames.append(WsFrame(DATA, headers, piece, connection.service, seq_id=index))
        return frames

    async def _serve(self, connection: _Connection, receive: Receive) -> None:
        closing = asyncio.create_task(connection.closing.wait(), name="emulator:closes")
        try:
            while True:
                incoming = asyncio.ensure_future(receive())
                await asyncio.wait({closing, incoming}, return_when=asyncio.FIRST_COMPLETED)
                if closing.done():
                    incoming.cancel()
                    await connection.send({"type": "websocket.close", "code": 1001})
                    return
                message = incoming.result()
                if message["type"] == "websocket.disconnect":
                    return
                await self._take(connection, message.get("bytes") or b"")
        finally:
            closing.cancel()

    async def _take(self, connection: _Connection, data: bytes) -> None:
        try:
            frame = decode(data)
        except BadFrame:
            return
        if frame.method == CONTROL and frame.headers.get("type") == "ping":
            self.pings += 1
            if self.answer_pings:
                pong = WsFrame(CONTROL, {"type": "pong"}, b"", frame.service)
                await connection.send({"type": "websocket.send", "bytes": pong.encode()})
            return
        waiting = connection.acks.get(frame.headers.get("message_id", ""))
        if waiting is not None and not waiting.done():
            waiting.set_result(_answer(frame.payload))

    def _gone(self, connection: _Connection) -> None:
        self._open.remove(connection)
        for waiting in connection.acks.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("closed"))
        if not self._open and self._pushes.line is self:
            self._pushes.line = None

    async def _refuse(self, scope: Scope, send: Send, *, full: bool) -> None:
        headers = [(b"handshake-status", b"514"), (b"handshake-msg", b"auth failed")]
        if full:
            headers.append((b"handshake-autherrcode", b"1000040350"))
        if "websocket.http.response" in (scope.get("extensions") or {}):
            await send({"type": "websocket.http.response.start", "status": 403, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": b""})
        else:
            await send({"type": "websocket.close", "code": 1008})


def _answer(payload: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with contextlib.suppress(orjson.JSONDecodeError):
        loaded = orjson.loads(payload)
        if isinstance(loaded, dict):
            found = loaded
    if isinstance(found.get("data"), str):
        with contextlib.suppress(ValueError):
            found["data"] = orjson.loads(base64.b64decode(found["data"]))
    return found
