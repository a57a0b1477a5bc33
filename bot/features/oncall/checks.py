"""Checks of schedules for `roebot doctor`."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent.config.errors import ConfigErrors
from bot.cli.common import configuration
from bot.cli.doctor import Finding
from bot.config import Config
from bot.config.oncall import OnCallSchedule
from bot.features.oncall.on_call import load_plan
from bot.features.oncall.plan import ScheduleUnavailable


def check_home(folder: Path) -> Iterator[Finding]:
    """Read the schedules in the configuration of a data directory, if it can be loaded."""
    try:
        config = configuration(None, folder).config
    except ConfigErrors:
        return
    for name, schedule in config.oncall.schedules.items():
        yield from check_schedule(config, name, schedule, folder, time.time())


def check_schedule(
    config: Config, name: str, schedule: OnCallSchedule, home: Path, now: float
) -> Iterator[Finding]:
    """Report a schedule that fails, has gaps, or names people without ids."""
    if schedule.members:
        yield Finding(None, f"on call: {name}: not checked; /oncall shows the members of {schedule.members}")
        return
    try:
        plan = asyncio.run(load_plan(config, schedule, home, now))
    except ScheduleUnavailable as error:
        yield Finding(False, f"on call: {name}: {error}")
        return
    for problem in plan.problems:
        yield Finding(False, f"on call: {name}: {problem}")
    periods = [one for one in plan.periods if one.end > now]
    if not periods[0].holders:
        yield Finding(False, f"on call: {name} has nobody on call now; admins are mentioned instead")
    gaps = [one for one in periods if not one.holders and now < one.start and one.end < math.inf]
    if gaps:
        span = " to ".join(
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" for at in (gaps[0].start, gaps[0].end)
        )
        yield Finding(None, f"on call: {name} has a gap from {span} UTC; gaps in all: {len(gaps)}")
    holders = dict.fromkeys(holder for one in periods for holder in one.holders)
    missing = [one.name for one in holders if not config.oncall.find_person(one.name, one.email)]
    if missing:
        yield Finding(None, f"on call: {name}: add to oncall.people: {', '.join(missing)}")
    elif holders:
        yield Finding(True, f"on call: {name} is readable, and all its people have ids")
