"""The long connection, on the service's own loop; events are acknowledged after they are stored.

Implemented here because the SDK's client has one loop for the whole process and cannot be stopped. Each event
has a task, so that a slow one delays no others; `FeishuEventHandler` keeps the order within a chat.
"""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import orjson
import structlog

from bot.clock import Clock
from bot.errors import AccountRefused, RoebotError
from bot.platforms.connection import AccountHealth, ReconnectBackoff, open_task_group
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.content import parse_object
from bot.platforms.feishu.errors import FeishuRefused, FeishuUnreached
from bot.platforms.feishu.event_handler import FeishuEventHandler
from bot.platforms.feishu.sdk import Frame, FrameType, MessageType, ws_const
from bot.platforms.feishu.ws_frame import (
    UnreadableFrame,
    build_acknowledgement,
    build_ping,
    decode_frame,
    read_headers,
)
from bot.platforms.payload import Malformed

log = structlog.get_logger(__name__)

PING_SECONDS = 30.0
"""Longest ping interval (s), even if the server asks for a longer one: pings reveal a dead connection."""
SILENT_PINGS = 2
MAX_EVENTS = 256
"""Events that are stored at the same time."""
MAX_WAITING = 1024
"""Events that wait for that in memory. Further ones are not acknowledged, so that Feishu sends them again: a
reader that waited for room would miss the answers to its pings.
"""
_PIECES, _COMBINING = 64, 32
_EVENTS = (MessageType.EVENT.value, MessageType.CARD.value)
_PASSING_CODES = frozenset({ws_const.SYSTEM_BUSY, ws_const.INTERNAL_ERROR, ws_const.EXCEED_CONN_LIMIT})
"""Refusals after which trying again helps."""


class FeishuSocket:
    """Receives an account's events until cancelled."""

    def __init__(
        self,
        account: str,
        client: FeishuClient,
        events: FeishuEventHandler,
        clock: Clock,
        health: AccountHealth,
    ) -> None:
        self._account = account
        self._client = client
        self._events = events
        self._clock = clock
        self._health = health
        self._backoff = ReconnectBackoff(clock)
        self._unanswered = 0
        self._room = asyncio.Semaphore(MAX_EVENTS)
        self._received = 0

    async def run(self) -> None:
        """Connect, receive and reconnect until cancelled. Raises AccountRefused or AccountLost."""
        # Storing an event can outlive its connection; the event is then not acknowledged, and delivered
        # again.
        async with open_task_group() as storing:
            while True:
                reason = await self._connect_once(storing)
                self._backoff.give_up_if_lost("no connection to Feishu", reason)
                self._health.mark_deaf(f"connecting to Feishu again: {reason}")
                log.info("feishu.reconnecting", account=self._account, reason=reason)
                await self._backoff.pause()

    async def _connect_once(self, storing: asyncio.TaskGroup) -> str:
        """Receive over one connection; return why it was closed."""
        try:
            endpoint = await self._client.find_endpoint()
            url = endpoint.get("URL")
            if not isinstance(url, str) or urlsplit(url).scheme not in ("ws", "wss"):
                return "Feishu names no address for the long connection"
            socket = await self._client.connect(url)
        except FeishuRefused as refused:
            return self._handle_refusal(refused)
        except FeishuUnreached as problem:
            return str(problem)
        except (aiohttp.WSServerHandshakeError, TimeoutError) as error:
            return _describe_handshake(error)
        try:
            return await self._serve(socket, endpoint, _service_id(url), storing)
        finally:
            await socket.close()

    def _handle_refusal(self, refused: FeishuRefused) -> str:
        if refused.status >= 500 or refused.status == 429 or refused.code in _PASSING_CODES:
            return str(refused)
        raise AccountRefused(
            f"Feishu refuses the long connection of account {self._account} ({refused}): check app id and "
            "secret, and that the app is self-built and receives events by persistent connection"
        )

    async def _serve(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        endpoint: Mapping[str, Any],
        service: int,
        storing: asyncio.TaskGroup,
    ) -> str:
        self._events.counts.connections += 1
        self._note_frame()
        pinging = asyncio.create_task(
            self._ping(socket, _ping_interval(endpoint), service), name="feishu-ping"
        )
        pieces = _FramePieces()
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.BINARY:
                    self._receive_frame(socket, message.data, pieces, storing)
        except (aiohttp.ClientError, OSError) as error:
            return f"the connection broke off ({type(error).__name__})"
        finally:
            pinging.cancel()
            await asyncio.gather(pinging, return_exceptions=True)
        if self._unanswered >= SILENT_PINGS:
            return "no answer to pings"
        return f"the connection was closed ({socket.close_code})"

    def _receive_frame(
        self,
        socket: aiohttp.ClientWebSocketResponse,
        data: bytes,
        pieces: _FramePieces,
        storing: asyncio.TaskGroup,
    ) -> None:
        """Start storing the event completed by a frame."""
        try:
            frame = decode_frame(data)
        except UnreadableFrame as error:
            self._events.count_malformed(f"no frame: {error}")
            return
        self._note_frame()
        headers = read_headers(frame)
        if frame.method != FrameType.DATA.value or headers.get(ws_const.HEADER_TYPE) not in _EVENTS:
            return
        payload = pieces.add(headers, frame.payload)
        if payload is None:
            return
        if self._received >= MAX_EVENTS + MAX_WAITING:
            self._events.counts.postponed += 1
            log.warning("feishu.event_postponed", account=self._account)
            return
        self._received += 1
        task = storing.create_task(self._answer(socket, frame, payload), name="feishu-event")
        task.add_done_callback(self._note_done)

    def _note_done(self, task: asyncio.Task[None]) -> None:
        del task
        self._received -= 1

    async def _answer(self, socket: aiohttp.ClientWebSocketResponse, frame: Frame, payload: bytes) -> None:
        """Store an event when there is room; acknowledge it unless its connection is closed by then."""
        async with self._room:
            answer = orjson.dumps(await self._store_payload(payload))
        try:
            await socket.send_bytes(build_acknowledgement(frame, answer))
        except (aiohttp.ClientError, OSError) as error:
            log.info("feishu.not_acknowledged", account=self._account, reason=type(error).__name__)
            return
        self._events.mark_acknowledged()

    async def _store_payload(self, payload: bytes) -> dict[str, Any]:
        try:
            answer = await self._events.store_event(parse_object(payload))
        except Malformed as error:
            self._events.count_malformed(str(error))
            return {"code": 200}
        except RoebotError as error:
            log.warning("feishu.event_not_stored", account=self._account, reason=str(error))
            return {"code": 500}
        except Exception as error:  # noqa: BLE001 - supervisor: one event ends no other and not the account
            log.error("feishu.event_failed", account=self._account, reason=type(error).__name__)
            return {"code": 500}
        return {"code": 200, "data": base64.b64encode(orjson.dumps(answer)).decode()}

    async def _ping(self, socket: aiohttp.ClientWebSocketResponse, every: float, service: int) -> None:
        while True:
            if self._unanswered >= SILENT_PINGS:
                await socket.close()
                return
            self._unanswered += 1
            try:
                await socket.send_bytes(build_ping(service))
            except (aiohttp.ClientError, OSError):
                return  # The receiving side notices it too.
            await self._clock.sleep(every)

    def _note_frame(self) -> None:
        self._backoff.mark_connected()
        self._unanswered = 0
        self._health.mark_live()


class _FramePieces:
    """Events in several frames, until complete."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, dict[int, bytes]] = OrderedDict()

    def add(self, headers: Mapping[str, str], payload: bytes) -> bytes | None:
        """Add a piece; return the whole payload with the last piece, otherwise None."""
        total = _read_count(headers, ws_const.HEADER_SUM, 1)
        index = _read_count(headers, ws_const.HEADER_SEQ, 0)
        if total <= 1:
            return payload
        if total > _PIECES or index >= total:
            return None
        key = headers.get(ws_const.HEADER_MESSAGE_ID, "")
        held = self._held.setdefault(key, {})
        held[index] = payload
        if len(held) == total:
            del self._held[key]
            return b"".join(held[number] for number in range(total))
        while len(self._held) > _COMBINING:
            self._held.popitem(last=False)
        return None


def _read_count(headers: Mapping[str, str], key: str, default: int) -> int:
    text = headers.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else default


def _ping_interval(endpoint: Mapping[str, Any]) -> float:
    config = endpoint.get("ClientConfig")
    seconds = config.get("PingInterval") if isinstance(config, dict) else None
    return min(float(seconds), PING_SECONDS) if isinstance(seconds, int) and seconds > 0 else PING_SECONDS


def _service_id(url: str) -> int:
    found = parse_qs(urlsplit(url).query).get(ws_const.SERVICE_ID, ["0"])[0]
    return int(found) if found.isascii() and found.isdecimal() and len(found) < 10 else 0


def _describe_handshake(error: Exception) -> str:
    headers = getattr(error, "headers", None) or {}
    if headers.get(ws_const.HEADER_HANDSHAKE_AUTH_ERRCODE) == str(ws_const.EXCEED_CONN_LIMIT):
        return "the app has too many long connections already (50)"
    return f"the handshake failed ({headers.get(ws_const.HEADER_HANDSHAKE_MSG) or type(error).__name__})"
