"""What the API returns about schedules."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasPath, BeforeValidator, Field

from bot.features.schedules.schedule_store import ScheduleKind, ScheduleState
from bot.server.api.schemas import ApiModel


class ScheduleInfo(ApiModel):
    """A schedule. `when` is the time as entered; `rule` is the time as stored: five cron fields (`L`: the
    last day of the month), a rule of iCalendar, several of these joined by ` | `, or `@` and a time. `person`
    created it, for the chat named `place`; `failures` counts consecutive failed runs.
    """

    id: int
    kind: ScheduleKind
    state: ScheduleState
    when: str = Field(validation_alias="spoken")
    rule: str
    zone: str
    text: str
    account: str
    platform: str
    chat: str
    topic: str
    person: str
    name: str = Field(validation_alias=AliasPath("maker", "name"))
    made_at: float
    next_at: float
    failures: int
    place: str = ""


class PreviewedSchedule(ScheduleInfo):
    """A schedule with its next runs; `words` is its rule in words."""

    firings: list[float]
    words: str


class Schedules(ApiModel):
    """A page of schedules; `next` is the cursor of the next page."""

    schedules: list[ScheduleInfo]
    next: str | None


class ScheduledRunList(ApiModel):
    """The next runs for a time."""

    firings: list[float]


class ScheduledRunInfo(ApiModel):
    """A scheduled run. `missed` counts earlier runs that were too late; `skipped` is the reason why it did
    nothing; `problem` is the error. The `state` of its turn and `delivered` are independent.
    """

    id: int
    due_at: float
    at: float
    attempt: int
    missed: int
    skipped: str
    retry_at: float
    turn: int
    state: Annotated[str, BeforeValidator(lambda state: state or "")]
    delivered: bool
    problem: str


class Runs(ApiModel):
    """A page of scheduled runs; `next` is the cursor of the next page."""

    runs: list[ScheduledRunInfo]
    next: str | None


class CalendarFiring(ApiModel):
    """A run in the calendar: either a past one (`past`) with its result, or an upcoming one."""

    schedule: int
    at: float
    past: bool
    delivered: bool
    skipped: str


class Calendar(ApiModel):
    """Runs ordered by time, with their schedules. `whole` is false if there were too many to include them
    all.
    """

    schedules: list[ScheduleInfo]
    firings: list[CalendarFiring]
    whole: bool
