"""Answer the agent's calls to the service during a run. What a call may do follows from the turn alone."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

import orjson
import structlog

from agent.shared.service_calls import READ_CHAT, RESULT, SCHEDULE, SERVICE_CALL
from bot.access import Role
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.run.agent_message import RoleOf
from bot.dispatch.run.request import load_thread_history
from bot.dispatch.run.schedule_calls import ScheduleCalls
from bot.domain import ChatKind, HistoryMessage
from bot.privacy.blocked_people import BlockedPeople
from bot.privacy.chat_record import format_messages
from bot.runtime.interface import RunInterrupted
from bot.store import Database
from bot.store.record import DAY, RecordedMessage, list_recorded
from bot.turn import Turn
from bot.wiring import AccountView

log = structlog.get_logger(__name__)

MAX_SERVICE_CALLS = 20
"""Maximum number of service calls of a turn."""
MAX_REFUSED = 10
"""Maximum number of calls over that limit that are answered with a problem, so that the run can end."""
MAX_MESSAGES, MAX_CHARACTERS = 200, 12_000
DEFAULT_SECONDS = 24 * 3600.0
_TIME, _SECONDS = "%Y-%m-%d %H:%M", ":%S"
_EARLIEST, _LATEST = 86_400.0, 32_503_680_000.0
"""Seconds since the epoch, 1970 and 3000: models write the first or last possible date for "everything"."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of the agent: the id of its interrupt, the service, and the arguments that the model wrote."""

    interrupt: str
    name: str
    arguments: Mapping[str, Any]


def read_service_call(asked: RunInterrupted | None) -> ServiceCall | None:
    """Return the call that a run waits for, None if it waits for people or for nothing."""
    value = asked.value if asked is not None else None
    if asked is None or not isinstance(value, Mapping) or value.get("type") != SERVICE_CALL:
        return None
    arguments = value.get("arguments")
    known = arguments if isinstance(arguments, Mapping) else {}
    return ServiceCall(asked.id, str(value.get("name") or ""), known)


def refuse_call() -> dict[str, str]:
    """Return the value with which a run is resumed after too many calls."""
    return {RESULT: orjson.dumps({"problem": "limit"}).decode()}


@dataclass(frozen=True, slots=True)
class _FoundMessages:
    """Messages of a chat or thread (`place`), oldest first; `has_older` if the period has older ones.
    Nothing is known from before `begins` and after `ends` (s since the epoch).
    """

    messages: Sequence[RecordedMessage | HistoryMessage]
    place: str
    begins: float
    ends: float
    has_older: bool = False


class ServiceCalls:
    """Answers the calls of one turn. `zone` is the time zone of its chat; `schedules` answers those about
    schedules, None if the turn has nobody who could confirm one.
    """

    def __init__(
        self,
        turn: Turn,
        channel: AccountChannel,
        db: Database,
        *,
        view: AccountView,
        role_of: RoleOf,
        zone: tzinfo,
        schedules: ScheduleCalls | None = None,
    ) -> None:
        self._turn, self._channel, self._db, self._view = turn, channel, db, view
        self._role_of, self._zone = role_of, zone
        self.may_propose = False
        """Whether a call about schedules was answered, so that there may be previews."""
        self._services: dict[str, Callable[[ServiceCall, float], Awaitable[dict[str, Any]]]] = {}
        # In a private chat, the agent has all messages.
        if turn.address.chat_kind is ChatKind.GROUP:
            self._services[READ_CHAT] = self._read_chat
        if schedules is not None:
            self._services[SCHEDULE] = lambda call, _: schedules.answer_call(call.interrupt, call.arguments)

    @property
    def offered(self) -> list[str]:
        """Return the services that the agent may call for the turn."""
        return list(self._services)

    async def answer_call(self, call: ServiceCall, now: float) -> dict[str, str]:
        """Return the value with which the run is resumed; `now` is in seconds since the epoch."""
        service = self._services.get(call.name)
        self.may_propose = self.may_propose or call.name == SCHEDULE
        found = {"problem": "unknown"} if service is None else await service(call, now)
        log.info("service_called", turn=self._turn.id, service=call.name if service else "unknown")
        return {RESULT: orjson.dumps(found).decode()}

    async def _read_chat(self, call: ServiceCall, now: float) -> dict[str, Any]:
        """Return the newest messages of the turn's chat in a period."""
        arguments = call.arguments
        since = self._parse_time(arguments.get("since"), (now - DEFAULT_SECONDS) // 60 * 60)
        until = self._parse_time(arguments.get("until"), now)
        if since is None or until is None:
            return {"problem": "since" if since is None else "until"}
        found = await self._load_messages(since, until, now)
        if isinstance(found, str):
            return {"problem": found}
        blocked = BlockedPeople(
            lambda sender: self._role_of(self._turn, sender) is Role.BLOCKED,
            self._view.texts("quotation_blocked"),
        )
        usable = blocked.filter_messages(found.messages)
        lines, omitted = format_messages(usable, self._turn.platform, self._zone, MAX_CHARACTERS)
        oldest = usable[omitted] if lines else next(iter(found.messages), None)
        has_older = omitted > 0 or found.has_older
        return {
            "zone": str(self._zone),
            "place": found.place,
            "since": self._format_time(since),
            "until": self._format_time(min(until, found.ends)),
            "begins": self._format_time(found.begins) if found.begins > since else "",
            "lines": lines,
            # Rounded up, so that a call up to then misses none of the same second.
            "older": self._format_time(math.ceil(oldest.sent_at)) if oldest and has_older else "",
        }

    async def _load_messages(self, since: float, until: float, now: float) -> _FoundMessages | str:
        """Return the messages of a period: recorded ones, else those of the turn's thread; or the problem if
        neither can be read.
        """
        address = self._turn.address
        recorded = self._view.recorded.get(address.account, address.chat)
        if recorded is not None:
            own = {one.message_id for one in self._turn.messages}
            here, limit = (address.account, address.chat), MAX_MESSAGES + len(own) + 1
            listed = await self._db.transact(list_recorded, *here, since, until, limit, reader=address.topic)
            known = [one for one in listed if one.message_id not in own]
            begins = max(recorded.since, now - recorded.days * DAY)
            return _FoundMessages(
                known[-MAX_MESSAGES:], "chat", begins, now, has_older=len(known) > MAX_MESSAGES
            )
        if self._channel.capabilities.reads_threads is None or not address.topic:
            return "unrecorded"
        history = await load_thread_history(self._turn, self._channel, self._role_of)
        if history is None:
            return "unread"
        read = [one for one in history.messages if since < one.sent_at <= until]
        return _FoundMessages(read, "thread", history.begins, self._turn.messages[0].sent_at)

    def _parse_time(self, given: Any, default: float) -> float | None:
        """Return an argument as seconds since the epoch, None if it is no time."""
        if given in (None, ""):
            return default
        try:
            found = datetime.fromisoformat(str(given).strip())
            at = (found if found.tzinfo else found.replace(tzinfo=self._zone)).timestamp()
            return min(max(at, _EARLIEST), _LATEST)
        except (ValueError, OverflowError, OSError):
            return None

    def _format_time(self, at: float) -> str:
        """Return a time as the agent writes it, with the seconds unless they are 0."""
        shown = datetime.fromtimestamp(at, self._zone)
        return shown.strftime(_TIME + _SECONDS if shown.second else _TIME)
