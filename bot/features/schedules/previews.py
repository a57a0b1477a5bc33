"""Parts of schedule previews, for drafts created by a command or the agent."""

from __future__ import annotations

from datetime import datetime

from bot.commands.escaping import quoted
from bot.features.schedules.schedule_store import Schedule
from bot.features.schedules.service import SchedulePreview
from bot.features.schedules.wall_clock import find_zone
from bot.texts import Texts

LONGEST_SHOWN = 60


def shorten_text(one: Schedule) -> str:
    """Return the beginning of a schedule's text as code."""
    return quoted(one.text, LONGEST_SHOWN)


def describe_draft(texts: Texts, one: Schedule, text: str) -> str:
    """Return what a schedule does, as the line above its next runs; `text` is its text as code."""
    key = f"digest_draft_{one.kind.value}" if one.text else "digest_draft_digest_bare"
    return texts(key, spoken=quoted(one.spoken), text=text)


async def format_time(texts: Texts, at: float, zone: str) -> str:
    """Return a time (s since the epoch) with its day of the week and its time zone."""
    shown = datetime.fromtimestamp(at, await find_zone(zone))
    day = texts("weekdays").split()[shown.weekday()]
    return f"{day} {shown:%Y-%m-%d %H:%M} {zone}"


async def list_times(texts: Texts, preview: SchedulePreview) -> list[str]:
    """Return the next runs as a Markdown list."""
    return [f"- {await format_time(texts, at, preview.schedule.zone)}" for at in preview.firings]
