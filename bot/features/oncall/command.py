"""`/oncall`: who is on call, until when, and who is next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from bot.chat_zones import find_zone
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result
from bot.features.oncall.on_call import OnCallSchedules, Reading
from bot.features.oncall.plan import Holder, Shift
from bot.store.audit import author_of
from bot.texts import Texts


async def run_oncall(call: Invocation) -> Result:
    """Run `/oncall`."""
    texts, schedules, now = call.texts, call.core.part(OnCallSchedules), call.core.clock.now()
    if not schedules.names:
        return Result(texts("oncall_none"))
    wanted = [name.lower() for name in call.words] or schedules.names
    if not set(wanted) <= set(schedules.names):
        names = texts("list_separator").join(map(quoted, schedules.names))
        return Result(texts("oncall_unknown", name=quoted(" ".join(call.words)), names=names), refused=True)
    zone = await call.core.zones.find_reader_zone(call.turn.address, author_of(call.turn).person)
    clock = await find_zone(zone)
    lines = [
        _format_reading(name, await schedules.find_reading(name), now, clock or UTC, texts) for name in wanted
    ]
    return Result("\n".join([*lines, "", texts("oncall_zone", zone=zone if clock else "UTC")]))


def _format_reading(name: str, reading: Reading, now: float, zone: tzinfo, texts: Texts) -> str:
    found = reading.find_periods(now)
    state = _format_periods(*found, zone, texts) if found else texts("oncall_unclear")
    if reading.config.members and found and not found[1].holders:
        state = texts("oncall_empty")
    lines = [f"- **{name}**: {state}"]
    if reading.problem:
        age = texts("oncall_age", minutes=round((now - reading.read_at) / 60)) if reading.read_at else ""
        lines.append(f"{texts('oncall_problem', problem=quoted(reading.problem, 200))}{age}")
    lines += (
        [texts("oncall_unreadable", part=quoted(one, 200)) for one in reading.plan.problems[:5]]
        if reading.plan
        else []
    )
    return "\n  ".join(lines)


def _format_periods(before: Shift, current: Shift, after: Shift, zone: tzinfo, texts: Texts) -> str:
    names, next_names = _format_names(current.holders, texts), _format_names(after.holders, texts)
    if current.end == math.inf:
        return names or texts("oncall_unclear")
    start, until, end = (
        "" if math.isinf(time) else f"{datetime.fromtimestamp(time, zone):%Y-%m-%d %H:%M}"
        for time in (current.start, current.end, after.end)
    )
    if not names:
        neighbors = {"before": _format_names(before.holders, texts) or "?", "after": next_names}
        return texts("oncall_gap", start=start, end=until, **neighbors)
    key = "oncall_now" if next_names else "oncall_before_gap" if end else "oncall_last"
    return texts(key, names=names, until=until, next=next_names, end=end)


def _format_names(holders: Sequence[Holder], texts: Texts) -> str:
    return texts("list_separator").join(quoted(one.name) for one in holders[:10])


ONCALL: Final = Command("oncall", run_oncall, argument="[SCHEDULE]", most_words=1)
