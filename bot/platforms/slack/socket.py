"""Socket Mode over our own WebSocket.

The SDK's own client retries for ever, with a revoked token too, and does not notice a dead connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson
import structlog
from slack_sdk.errors import SlackApiError

from bot.clock import Clock
from bot.errors import AccountRefused
from bot.faults import Step, reach
from bot.platforms.connection import AccountHealth, ReconnectBackoff
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS, DEAD_TOKEN, read_retry_after, refusal_name

log = structlog.get_logger(__name__)

AT_ONCE = 64
"""Envelopes that are stored at the same time; more wait in the socket."""
_REFUSED = DEAD_TOKEN | {"missing_scope", "connections_not_enabled", "socket_mode_disabled", "forbidden_team"}
_ENDED = (
    aiohttp.WSMsgType.CLOSE,
    aiohttp.WSMsgType.CLOSING,
    aiohttp.WSMsgType.CLOSED,
    aiohttp.WSMsgType.ERROR,
)
Take = Callable[[dict[str, Any]], Awaitable[bool]]


class SlackSocket:
    """Receive loop of an account. `take` stores a payload and returns whether it may be acknowledged."""

    def __init__(
        self, account: str, client: SlackClient, take: Take, clock: Clock, health: AccountHealth
    ) -> None:
        self._account = account
        self._client = client
        self._take = take
        self._clock = clock
        self._health = health
        self._backoff = ReconnectBackoff(clock)
        self._away = False
        self._room = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Receive until cancelled. Raises AccountRefused or AccountLost."""
        while True:
            problem = await self._connect_once()
            if not self._away:
                # The time without a connection starts here, since a quiet connection receives no frames for
                # hours.
                self._away = True
                self._backoff.mark_connected()
            self._backoff.give_up_if_lost("no connection to Slack", problem)
            if problem:
                self._health.mark_deaf(f"no connection to Slack: {problem}")
                log.warning("slack.connection_lost", account=self._account, reason=problem)
                await self._backoff.pause()

    async def _connect_once(self) -> str:
        """Receive over one connection; return why it was closed, or "" if Slack requested a new one."""
        try:
            address = await self._client.socket_address()
            async with self._client.socket(address) as socket:
                return await self._receive(socket)
        except SlackApiError as error:
            name = refusal_name(error)
            if name in _REFUSED:
                raise AccountRefused(
                    f"Slack refuses the app_token of account {self._account} ({name}): generate one with "
                    "connections:write on Basic Information, and switch Socket Mode on"
                ) from None
            if error.response.status_code == 429:
                await self._clock.sleep(read_retry_after(error))
            return name or f"HTTP status {error.response.status_code}"
        except CALL_ERRORS as error:
            return f"the connection broke off ({type(error).__name__})"

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> str:
        async with asyncio.TaskGroup() as group:
            while True:
                frame = await socket.receive()
                if frame.type in _ENDED:
                    return "closed by Slack"
                message = _parse_frame(frame)
                if message.get("type") == "disconnect":
                    log.info("slack.reconnecting", account=self._account, reason=str(message.get("reason")))
                    return ""
                if message.get("type") == "hello":
                    self._away = False
                    self._health.mark_live()
                elif isinstance(message.get("envelope_id"), str):
                    await self._room.acquire()
                    group.create_task(self._handle(socket, message))

    async def _handle(self, socket: aiohttp.ClientWebSocketResponse, message: dict[str, Any]) -> None:
        """Store a payload, then acknowledge it; on failure, Slack resends it."""
        try:
            payload = message.get("payload")
            if await self._take(payload if isinstance(payload, dict) else {}):
                answer = orjson.dumps({"envelope_id": message["envelope_id"]}).decode()
                await socket.send_str(answer)
                reach(Step.ACKNOWLEDGED)
        except (aiohttp.ClientError, ConnectionError):
            log.info("slack.ack_lost", account=self._account)
        finally:
            self._room.release()


def _parse_frame(frame: aiohttp.WSMessage) -> dict[str, Any]:
    if frame.type is not aiohttp.WSMsgType.TEXT:
        return {}
    try:
        message = orjson.loads(frame.data)
    except orjson.JSONDecodeError:
        return {}
    return message if isinstance(message, dict) else {}
