"""Starts of the runs of crons, and the times at which they are due."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import structlog
from croniter import CroniterBadDateError, CroniterError, croniter

from agent.errors import AgentError, BadRequest, Invalid
from agent.runtime.domain import Clock, Cron
from agent.runtime.due_timer import DueTimer
from agent.runtime.failures import log_failure
from agent.runtime.store import crons
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.retries import Sleep

log = structlog.get_logger("agent.runtime")

PAGE = 100
MAX_SCHEDULE = 200
"""Maximum length of a schedule, in characters."""
MAX_YEARS = 10
"""Number of years within which a schedule must have a time."""
StartRun = Callable[[Cron], Awaitable[object]]


def read_zone(name: str | None) -> tzinfo:
    """Return the time zone of this name, UTC without one. Raises `Invalid`."""
    try:
        return UTC if name is None else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise Invalid(f"timezone: {name!r} is not a time zone, such as America/New_York") from error


def find_next_run(schedule: str, zone: tzinfo, after: float) -> float:
    """Return the next time of a schedule. Raises `Invalid`, and `BadRequest` if there is none."""
    if len(schedule) > MAX_SCHEDULE:
        raise Invalid(f"schedule: has more than {MAX_SCHEDULE} characters")
    try:
        start = datetime.fromtimestamp(after, zone)
        times = croniter(schedule, start, max_years_between_matches=MAX_YEARS)
        found: datetime = times.get_next(datetime)
    except CroniterBadDateError as error:
        raise BadRequest(f"schedule: {schedule!r} has no time in the next {MAX_YEARS} years") from error
    except (CroniterError, ValueError) as error:
        raise Invalid(f"schedule: {schedule!r} is not a cron expression: {error}") from error
    return found.timestamp()


class CronRunner(DueTimer):
    """Starts the runs of crons when they are due.

    If several times of a cron have passed, for example while the server was down, one run is started. It
    starts before the cron's next time is stored, with the time as its idempotency key, and so only once.
    """

    def __init__(self, database: RuntimeDatabase, *, clock: Clock, sleep: Sleep) -> None:
        super().__init__(clock, sleep)
        self._database = database

    async def run(self, start: StartRun) -> None:
        """Start due runs with this function until cancelled."""
        while True:
            self._clear()
            due = await self._database.read(crons.list_due, now=self._clock(), limit=PAGE)
            for cron in due:
                await self._start_due(cron, start)
            if len(due) < PAGE:
                await self._wait(await self._database.read(crons.find_next_time))

    async def _start_due(self, cron: Cron, start: StartRun) -> None:
        facts = {"cron_id": cron.cron_id, "thread_id": cron.thread_id}
        try:
            await start(cron)
            log.info("cron_run_started", **facts)
        except AgentError as error:
            await log_failure("cron_run_refused", error, **facts)
        try:
            zone = await asyncio.to_thread(read_zone, cron.timezone)
            following = find_next_run(cron.schedule, zone, self._clock())
        except AgentError as error:
            log.info("cron_ended", reason=str(error), **facts)
            await self._database.write(crons.disable_cron, cron)
        else:
            await self._database.write(crons.set_next_time, cron, following)
