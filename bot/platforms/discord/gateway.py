"""The gateway connection: the SDK's protocol (heartbeat, RESUME, compression) with our own event readers.

The SDK's readers build objects of everything in every server, and one malformed payload ends the connection.
Ours read only what the bot needs, and count malformed payloads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bot.clock import Clock
from bot.errors import AccountLost
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.rest import DiscordRest
from bot.platforms.discord.sdk import discord
from bot.platforms.payload import Json

INTENTS = discord.Intents(guilds=True, messages=True, message_content=True)
HEARTBEAT_TIMEOUT = 60.0
IDENTIFY_INTERVAL = 5.0
"""Seconds between two new sessions
(docs.discord.com/developers/events/gateway#rate-limiting, max_concurrency 1)."""
CHECK_INTERVAL = 5.0
DEAF_AFTER = 50.0
"""Seconds. Discord answers a heartbeat every 41 s; after a minute of silence the SDK reconnects."""
PLAUSIBLE_LATENCY = 40.0
"""Seconds. The SDK notes the time of a heartbeat after sending it: an answer that is faster than the note
seems one interval (41 s) late."""
LOST_AFTER = 90.0
"""Seconds. The SDK's own pauses grow to minutes: a restart of the account is faster then."""

Reader = Callable[[Json], None]


class GatewayClient(discord.Client):
    """A client that passes events to `readers` by name, and calls `on_lost` for each broken connection."""

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
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
        )

    def _get_state(self, **options: Any) -> Any:
        # Called during construction: state and client get the HTTP client of the account here.
        self.http = self._rest
        state = super()._get_state(**options)
        state.parsers = dict(self._readers)
        return state

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Wait by the account's clock; the SDK waits by the machine's."""
        if not initial:
            await self._clock.sleep(IDENTIFY_INTERVAL)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Report the end of a connection; nothing listens to other events of the SDK."""
        if event == "disconnect":
            self._on_lost()


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
        self._health.mark_connecting("the connection to Discord broke; it is being opened again")

    async def run(self, client: discord.Client) -> None:
        """Check every few seconds. Raises AccountLost where the connection does not come back."""
        latency = math.inf
        while True:
            await self._clock.sleep(CHECK_INTERVAL)
            await self._asks.expire()
            now = self._clock.now()
            if client.ws is not None and client.ws.latency not in (latency, math.inf):
                latency = client.ws.latency
                self._health.mark_live(describe_heartbeat(latency))
            silent = now - self._health.last_event_at
            if self._health.last_event_at > self._lost_at:
                self._lost_at = math.inf
            if now - self._lost_at >= LOST_AFTER:
                raise AccountLost(f"no connection to Discord for {now - self._lost_at:.0f} s")
            if self._lost_at == math.inf and silent >= DEAF_AFTER:
                self._health.mark_deaf(f"nothing heard from Discord for {silent:.0f} s")


def describe_heartbeat(latency: float) -> str:
    """Format a heartbeat's latency (s); "" for an implausible one."""
    return f"heartbeat {latency * 1000:.0f} ms" if latency < PLAUSIBLE_LATENCY else ""
