"""Conversion between wall times and timestamps, including clock changes.

If clocks go back, a repeated wall time counts the first time. If clocks go forward, a skipped wall time runs
when it would have been without the change: 02:30 at 03:30. So each wall time has at most one run, and none is
skipped.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bot import chat_zones
from bot.errors import ScheduleRefused

CHANGE = timedelta(hours=3)
"""Longest clock change: within this distance, wall times can be in another order than their timestamps."""


def load_zone(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name. Raises ScheduleRefused."""
    return _require(chat_zones.load_zone(name), name)


async def find_zone(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name without blocking the event loop. Raises ScheduleRefused."""
    return _require(await chat_zones.find_zone(name), name)


def _require(zone: ZoneInfo | None, name: str) -> ZoneInfo:
    if zone is None:
        raise ScheduleRefused("zone_unknown", zone=name[:60])
    return zone


def to_wall_time(instant: float, zone: ZoneInfo) -> datetime:
    """Convert a timestamp to wall time, without a zone."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def to_timestamp(wall: datetime, zone: ZoneInfo) -> float:
    """Convert a wall time to a timestamp. An ambiguous time is the earlier of the two; a skipped time is
    converted as if the clocks had not changed.
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).timestamp()
