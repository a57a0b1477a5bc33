"""Whom a word in a command means: a person, this group, a workspace."""

from __future__ import annotations

from bot.commands.quoting import quoted
from bot.commands.registry import Invocation, Result, nearest_line
from bot.config import AccessEntry
from bot.domain import ChatKind

HERE = "here"


def entry_of(call: Invocation, who: str) -> AccessEntry | Result:
    """Whom the word means: this group, an entry, or an id of this platform; else what to write."""
    address = call.turn.address
    if who.lower() == HERE:
        if address.chat_kind is not ChatKind.GROUP:
            return Result(call.texts("who_here"))
        return AccessEntry(call.turn.platform, address.chat)
    try:
        entry = AccessEntry.parse(who if ":" in who else f"{call.turn.platform}:{who}")
    except ValueError:
        return Result(call.texts("who_unknown", who=quoted(who)) if who else call.texts("who_missing"))
    states = call.services.accounts.states()
    known = {*states, *(platform for platform, _ in states.values())}
    if entry.scope not in known:
        near = nearest_line(call.texts, sorted(known), mark="")
        return Result(call.texts("who_nowhere", scope=quoted(entry.scope), nearest=near))
    return entry
