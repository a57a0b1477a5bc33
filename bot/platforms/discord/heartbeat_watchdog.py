"""Watches the connection: heartbeats are signs of life, and long silence is reported."""

from __future__ import annotations

import math

from bot.clock import Clock
from bot.errors import AccountLost
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.interactions import CommandUses
from bot.platforms.discord.sdk import discord

EVERY = 5.0
DEAF_AFTER = 50.0
"""Discord answers a heartbeat every 41 s; after a minute of silence the SDK connects anew."""
SLOWEST = 40.0
"""The SDK notes the time of a heartbeat after sending it: an answer faster than the note seems a beat (41 s)
late."""
LOST_AFTER = 90.0
"""The SDK's own pauses grow to minutes: then a new start is better."""


class HeartbeatWatchdog:
    """The timer of a connection."""

    def __init__(self, clock: Clock, health: AccountHealth, asks: CommandUses) -> None:
        self._clock = clock
        self._health = health
        self._asks = asks
        self._lost_at = math.inf

    def note_lost(self) -> None:
        """The connection broke; the SDK tries to get it back."""
        self._lost_at = min(self._lost_at, self._clock.now())
        self._health.mark_connecting("the connection to Discord broke; it is being opened again")

    async def run(self, client: discord.Client) -> None:
        """Look every few seconds. Raises AccountLost where the connection does not come back."""
        latency = math.inf
        while True:
            await self._clock.sleep(EVERY)
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
    return f"heartbeat {latency * 1000:.0f} ms" if latency < SLOWEST else ""
