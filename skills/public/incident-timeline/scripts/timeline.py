"""Puts lines of several logs and chats into one order, in UTC.

    python3 timeline.py app=app.log@UTC chat=chat.txt@Europe/Berlin --date 2026-11-22 --match "error|deploy"

Needs nothing but Python. Prints a Markdown table; what it could not place goes to stderr as a count.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

MONTHS = {
    name: at
    for at, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}
ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?\s?(Z|UTC|[+-]\d\d:?\d\d)?(?![\d:])"
)
WEB = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d)(?: ([+-]\d{4}))?")
SYSLOG = re.compile(r"\b([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d:\d\d:\d\d)\b")
EPOCH = re.compile(r"(?<![\d.])(1\d{9})(\d{3})?(?:\.\d+)?(?![\d.])")
BARE = re.compile(r"(?<![\d:])(\d{1,2}:\d\d(?::\d\d)?)(?![\d:])")
HEAD = 60
"""A time is looked for in so many characters at the beginning of a line."""
NOISE = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Event:
    """A line: its time in UTC, where it comes from, what it says, and how often it was said."""

    at: datetime
    source: str
    text: str
    times: int = 1


@dataclass(frozen=True)
class Source:
    """A file, its name, and the zone of times that don't say one."""

    name: str
    path: Path
    zone: ZoneInfo


def source(text: str) -> Source:
    """`name=file@zone`; the name is the file's where it is absent, the zone UTC."""
    name, equals, rest = text.partition("=")
    path, at, zone = (rest if equals else text).rpartition("@")
    if not at:
        path, zone = zone, "UTC"
    return Source(name if equals else Path(path).stem, Path(path), ZoneInfo(zone))


def when(line: str, zone: ZoneInfo, day: date | None) -> tuple[datetime, str] | None:
    """The time of the line in UTC and the line without it; None without a time."""
    head = line[:HEAD]
    for pattern, read in ((ISO, _iso), (WEB, _web), (SYSLOG, _syslog), (EPOCH, _epoch), (BARE, _bare)):
        match = pattern.search(head)
        if match is None:
            continue
        try:
            found = read(match, day)
        except (ValueError, KeyError):
            continue
        if found is not None:
            rest = (line[: match.start()].rstrip(" [(") + " " + line[match.end() :].lstrip(" ])-:,")).strip()
            return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC), rest
    return None


def _iso(match: re.Match[str], _: date | None) -> datetime:
    text = f"{match[1]}T{match[2]}"
    offset = {"Z": "+00:00", "UTC": "+00:00", None: ""}.get(match[4], match[4])
    return datetime.fromisoformat(
        text + (offset if ":" in offset or not offset else f"{offset[:3]}:{offset[3:]}")
    )


def _web(match: re.Match[str], _: date | None) -> datetime:
    clock = datetime.strptime(match[4], "%H:%M:%S").time()
    day = date(int(match[3]), MONTHS[match[2]], int(match[1]))
    offset = match[5]
    text = f"{day}T{clock}" + (f"{offset[:3]}:{offset[3:]}" if offset else "")
    return datetime.fromisoformat(text)


def _syslog(match: re.Match[str], day: date | None) -> datetime | None:
    if day is None:
        return None
    return datetime.fromisoformat(f"{day.year}-{MONTHS[match[1]]:02}-{int(match[2]):02}T{match[3]}")


def _epoch(match: re.Match[str], _: date | None) -> datetime:
    return datetime.fromtimestamp(int(match[1]), UTC)


def _bare(match: re.Match[str], day: date | None) -> datetime | None:
    if day is None:
        return None
    hour, _, rest = match[1].partition(":")
    return datetime.fromisoformat(f"{day}T{int(hour):02}:{rest}")


def events(one: Source, day: date | None) -> tuple[list[Event], int]:
    """The events of a source, and how many lines before the first time could not be placed."""
    found: list[Event] = []
    lost = 0
    for line in one.path.read_text(encoding="utf-8-sig", errors="replace").splitlines():
        if not line.strip():
            continue
        placed = when(line, one.zone, day)
        if placed is not None:
            found.append(Event(placed[0], one.name, placed[1] or line.strip()))
        elif found:
            found[-1] = replace(found[-1], text=f"{found[-1].text} ⏎ {line.strip()}")
        else:
            lost += 1
    return found, lost


def counted(found: list[Event]) -> Iterator[Event]:
    """In order; lines of a source that differ in numbers only are counted while nothing else comes between."""
    last: Event | None = None
    for event in sorted(found, key=lambda one: one.at):
        same = last is not None and last.source == event.source and _key(last.text) == _key(event.text)
        if last is not None and same:
            last = replace(last, times=last.times + 1)
            continue
        if last is not None:
            yield last
        last = event
    if last is not None:
        yield last


def _key(text: str) -> str:
    return NOISE.sub("#", text)


def table(found: list[Event], gap: timedelta, width: int) -> str:
    """The Markdown table."""
    if not found:
        return "Nothing fits."
    days = {event.at.date() for event in found}
    form = "%H:%M:%S" if len(days) == 1 else "%Y-%m-%d %H:%M:%S"
    head = f"{len(found)} lines, {found[0].at:%Y-%m-%d %H:%M} to {found[-1].at:%Y-%m-%d %H:%M} UTC\n"
    rows = [head, "| time (UTC) | what | source |", "|---|---|---|"]
    before: Event | None = None
    for event in found:
        if before is not None and event.at - before.at > gap:
            minutes = int((event.at - before.at).total_seconds() // 60)
            rows.append(f"| … | *nothing for {minutes} minutes* | |")
        text = " ".join(event.text.replace("|", "\\|").split())
        text = text if len(text) <= width else f"{text[: width - 1]}…"
        rows.append(
            f"| {event.at.strftime(form)} | {text}{f' (×{event.times})' * (event.times > 1)} | {event.source} |"
        )
        before = event
    return "\n".join(rows)


def main(arguments: list[str] | None = None) -> int:
    """Read, order, print; 1 where nothing fits."""
    parser = argparse.ArgumentParser(description="One order for lines of several logs and chats.")
    parser.add_argument("sources", nargs="+", type=source, metavar="name=file@zone")
    parser.add_argument("--date", type=date.fromisoformat, help="for times without a day or a year")
    parser.add_argument("--from", dest="start", type=datetime.fromisoformat, help="UTC")
    parser.add_argument("--to", dest="end", type=datetime.fromisoformat, help="UTC")
    parser.add_argument("--match", type=lambda text: re.compile(text, re.IGNORECASE))
    parser.add_argument("--gap", type=float, default=15, help="minutes of silence to mark")
    parser.add_argument("--width", type=int, default=200, help="characters of a line")
    parser.add_argument("--most", type=int, default=300, help="rows")
    given = parser.parse_args(arguments)
    found: list[Event] = []
    for one in given.sources:
        placed, lost = events(one, given.date)
        found += placed
        if lost:
            print(f"{one.name}: {lost} lines have no time that can be read", file=sys.stderr)
    start = given.start.replace(tzinfo=UTC) if given.start else None
    end = given.end.replace(tzinfo=UTC) if given.end else None
    fits = [
        event
        for event in found
        if (start is None or event.at >= start)
        and (end is None or event.at <= end)
        and (given.match is None or given.match.search(event.text))
    ]
    rows = list(counted(fits))
    print(table(rows[: given.most], timedelta(minutes=given.gap), given.width))
    if len(rows) > given.most:
        print(f"\n{len(rows) - given.most} more rows; narrow it with --from, --to or --match.")
    return int(not rows)


if __name__ == "__main__":
    sys.exit(main())
