"""The receiver's state across restarts, as the compact JSON stored with the inbox."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from bot.core.recent_values import RecentValues

DMS = 200
"""Number of remembered channels of direct messages, whose gaps are filled: Discord cannot list them."""


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A use of a command that waits for its answer, visible to its user `alone` or to everyone in the
    channel.

    The token is valid for 15 minutes, for this answer only.
    """

    id: str
    token: str
    channel: str
    until: float
    alone: bool = False


@dataclass(slots=True)
class DiscordCursor:
    """`seen` is the id up to which all messages are stored; ids increase with time across all channels.

    `dms` are channels of direct messages, the latest last; `threads` those that grew from the bot's messages.
    """

    seen: int = 0
    dms: RecentValues[bool] = field(default_factory=lambda: RecentValues(DMS))

    def note_direct_chat(self, channel: str) -> None:
        """Record a channel of direct messages as the latest one."""
        self.dms.put(channel, True)

    def dump(self, seen: int, threads: Iterable[str], asks: Iterable[CommandUse]) -> str:
        """Return the whole state as text."""
        known = list(asks)
        state = {
            "seen": str(seen),
            "dms": list(self.dms),
            "threads": list(threads),
            "asks": [[ask.id, ask.token, ask.channel, ask.until] for ask in known],
            "alone": [ask.id for ask in known if ask.alone],
        }
        return orjson.dumps({key: value for key, value in state.items() if value}).decode()


def read_cursor(text: str) -> tuple[DiscordCursor, list[str], list[CommandUse]]:
    """Return cursor, threads and open uses of commands; all are empty if the text is unreadable."""
    try:
        stored = orjson.loads(text)
        alone = {str(use) for use in stored.get("alone", [])}
        uses = [
            CommandUse(str(use), str(token), str(channel), float(until), str(use) in alone)
            for use, token, channel, until in stored.get("asks", [])
        ]
        cursor = DiscordCursor(int(stored["seen"]))
        for channel in stored.get("dms", []):
            cursor.note_direct_chat(str(channel))
        return cursor, [str(thread) for thread in stored.get("threads", [])], uses
    except (ValueError, TypeError, KeyError, AttributeError):
        return DiscordCursor(), [], []
