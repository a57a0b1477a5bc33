"""Entries of the receiver's queue, and event counters."""

from __future__ import annotations

from dataclasses import dataclass

from bot.platforms.payload import Json


@dataclass(slots=True)
class DiscordCounts:
    """Numbers of received events, for tests and diagnosis."""

    events: int = 0
    messages: int = 0
    filled: int = 0
    gaps: int = 0
    edits: int = 0
    ignored: int = 0
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class GatewayEvent:
    """A message, interaction or change as received; `name` is the gateway's name for it."""

    name: str
    data: Json


@dataclass(frozen=True, slots=True)
class GapFill:
    """A request to read direct messages (`guild` "") or a server's channels from an id on."""

    guild: str
    since: int
