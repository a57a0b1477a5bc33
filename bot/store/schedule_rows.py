"""Schedules and firings as values, and their rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.domain import ChatKind, Origin, ReplyAddress, Sender, TurnKind, TurnState, person_of
from bot.store import rows

EVENT = "schedule:"
"""What the event id of a message begins with that a schedule wrote."""
NOW = "now"
"""What stands in it for the instant where somebody had it fired."""
SCHEDULED = "schedule-"
"""What the topic of a conversation begins with that belongs to a schedule alone."""


class ScheduleKind(StrEnum):
    """What a firing brings: a fixed text, what the agent makes of one, or what was said in the chat since the
    last one.
    """

    MESSAGE = "message"
    PROMPT = "prompt"
    DIGEST = "digest"


class ScheduleState(StrEnum):
    """A draft waits for somebody to say yes; one that is done has no firing left."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"


class Skip(StrEnum):
    """Why a firing brought nothing."""

    OVERLAP = "overlap"
    MISSED = "missed"
    ACCESS = "access"
    ACCOUNT = "account"
    QUIET = "quiet"
    UNRECORDED = "unrecorded"
    BUDGET = "budget"


def attempt_of(event: str) -> int:
    """Which try of a firing a message with this event id stands for; 0 where no schedule wrote it."""
    parts = event.split(":")
    if not event.startswith(EVENT) or len(parts) != 4:
        return 0
    _, _, due, last = parts
    return 1 if due == NOW else int(last) if last.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is to happen when. `rule` is the stored form of `bot.schedules.wall_clock.Rule`, `spoken` the
    words
    that said it, `zone` an IANA name. `topic` "" means the chat itself; `conversation` is the one that
    firings go on with, 0 for one of their own. `made_in` is the conversation in which it was made, `maker`
    who made it. `next_at` is 0.0 where nothing is due. `digested_at`: what was said until then has come to
    the chat in a digest, or was nothing (0.0: nobody has noted it).
    """

    id: int
    kind: ScheduleKind
    state: ScheduleState
    text: str
    spoken: str
    rule: str
    zone: str
    account: str
    platform: str
    chat: str
    chat_kind: ChatKind
    topic: str
    conversation: int
    made_in: int
    maker: Sender
    made_at: float
    next_at: float
    failures: int = 0
    digested_at: float = 0.0

    @property
    def address(self) -> ReplyAddress:
        """Where its results go."""
        return ReplyAddress(self.account, self.chat, self.chat_kind, self.topic)

    @property
    def origin(self) -> Origin:
        """Its maker, writing where its results go."""
        return Origin(self.account, self.platform, self.chat, self.chat_kind, "", self.maker)

    @property
    def person(self) -> str:
        """Who made it, as `platform:id`."""
        return person_of(self.platform, self.maker)


@dataclass(frozen=True, slots=True)
class Fire:
    """A firing that is due: for the instant `due`, after `missed` others that came too late; `following` is
    the next one (0.0: none). `skip` says why it brings nothing, `notice` what the chat hears of that. `text`
    is what it brings or asks, `thread_id` a fresh thread's id, `model` the account's.
    """

    schedule: Schedule
    due: float
    following: float
    text: str
    thread_id: str
    model: str = ""
    missed: int = 0
    skip: Skip | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that a firing opened, for the dispatcher."""

    turn: int
    conversation: int
    kind: TurnKind


@dataclass(frozen=True, slots=True)
class Firing:
    """A firing as it stands. `state` is its turn's (None: there is none), `delivered` says that the platform
    has named every message of it; `problem` says what went wrong ("" for nothing).
    """

    id: int
    schedule: int
    due_at: float
    at: float
    attempt: int
    missed: int
    skipped: str
    retry_at: float
    turn: int
    state: TurnState | None
    delivered: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Closed:
    """A firing whose turn has ended. `good`: it ran, and all of it was delivered; `permanent`: trying again
    does not help, or says again what stands there already or may stand.
    """

    id: int
    schedule: int
    attempt: int
    good: bool
    permanent: bool
    problem: str


@dataclass(frozen=True, slots=True)
class Retry:
    """A firing that is to be tried again since `retry_at`."""

    id: int
    schedule: int
    due_at: float
    attempt: int
    retry_at: float


UNDELIVERED = "undelivered"
"""The error of a turn whose answer is there and could not be brought whole."""
PERMANENT = frozenset({"auth", "permission", "not_found", "invalid_payload"})


def schedule_in(row: Any) -> Schedule:
    """The schedule of a row."""
    return Schedule(
        id=row.id,
        kind=ScheduleKind(row.kind),
        state=ScheduleState(row.state),
        text=row.text,
        spoken=row.spoken,
        rule=row.rule,
        zone=row.zone,
        account=row.account,
        platform=row.platform,
        chat=row.chat,
        chat_kind=ChatKind(row.chat_kind),
        topic=row.topic,
        conversation=row.conversation_id,
        made_in=row.made_in,
        maker=rows.sender_in(row.maker),
        made_at=row.made_at,
        next_at=row.next_at,
        failures=row.failures,
        digested_at=row.digested_at,
    )


def _problem(row: Any) -> str:
    if row.state is None or row.state == TurnState.DONE.value:
        return str(row.category or "")
    return str(row.category or row.error or row.state)


def closed_in(row: Any) -> Closed:
    """The ended firing of a row."""
    good = row.state == TurnState.DONE.value and row.delivered > 0 and row.lost == 0
    partly = row.error == UNDELIVERED and row.sent > 0
    permanent = partly or row.category in PERMANENT or row.state == TurnState.CANCELLED.value
    return Closed(row.id, row.schedule_id, row.attempt, good, permanent, "" if good else _problem(row))


def firing_in(row: Any) -> Firing:
    """The firing of a row."""
    state = TurnState(row.state) if row.state else None
    return Firing(
        id=row.id,
        schedule=row.schedule_id,
        due_at=row.due_at,
        at=row.at,
        attempt=row.attempt,
        missed=row.missed,
        skipped=row.skipped,
        retry_at=row.retry_at,
        turn=row.turn_id,
        state=state,
        delivered=row.delivered > 0 and row.lost == 0 and state is TurnState.DONE,
        problem=_problem(row),
    )
