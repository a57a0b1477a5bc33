"""Reads dates that are kept as text, each by its own format, and reports the formats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pandas as pd

SHARE = 0.9
"""Share of the filled cells that must be dates before a column is read as dates."""
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,?\s+)?"
_TIME = (
    r"(?:[T,\s]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?"
)
_YEAR_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<year>\d{{4}})\s?[-/.年]\s?(?P<month>\d{{1,2}})\s?[-/.月]\s?(?P<day>\d{{1,2}})日?{_TIME}"
)
_NUMERIC = re.compile(
    rf"{_WEEKDAY}(?P<first>\d{{1,2}})(?P<sign>[-/.])\s?(?P<next>\d{{1,2}})(?P=sign)\s?(?P<year>\d{{4}}|\d{{2}}){_TIME}"
)
_NAMED = re.compile(
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[\s-]*(?P<name>[^\W\d_]{{3,}})\.?,?[\s-]*(?P<year>\d{{4}}){_TIME}"
)
_NAME_FIRST = re.compile(
    rf"{_WEEKDAY}(?P<name>[^\W\d_]{{3,}})\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}}){_TIME}"
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan",
            "feb",
            "mar mär mrz",
            "apr",
            "may mai",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct okt",
            "nov",
            "dec dez",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH_LABEL = re.compile(
    r"(?:(?P<year>\d{4})\s?[-/.年]\s?)?(?P<number>\d{1,2})(?P<sign>月?)"
    r"|(?P<name>[^\W\d_]{3,})\.?(?:\s(?P<after>\d{4}))?"
)
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}\S*")
_CENTURY = 69
"""Two-digit years from here on are of the 20th century, as in POSIX."""


@dataclass(frozen=True)
class DateColumn:
    """A column read as dates: the number of cells of each format, and what to tell about them.

    `guesses` are the cells such as 03/04/2026 whose order nothing in the column decides.
    """

    dates: pd.Series
    formats: dict[str, int]
    notes: tuple[str, ...]
    guesses: int = 0


@dataclass(frozen=True)
class _Numeric:
    """A date of three numbers with the year last; which is the day depends on the column."""

    first: int
    next: int
    year: int
    sign: str
    digits: int
    match: re.Match[str]

    @property
    def is_open(self) -> bool:
        """Whether both orders give a date, and a different one."""
        return self.first <= 12 and self.next <= 12 and self.first != self.next


def read_dates(column: pd.Series, *, day_first: bool | None = None) -> DateColumn | None:
    """Read a column as dates, None if fewer than `SHARE` of the filled cells are.

    Each cell is read by its own format: 2026-03-05 always has the month in the middle, whatever the other cells
    look like. Only the order of 03/04/2026 depends on the column: cells such as 25/04/2026 with the same sign
    decide it, else `day_first`, else the day is taken to come first, and a note says so.
    """
    filled = column.dropna().astype(str).str.strip()
    filled = filled[filled != ""]
    if filled.empty:
        return None
    codes, texts = pd.factorize(filled)
    counts = pd.Series(codes).value_counts().reindex(range(len(texts))).tolist()
    parsed = [_parse(text) for text in texts]
    if sum(count for count, one in zip(counts, parsed, strict=True) if one) < SHARE * len(filled):
        return None
    if _are_versions(texts, parsed):
        return None
    orders = {sign: _Order.of(sign, parsed, counts, day_first) for sign in "-/."}
    values: list[datetime | None] = []
    formats: Counter[str] = Counter()
    for one, count in zip(parsed, counts, strict=True):
        value, name = _resolve(one, orders) if one else (None, "")
        values.append(value)
        if value is not None:
            formats[name] += count
    if sum(formats.values()) < SHARE * len(filled):
        return None
    values, zones = _without_zones(values)
    dates = pd.Series(pd.NaT, index=column.index, dtype="datetime64[us]")
    dates.loc[filled.index] = pd.to_datetime(pd.Series(values), errors="coerce").to_numpy()[codes]
    unread = [text for text, value in zip(texts, values, strict=True) if value is None]
    notes = [*(note for order in orders.values() for note in order.notes()), *zones]
    if unread:
        notes.append(f"cells that could not be read as dates: {', '.join(map(repr, unread[:3]))}")
    return DateColumn(
        dates, dict(formats.most_common()), tuple(notes), sum(one.guesses for one in orders.values())
    )


def _parse(text: str) -> re.Match[str] | _Numeric | None:
    if not any(sign.isdigit() for sign in text[:20]):
        return None
    if found := _NUMERIC.fullmatch(text):
        return _Numeric(
            int(found["first"]),
            int(found["next"]),
            _year(found["year"]),
            found["sign"],
            len(found["year"]),
            found,
        )
    for pattern in (_YEAR_FIRST, _NAMED, _NAME_FIRST):
        found = pattern.fullmatch(text)
        if found and ("name" not in found.re.groupindex or _month(found["name"])):
            return found
    return None


def _are_versions(texts: Sequence[str], parsed: Sequence[re.Match[str] | _Numeric | None]) -> bool:
    """Return whether cells such as 1.2.26 are rather versions than dates.

    They are if another cell is a version such as 1.2.3, or if no cell has a zero in front or a day after the
    12th, and there are more last numbers than pairs before them: tables have more days than years.
    """
    short = [one for one in parsed if isinstance(one, _Numeric) and (one.sign, one.digits) == (".", 2)]
    if not short:
        return False
    if any(not one and _VERSION.fullmatch(text) for text, one in zip(texts, parsed, strict=True)):
        return True
    is_date = any(
        one.first > 12 or one.match["first"][0] == "0" or one.match["next"][0] == "0" for one in short
    )
    return not is_date and len({one.year for one in short}) > len({(one.first, one.next) for one in short})


def read_month(label: str) -> tuple[int, int]:
    """Return the year (0: none) and the number of a month such as `Jan`, `2026-03` or `3月`; (0, 0) for others."""
    found = _MONTH_LABEL.fullmatch(label.strip())
    if found is None or not (found["name"] or found["year"] or found["sign"]):
        return 0, 0
    month = _month(found["name"]) if found["name"] else int(found["number"])
    return (int(found["year"] or found["after"] or 0), month) if 1 <= month <= 12 else (0, 0)


def _month(name: str) -> int:
    return _MONTHS.get(name[:3].casefold(), 0)


def _year(digits: str) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (1900 if year >= _CENTURY else 2000)


@dataclass(frozen=True)
class _Order:
    """The order of the numbers of dates with one sign, and what it rests on."""

    sign: str
    day_first: bool
    guesses: int
    open: int
    example: str
    proof: str
    clash: str

    @classmethod
    def of(
        cls,
        sign: str,
        parsed: Sequence[re.Match[str] | _Numeric | None],
        counts: Sequence[int],
        day_first: bool | None,
    ) -> _Order:
        """Find the order in the cells of a column. Dates with points have the day first unless all else fails."""
        mine = [
            (one, count)
            for one, count in zip(parsed, counts, strict=True)
            if isinstance(one, _Numeric) and one.sign == sign
        ]
        days = next((one.match[0] for one, _ in mine if one.first > 12 >= one.next), "")
        months = next((one.match[0] for one, _ in mine if one.next > 12 >= one.first), "")
        open_ones = [(one, count) for one, count in mine if one.is_open]
        total = sum(count for _, count in open_ones)
        is_proven = bool(days) != bool(months) or (sign == "." and not months)
        is_day_first = day_first if day_first is not None and not is_proven else bool(days) or not months
        return cls(
            sign=sign,
            day_first=is_day_first,
            guesses=0 if is_proven or day_first is not None else total,
            open=total,
            example=open_ones[0][0].match[0] if open_ones else "",
            proof=days if is_day_first else months,
            clash=months if days and months else "",
        )

    def notes(self) -> list[str]:
        """Say how the dates of either order were read; nothing for the usual dates with points."""
        order, other = ("day", "month") if self.day_first else ("month", "day")
        dates = f"dates such as {self.example} ({self.open:,})"
        if self.guesses:
            why = f"both orders occur: {self.proof}, {self.clash}" if self.clash else "nothing decides it"
            return [
                f"{dates} may be day or month first ({why}); read as {order} first. Find out, and if that is "
                f"wrong, pass day_first={not self.day_first} or --dates {other}-first"
            ]
        if self.open and self.proof and (self.sign != "." or not self.day_first):
            return [f"{dates} read as {order} first, like {self.proof}"]
        return []


def _resolve(one: re.Match[str] | _Numeric, orders: dict[str, _Order]) -> tuple[datetime | None, str]:
    """Return the date, None if there is no such day, and the name of its format."""
    if isinstance(one, _Numeric):
        is_day_first = one.first > 12 or (one.next <= 12 and orders[one.sign].day_first)
        day, month = (one.first, one.next) if is_day_first else (one.next, one.first)
        parts = ["DD", "MM"] if is_day_first else ["MM", "DD"]
        return _datetime(one.year, month, day, one.match), one.sign.join([*parts, "Y" * one.digits])
    found = one.groupdict()
    if "name" not in found:
        return _datetime(int(found["year"]), int(found["month"]), int(found["day"]), one), "YYYY-MM-DD"
    return _datetime(int(found["year"]), _month(found["name"]), int(found["day"]), one), "month by name"


def _datetime(year: int, month: int, day: int, found: re.Match[str]) -> datetime | None:
    hour = int(found["hour"] or 0)
    if half := found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "Pp" else 0)
    micros = int((found["fraction"] or "0")[:6].ljust(6, "0"))
    try:
        return datetime(
            year,
            month,
            day,
            hour,
            int(found["minute"] or 0),
            int(found["second"] or 0),
            micros,
            _zone(found["zone"]),
        )
    except ValueError:
        return None


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text in {"Z", "UTC", "GMT"}:
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _without_zones(values: list[datetime | None]) -> tuple[list[datetime | None], list[str]]:
    """Keep the local time if all cells have one offset or none, else convert those with an offset to UTC."""
    offsets = {value.utcoffset() for value in values if value is not None}
    if offsets <= {None}:
        return values, []
    if len(offsets) == 1:
        return [value and value.replace(tzinfo=None) for value in values], []
    return [
        value.astimezone(UTC).replace(tzinfo=None) if value is not None and value.tzinfo else value
        for value in values
    ], ["times with different offsets from UTC: converted to UTC"]
