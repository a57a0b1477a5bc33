"""Socket Mode: a connection of our own, so that it ends at once and its silence is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import orjson
import structlog
from slack_sdk.errors import SlackApiError

from bot.clock import Clock
from bot.errors import AccountLost, AccountRefused
from bot.faults import Step, reach
from bot.platforms.connection import AccountHealth
from bot.platforms.slack.client import SlackClient
from bot.platforms.slack.errors import CALL_ERRORS, DEAD_TOKEN, read_retry_after, refusal_name

log = structlog.get_logger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
LOST_AFTER = 120.0
AT_ONCE = 64
"""Envelopes that are worked on at the same time; more wait in the socket."""
_REFUSED = DEAD_TOKEN | {"missing_scope", "connections_not_enabled", "socket_mode_disabled", "forbidden_team"}
_ENDED = (
    aiohttp.WSMsgType.CLOSE,
    aiohttp.WSMsgType.CLOSING,
    aiohttp.WSMsgType.CLOSED,
    aiohttp.WSMsgType.ERROR,
)
Take = Callable[[dict[str, Any]], Awaitable[bool]]


class SlackSocket:
    """The receive loop of one account. `take` stores a payload and says whether to acknowledge it."""

    def __init__(
        self, account: str, client: SlackClient, take: Take, clock: Clock, health: AccountHealth
    ) -> None:
        self.connections = 0
        self._account = account
        self._client = client
        self._take = take
        self._clock = clock
        self._health = health
        self._failures = 0
        self._lost_at: float | None = None
        self._room = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Receive until cancelled. Raises AccountRefused or AccountLost."""
        while True:
            problem = await self._once()
            now = self._clock.now()
            self._lost_at = now if self._lost_at is None else self._lost_at
            silent = now - self._lost_at
            if silent >= LOST_AFTER:
                raise AccountLost(f"no connection to Slack for {silent:.0f} s: {problem}")
            if problem:
                self._health.mark_deaf(f"no connection to Slack: {problem}")
                log.warning("slack.connection_lost", account=self._account, reason=problem)
                await self._clock.sleep(min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE))
                self._failures += 1

    async def _once(self) -> str:
        """One connection; why it ended, "" where Slack asked for a new one."""
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
        self.connections += 1
        async with asyncio.TaskGroup() as group:
            while True:
                frame = await socket.receive()
                if frame.type in _ENDED:
                    return "closed by Slack"
                message = _parsed(frame)
                if message.get("type") == "disconnect":
                    log.info("slack.reconnecting", account=self._account, reason=str(message.get("reason")))
                    return ""
                if message.get("type") == "hello":
                    self._failures, self._lost_at = 0, None
                    self._health.mark_live()
                elif isinstance(message.get("envelope_id"), str):
                    await self._room.acquire()
                    group.create_task(self._handle(socket, message))

    async def _handle(self, socket: aiohttp.ClientWebSocketResponse, message: dict[str, Any]) -> None:
        """Store one payload, then acknowledge it; what cannot be told comes again and is known then."""
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


def _parsed(frame: aiohttp.WSMessage) -> dict[str, Any]:
    if frame.type is not aiohttp.WSMsgType.TEXT:
        return {}
    try:
        message = orjson.loads(frame.data)
    except orjson.JSONDecodeError:
        return {}
    return message if isinstance(message, dict) else {}
