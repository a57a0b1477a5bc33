"""Gateway sessions: numbered events, stored for a RESUME."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

KEPT = 1000
GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
"""Intents (docs.discord.com/developers/events/gateway#list-of-intents)."""
_ALWAYS = frozenset({"READY", "RESUMED", "INTERACTION_CREATE"})

Json = dict[str, Any]


@dataclass(slots=True)
class GatewaySession:
    """One session of the bot; `send` writes to its socket, None while it has none."""

    id: str
    intents: int
    bot_id: str
    sequence: int = 0
    events: deque[Json] = field(default_factory=lambda: deque(maxlen=KEPT))
    send: Callable[[Json], None] | None = None

    def emit(self, event: str, data: Json) -> None:
        """Number, store and send an event if the intents include it."""
        if not self._is_subscribed(event, data):
            return
        self.sequence += 1
        payload = {"op": 0, "t": event, "s": self.sequence, "d": self._without_content(event, data)}
        self.events.append(payload)
        if self.send is not None:
            self.send(payload)

    def since(self, sequence: int) -> list[Json] | None:
        """Return the events after a number; None if they are no longer stored."""
        if sequence > self.sequence:
            return None
        if self.events and self.events[0]["s"] > sequence + 1:
            return None
        return [payload for payload in self.events if payload["s"] > sequence]

    def _is_subscribed(self, event: str, data: Json) -> bool:
        if event in _ALWAYS:
            return True
        if not event.startswith("MESSAGE_"):
            return bool(self.intents & GUILDS)
        return bool(self.intents & (GUILD_MESSAGES if "guild_id" in data else DIRECT_MESSAGES))

    def _without_content(self, event: str, data: Json) -> Json:
        """Empty the messages of guilds that do not mention the bot, without the privileged intent."""
        if self.intents & MESSAGE_CONTENT or event != "MESSAGE_CREATE" or "guild_id" not in data:
            return data
        involved = [data["author"], *data["mentions"]]
        if any(person["id"] == self.bot_id for person in involved):
            return data
        return {**data, "content": "", "attachments": [], "embeds": [], "components": []}
