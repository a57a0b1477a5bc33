"""The receiver's state across restarts, as the compact JSON stored with the inbox."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

DMS = 200
"""Channels of direct messages whose gaps are filled: Discord lists them nowhere."""


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A use of a command that waits for its answer, which is for its user `alone` or for everybody there. The
    token is good for 15 minutes and for nothing else.
    """

    id: str
    token: str
    channel: str
    until: float
    alone: bool = False


@dataclass(slots=True)
class DiscordCursor:
    """`seen` is the id up to which all messages are stored; ids rise with time, in all channels alike.

    `dms` are channels of direct messages, the latest last; `threads` those that grew from the bot's messages.
    """

    seen: int = 0
    dms: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def note_direct_chat(self, channel: str) -> None:
        """Record a channel of direct messages as the latest one."""
        self.dms[channel] = None
        self.dms.move_to_end(channel)
        while len(self.dms) > DMS:
            self.dms.popitem(last=False)

    def dump(self, seen: int, threads: Iterable[str], asks: Iterable[CommandUse]) -> str:
        """Return the whole state as text."""
        known = list(asks)
        kept = {
            "seen": str(seen),
            "dms": list(self.dms),
            "threads": list(threads),
            "asks": [[ask.id, ask.token, ask.channel, ask.until] for ask in known],
            "alone": [ask.id for ask in known if ask.alone],
        }
        return orjson.dumps({key: value for key, value in kept.items() if value}).decode()


def read_cursor(text: str) -> tuple[DiscordCursor, list[str], list[CommandUse]]:
    """Cursor, threads and open asks; what cannot be read counts as nothing."""
    try:
        found = orjson.loads(text)
        alone = {str(one) for one in found.get("alone", [])}
        asks = [
            CommandUse(str(a), str(b), str(c), float(d), str(a) in alone)
            for a, b, c, d in found.get("asks", [])
        ]
        dms = OrderedDict((str(channel), None) for channel in found.get("dms", []))
        threads = [str(thread) for thread in found.get("threads", [])]
        return DiscordCursor(int(found["seen"]), dms), threads, asks
    except (ValueError, TypeError, KeyError, AttributeError):
        return DiscordCursor(), [], []
