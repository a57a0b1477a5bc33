"""Route for the calendar of past and upcoming scheduled runs."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query

from bot.access import Role
from bot.schedules.upcoming import upcoming_runs
from bot.server.api import schemas
from bot.server.api.auth import By, open_to
from bot.server.api.dependencies import Services
from bot.server.api.schedules import schedule_owner_filter, visible_schedules
from bot.store.scheduled_runs import ScheduledRun, list_runs_between
from bot.store.schedules import ScheduleState, list_schedules

LONGEST = 100 * 24 * 3600.0
MOST_SCHEDULES, MOST_PAST = 200, 1000
router = APIRouter(prefix="/api/schedules", tags=["schedules"])
Instant = Annotated[float, Query(ge=0, lt=2**40, description="Seconds since the epoch.")]


@router.get("/calendar")
@open_to(Role.MEMBER)
async def list_calendar(services: Services, by: By, begin: Instant, end: Instant) -> schemas.Calendar:
    """List the scheduled runs of all chats (for members: of their own schedules) from `begin` until before
    `end` (at most 100 days), by time, and the newest 200 schedules.
    """
    if not begin < end <= begin + LONGEST:
        raise HTTPException(422, "end: must be after begin, by at most 100 days")
    db, now = services.db, services.clock.now()
    found = await db.run(list_schedules, limit=MOST_SCHEDULES, person=schedule_owner_filter(by))
    schedules = visible_schedules(by, found)
    hidden = {one.id for one in found} - {one.id for one in schedules}
    active = [one for one in schedules if one.state is ScheduleState.ACTIVE]
    past = await db.run(list_runs_between, begin, end, MOST_PAST, schedule_owner_filter(by))
    # A run that is due exactly at `begin` is included.
    upcoming = await asyncio.to_thread(upcoming_runs, active, max(begin - 1, now), end)
    return schemas.Calendar(
        schedules=schedules,
        firings=[
            *(_present_past_run(one) for one in past if one.schedule not in hidden),
            *(_present_upcoming_run(schedule, at) for schedule, at in upcoming.firings),
        ],
        whole=upcoming.whole and len(past) < MOST_PAST and len(schedules) < MOST_SCHEDULES,
    )


def _present_past_run(one: ScheduledRun) -> schemas.CalendarFiring:
    return schemas.CalendarFiring(
        schedule=one.schedule, at=one.due_at, past=True, delivered=one.delivered, skipped=one.skipped
    )


def _present_upcoming_run(schedule: int, at: float) -> schemas.CalendarFiring:
    return schemas.CalendarFiring(schedule=schedule, at=at, past=False, delivered=False, skipped="")
