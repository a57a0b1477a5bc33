"""What is arranged to happen at its times in the simulated week, and when that should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from tests.week.team import Person, Place, groups, private, team

BEGIN = datetime(2026, 10, 19, tzinfo=UTC).timestamp()
"""A Monday; in the night of its Sunday the clocks of Europe go back, so that 02:30 comes twice."""
EVERY_DAY, WORKING_DAYS = frozenset(range(7)), frozenset(range(5))
HOURS = tuple(range(24))


@dataclass(frozen=True, slots=True)
class Digest:
    """One `/digest` of `person`: at these hours and minutes of these days (0 is Monday) in this zone.

    `until` is when it is deleted, in seconds after the week began (0.0: never).
    """

    key: str
    said: str
    does: str
    person: Person
    place: Place
    hours: tuple[int, ...]
    minutes: tuple[int, ...] = (0,)
    days: frozenset[int] = EVERY_DAY
    zone: str = "UTC"
    until: float = 0.0

    @property
    def command(self) -> str:
        """How it is asked for."""
        return f"/digest {self.said} {self.does}"

    @property
    def text(self) -> str:
        """What it says by itself, "" where the agent answers."""
        return self.does.removeprefix("say ") if self.does.startswith("say ") else ""

    def instants(self, after: float, until: float) -> Iterator[float]:
        """When it is due; a wall time that comes twice counts the first time."""
        zone = ZoneInfo(self.zone)
        first = datetime.fromtimestamp(after, UTC).date() - timedelta(days=1)
        last = datetime.fromtimestamp(until, UTC).date() + timedelta(days=1)
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            walls = [time(hour, minute) for hour in self.hours for minute in self.minutes]
            found = [datetime.combine(day, wall, zone).timestamp() for wall in walls]
            if day.weekday() in self.days:
                yield from (at for at in found if after < at <= until)


def _digests() -> tuple[Digest, ...]:
    people = team()
    owner, working = people[0], WORKING_DAYS
    telegram, slack, discord = groups("telegram"), groups("slack"), groups("discord")
    feishu = groups("feishu")
    plan, hourly = private("discord", people[4]), private("feishu", people[6])
    return (
        Digest("#s01", "every 30 minutes", "say #s01 tick", owner, telegram[0], HOURS, (0, 30)),
        Digest("#s02", "weekdays 17:00", "digest #s02", owner, slack[0], (17,), days=working),
        Digest("#s03", "daily 7:05", "#s03 the plan", people[4], plan, (7,), (5,)),
        Digest(
            "#s04",
            "daily 02:30 Europe/Berlin",
            "say #s04 night",
            owner,
            feishu[1],
            (2,),
            (30,),
            zone="Europe/Berlin",
        ),
        Digest("#s05", "15 */2 * * *", "say #s05 tea", people[8], telegram[1], HOURS[::2], (15,)),
        Digest(
            "#s06",
            "mon,wed,fri 9:30",
            "#s06 news",
            people[5],
            slack[1],
            (9,),
            (30,),
            days=frozenset({0, 2, 4}),
        ),
        Digest("#s07", "every 4 hours", "digest #s07", owner, discord[0], HOURS[::4]),
        Digest("#s08", "hourly", "say #s08 hour", people[6], hourly, HOURS, until=3.52 * 86_400),
    )


DIGESTS = _digests()
