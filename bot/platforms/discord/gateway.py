"""The gateway connection: the SDK's protocol (heartbeat, RESUME, compression) with our own event readers.

The SDK's readers build objects of everything in every server, and one malformed payload ends the connection.
Ours read only what the bot needs, and count malformed payloads. The SDK's loop takes a first connection that
fails and a frame that can't be read for errors of the program; ours opens another connection.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import structlog

from bot.clock import Clock
from bot.errors import AccountLost
from bot.platforms.connection import AccountHealth, ReconnectBackoff
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.rest import DiscordRest
from bot.platforms.discord.sdk import DECOMPRESSION_ERRORS, discord
from bot.platforms.payload import Json

log = structlog.get_logger(__name__)

INTENTS = discord.Intents(guilds=True, messages=True, message_content=True)
OPEN_SECONDS = 60.0
"""For a connection with HELLO and the pause before a new session."""
HEARTBEAT_SECONDS = 41.25
"""Seconds between two heartbeats, until a connection's HELLO names its own
(docs.discord.com/developers/events/gateway#hello-event)."""
DEAF_GRACE, TIMEOUT_GRACE = 8.0, 20.0
"""Seconds of silence after a heartbeat was due: then it is reported, and then the connection is given up."""
IDENTIFY_INTERVAL = 5.0
"""Seconds between two new sessions
(docs.discord.com/developers/events/gateway#rate-limiting, max_concurrency 1)."""
DISALLOWED_INTENTS = 4014
"""Close code (docs.discord.com/developers/topics/opcodes-and-status-codes#gateway)."""
CHECK_INTERVAL = 5.0
PLAUSIBLE = 0.97
"""Part of an interval that a latency may be. The SDK notes the time of a heartbeat after sending it: if the
answer is faster than the note, it seems one interval late."""
LOST_AFTER = 90.0
"""Seconds. The SDK's own pauses grow to minutes: a restart of the account is faster then."""

_UNREADABLE: tuple[type[Exception], ...] = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    *DECOMPRESSION_ERRORS,
)
_BROKEN = (
    OSError,
    TimeoutError,
    aiohttp.ClientError,
    discord.HTTPException,
    discord.GatewayNotFound,
    discord.ConnectionClosed,
)
"""Errors after which another connection may work."""
Reader = Callable[[Json], None]


class FrameUnreadable(discord.gateway.ReconnectWebSocket):
    """The gateway sent an unreadable frame."""


class GatewaySocket(discord.gateway.DiscordWebSocket):
    """A connection. An unreadable frame closes it, and the session is resumed on another one."""

    interval = HEARTBEAT_SECONDS

    async def received_message(self, msg: Any, /) -> None:
        """Handle a frame. Raises ReconnectWebSocket."""
        try:
            await super().received_message(msg)
        except _UNREADABLE as error:
            log.warning("discord.frame_unreadable", reason=type(error).__name__)
            await self.close()
            raise FrameUnreadable(self.shard_id) from None
        heartbeat = self._keep_alive
        if heartbeat is not None and heartbeat.interval and heartbeat.interval != self.interval:
            self.interval = heartbeat.interval
            self._max_heartbeat_timeout = heartbeat.heartbeat_timeout = self.interval + TIMEOUT_GRACE


class GatewayClient(discord.Client):
    """A client that passes events to `readers` by name, and calls `on_lost` for each lost connection."""

    def __init__(
        self, rest: DiscordRest, readers: Mapping[str, Reader], on_lost: Callable[[], None], clock: Clock
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._readers = readers
        self._on_lost = on_lost
        super().__init__(
            intents=INTENTS,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
            heartbeat_timeout=HEARTBEAT_SECONDS + TIMEOUT_GRACE,
        )

    @property
    def interval(self) -> float:
        """Seconds between two heartbeats of the current connection."""
        return self.ws.interval if isinstance(self.ws, GatewaySocket) else HEARTBEAT_SECONDS

    async def connect(self, *, reconnect: bool = True) -> None:
        """Stay connected until closed. Raises AccountLost if no connection could be opened, and the SDK's
        PrivilegedIntentsRequired and ConnectionClosed if retrying is pointless.
        """
        backoff = ReconnectBackoff(self._clock)
        session: dict[str, Any] = {"initial": True}
        while not self.is_closed():
            resume, heard = True, False
            try:
                self.ws = await asyncio.wait_for(GatewaySocket.from_client(self, **session), OPEN_SECONDS)
                while True:
                    await self.ws.poll_event()
                    heard = True
            except discord.gateway.ReconnectWebSocket as request:
                problem: Exception = request
                resume, heard = request.resume, heard and not isinstance(request, FrameUnreadable)
            except _BROKEN as error:
                problem, heard = error, False
            if self.is_closed():
                return
            self._on_lost()
            _raise_final(problem)
            if not isinstance(self.ws, GatewaySocket):
                raise AccountLost(f"cannot connect to Discord's gateway: {_describe(problem)}")
            session = {"sequence": self.ws.sequence, "session": self.ws.session_id, "resume": resume}
            session |= {"gateway": self.ws.gateway} if resume else {}
            if heard:
                backoff.mark_connected()
            else:
                await backoff.pause()

    def _get_state(self, **options: Any) -> Any:
        # Called during construction: state and client get the HTTP client of the account here.
        self.http = self._rest
        state = super()._get_state(**options)
        state.parsers = dict(self._readers)
        return state

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait by the account's clock instead of the machine's, which the SDK uses."""
        if not initial:
            await self._clock.sleep(IDENTIFY_INTERVAL)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Do nothing, since the SDK's events have no listeners."""


class HeartbeatWatchdog:
    """Watches a connection: heartbeats are signs of life, and long silence is reported."""

    def __init__(self, clock: Clock, health: AccountHealth, asks: CommandUses) -> None:
        self._clock = clock
        self._health = health
        self._asks = asks
        self._lost_at = math.inf

    def note_lost(self) -> None:
        """Record a broken connection; the SDK reconnects."""
        self._lost_at = min(self._lost_at, self._clock.now())
        self._health.mark_connecting("the connection to Discord was lost; reconnecting")

    async def run(self, client: GatewayClient) -> None:
        """Check every few seconds. Raises AccountLost if the connection is not restored."""
        latency = math.inf
        while True:
            await self._clock.sleep(CHECK_INTERVAL)
            await self._asks.expire()
            now = self._clock.now()
            if client.ws is not None and client.ws.latency not in (latency, math.inf):
                latency = client.ws.latency
                self._health.mark_live(describe_heartbeat(latency, client.interval))
            silent = now - self._health.last_event_at
            if self._health.last_event_at > self._lost_at:
                self._lost_at = math.inf
            if now - self._lost_at >= LOST_AFTER:
                raise AccountLost(f"no connection to Discord for {now - self._lost_at:.0f} s")
            if self._lost_at == math.inf and silent >= client.interval + DEAF_GRACE:
                self._health.mark_deaf(f"nothing heard from Discord for {silent:.0f} s")


def describe_heartbeat(latency: float, interval: float) -> str:
    """Format a heartbeat's latency (s); "" for a latency that is implausible at this interval (s)."""
    return f"heartbeat {latency * 1000:.0f} ms" if latency < interval * PLAUSIBLE else ""


def _raise_final(problem: Exception) -> None:
    """Raise the error of a permanently closed connection; code 1000 is not an error."""
    if isinstance(problem, discord.ConnectionClosed) and problem.code != 1000:
        if problem.code == DISALLOWED_INTENTS:
            raise discord.PrivilegedIntentsRequired(problem.shard_id) from None
        raise problem


def _describe(problem: Exception) -> str:
    if isinstance(problem, FrameUnreadable):
        return "it sent a frame that can't be read"
    if isinstance(problem, discord.gateway.ReconnectWebSocket):
        return "the connection ended before it was ready"
    return str(problem) or f"no answer within {OPEN_SECONDS:.0f} s"
