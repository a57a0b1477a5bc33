"""Access for the agent to messages of the current chat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.shared.service_calls import READ_CHAT
from bot.dispatch.run.hooks import RunHooks, ServiceCall, ServiceHandler
from bot.dispatch.run.message_lines import format_messages
from bot.dispatch.run.request import load_thread_history
from bot.domain import ChatKind, HistoryMessage
from bot.features.record.record_store import DAY, find_topic, list_recorded, list_recorded_before
from bot.features.record.recorder import ChatRecorder
from bot.store.exchanges import is_first_turn

MAX_MESSAGES, MAX_CHARACTERS = 200, 12_000
MOST_BEFORE, BACK_SECONDS = 100, 7 * 24 * 3600.0
"""Recorded messages before a turn: their number, and their age in seconds."""
DEFAULT_SECONDS = 24 * 3600.0
_TIME, _SECONDS = "%Y-%m-%d %H:%M", ":%S"
_EARLIEST, _LATEST = 86_400.0, 32_503_680_000.0
"""Seconds since the epoch, 1970 and 3000: models write the first or last possible date for "everything"."""


@dataclass(frozen=True, slots=True)
class _FoundMessages:
    """Messages of a chat or thread (`place`), oldest first; `has_older` if the period contains older ones.
    Messages before `begins` and after `ends` (s since the epoch) are unknown.
    """

    messages: Sequence[HistoryMessage]
    place: str
    begins: float
    ends: float
    has_older: bool = False


class ChatReader(RunHooks):
    """Adds messages that precede a turn in a group, and answers calls for the group's messages; in a private
    chat, the agent has all messages.
    """

    def service_calls(self) -> Mapping[str, ServiceHandler]:
        is_group = self.scope.turn.address.chat_kind is ChatKind.GROUP
        return {READ_CHAT: self._read_chat} if is_group else {}

    async def notes(self) -> Sequence[str]:
        """Return messages by others before the turn: recorded ones and, for a conversation's first turn,
        those reported by the platform. Messages by blocked people are excluded.
        """
        turn, scope = self.scope.turn, self.scope
        is_group = turn.address.chat_kind is ChatKind.GROUP
        if not is_group or turn.answers or turn.is_scheduled:
            return ()
        found: list[HistoryMessage] = [
            *await scope.core.db.transact(list_recorded_before, turn, BACK_SECONDS, MOST_BEFORE)
        ]
        if await scope.core.db.transact(is_first_turn, turn):
            known = {one.message_id for one in found}
            found += [one for one in await self._read_thread() if one.message_id not in known]
            found.sort(key=lambda one: one.sent_at)
        readable = scope.blocked.filter_messages(found)
        lines, omitted = format_messages(readable, turn.platform, scope.zone, MAX_CHARACTERS)
        return [self._format_note(lines, omitted)] if lines else ()

    def _format_note(self, lines: Sequence[str], omitted: int) -> str:
        """Return the note with the lines, which also says whether they are from the chat or only a thread."""
        scope, turn = self.scope, self.scope.turn
        address, texts = turn.address, scope.texts
        in_thread = find_topic(turn) is not None
        has_rest = in_thread and scope.core.part(ChatRecorder).is_recorded(address.account, address.chat)
        where = texts("heard_in_thread" if in_thread else "heard_in_chat")
        rest = texts("heard_rest") if has_rest else ""
        said = "\n".join(lines)
        return texts("note_heard", said=said, left=omitted, zone=scope.zone, where=where, rest=rest)

    async def _read_thread(self) -> Sequence[HistoryMessage]:
        scope = self.scope
        history = await load_thread_history(scope.turn, scope.channel, scope.role_of)
        found = history.messages if history is not None else ()
        scope.heard.extend(one.sender for one in found)
        return found

    async def _read_chat(self, call: ServiceCall, now: float) -> dict[str, Any]:
        """Return the newest messages of the turn's chat within a period."""
        arguments, scope = call.arguments, self.scope
        since = self._parse_time(arguments.get("since"), (now - DEFAULT_SECONDS) // 60 * 60)
        until = self._parse_time(arguments.get("until"), now)
        if since is None or until is None:
            return {"problem": "since" if since is None else "until"}
        found = await self._load_messages(since, until, now)
        if isinstance(found, str):
            return {"problem": found}
        usable = scope.blocked.filter_messages(found.messages)
        lines, omitted = format_messages(usable, scope.turn.platform, scope.zone, MAX_CHARACTERS)
        oldest = usable[omitted] if lines else next(iter(found.messages), None)
        has_older = omitted > 0 or found.has_older
        return {
            "zone": str(scope.zone),
            "place": found.place,
            "since": self._format_time(since),
            "until": self._format_time(min(until, found.ends)),
            "begins": self._format_time(found.begins) if found.begins > since else "",
            "lines": lines,
            # Rounded up, so that a call up to then misses none of the same second.
            "older": self._format_time(math.ceil(oldest.sent_at)) if oldest and has_older else "",
        }

    async def _load_messages(self, since: float, until: float, now: float) -> _FoundMessages | str:
        """Return the messages of a period, recorded or else from the turn's thread, or the problem if neither
        can be read.
        """
        turn, scope = self.scope.turn, self.scope
        address = turn.address
        recorded = scope.core.part(ChatRecorder).get(address.account, address.chat)
        if recorded is not None:
            own = {one.message_id for one in turn.messages}
            here, limit = (address.account, address.chat), MAX_MESSAGES + len(own) + 1
            listed = await scope.core.db.transact(
                list_recorded, *here, since, until, limit, reader=address.topic
            )
            known = [one for one in listed if one.message_id not in own]
            begins = max(recorded.since, now - recorded.days * DAY)
            return _FoundMessages(
                known[-MAX_MESSAGES:], "chat", begins, now, has_older=len(known) > MAX_MESSAGES
            )
        if scope.channel.capabilities.reads_threads is None or not address.topic:
            return "unrecorded"
        history = await load_thread_history(turn, scope.channel, scope.role_of)
        if history is None:
            return "unread"
        read = [one for one in history.messages if since < one.sent_at <= until]
        return _FoundMessages(read, "thread", history.begins, turn.messages[0].sent_at)

    def _parse_time(self, given: Any, default: float) -> float | None:
        """Parse an argument as seconds since the epoch, or return None if it is not a time."""
        if given in (None, ""):
            return default
        try:
            found = datetime.fromisoformat(str(given).strip())
            at = (found if found.tzinfo else found.replace(tzinfo=self.scope.zone)).timestamp()
            return min(max(at, _EARLIEST), _LATEST)
        except (ValueError, OverflowError, OSError):
            return None

    def _format_time(self, at: float) -> str:
        """Format a time for the agent, omitting seconds if they are 0."""
        shown = datetime.fromtimestamp(at, self.scope.zone)
        return shown.strftime(_TIME + _SECONDS if shown.second else _TIME)
