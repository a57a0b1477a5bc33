"""Read times of day, intervals and waits in English."""

from __future__ import annotations

import re

from bot.errors import ScheduleRefused
from bot.features.schedules.number_words import ENGLISH_NUMBER, parse_number
from bot.features.schedules.phrase import (
    ClockTime,
    DayPart,
    Delay,
    HourSpan,
    Interval,
    Phrase,
    Piece,
    compile_pattern,
    compile_table,
    words_of,
)

PARTS = {
    "morning": DayPart.MORNING,
    "afternoon": DayPart.AFTERNOON,
    "evening": DayPart.EVENING,
    "night": DayPart.NIGHT,
}
NO_SUFFIX = r"(?!['’])"
"""Keeps "tomorrow's" and "Monday's" from being a time."""
_HOUR = r"\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HALF = r"am|pm|a\.m\.|p\.m\."
_MINUTE_WORDS = r"fifteen|twenty|thirty|forty[\s-]five|forty|fifty"
# "5 to 9" is a span of hours; "five to nine" and "5 minutes to 9" are not.
_FRACTION = (
    r"half|(?:a\s+)?quarter|(?:twenty[\s-]five|twenty|ten|five|\d{1,2}(?=\s+(?:past|min)))(?:\s+minutes?)?"
)
_MINUTE_UNITS = r"minutes?|mins?|m|hours?|hrs?|h"
_DAY_UNITS = r"days?|weeks?|fortnights?|months?|years?"


def _duration_pattern(units: str) -> str:
    return (
        r"(?:(?P<half_hour>half\s+an?\s+hour|(?:a\s+)?half[\s-]hour)\b"
        r"|(?P<quarter>(?:a\s+)?quarter(?:\s+of\s+an)?[\s-]hour)\b"
        r"|(?:(?P<vague>a\s+couple\s+of|a\s+few|several|some)"
        rf"|(?P<count>{ENGLISH_NUMBER}|an?\b)?(?P<half>\.5|\s+and\s+a\s+half)?)"
        rf"\s*(?P<unit>{units})(?![a-z'’])(?P<and_half>\s+and\s+a\s+half\b)?"
        r"(?:(?:\s*,|\s+and)?\s*(?P<more>\d{1,4})\s*(?:minutes?|mins?|m)\b)?)"
    )


_DURATION = _duration_pattern(f"{_MINUTE_UNITS}|{_DAY_UNITS}")
_MINUTES = {"mi": 1, "m": 1, "ho": 60, "hr": 60, "h": 60}
_DAYS = {"d": 1, "w": 7, "f": 14}
_COUPLE, _FEW = (2, 3), (2, 3, 4, 5)


def _time_pattern(prefix: str = "") -> str:
    """Return the pattern of a time without its preposition; its groups begin with a prefix."""
    return (
        rf"(?:(?P<{prefix}word>noon|midday|midnight)\b{NO_SUFFIX}"
        rf"|(?P<{prefix}fraction>{_FRACTION})\s+(?P<{prefix}relation>past|after|to|before)\s+"
        rf"(?P<{prefix}of_hour>{_HOUR})"
        rf"|(?P<{prefix}hour>{_HOUR})"
        rf"(?:[:.](?P<{prefix}minute>\d{{2}})(?::00)?(?!\d)|(?<=[a-z])[\s-](?P<{prefix}spoken>{_MINUTE_WORDS})\b)?"
        rf"(?P<{prefix}clock>\s*o['’]?clock)?)(?:\s*(?P<{prefix}half>{_HALF})(?![\w’']))?"
    )


_END = r"(?!(?!z\b)\w|%|:\d|[./-]\d|['’]s\b|\s*(?:min|hour|hr|day|week|month|year|sec)[a-z]*\b)"
_TIME = compile_pattern(
    rf"(?P<about>(?:around|about|approximately|roughly|by|before|after|from)\s+)?(?P<at>at\s+|@\s*)?{_time_pattern()}"
    rf"(?P<sharp>\s+(?:sharp|on\s+the\s+dot)\b)?{_END}",
    re.IGNORECASE,
)
# What makes a number a time of day.
_SIGNS = ("minute", "spoken", "half", "word", "relation", "clock", "at", "about", "sharp")
_AND = compile_pattern(r"\s*(?:,\s*and\b|,|&|and\b)\s*", re.IGNORECASE)
# A number that ends the phrase is a time; one before other words may be the beginning of the text.
_PHRASE_END = re.compile(
    r"\s*(?:$|[,:：;-]\s*(?!\d)|\.(?!\S)|(?:say|send|digest|every|each|on|daily|tomorrow|today|in\s+the|at\s+night)\b"
    r"|\(|utc\b|[a-z]+/[a-z])",
    re.IGNORECASE,
)


def read_time(text: str, position: int, *, after_days: bool) -> tuple[ClockTime, int] | None:
    """Read a time of day; return it with the position after it.

    A number alone is a time only with "at" or `after_days`.
    """
    match = _TIME.match(text, position)
    if match is None:
        return None
    bare = not any(match[name] for name in _SIGNS)
    if bare and not (after_days and match["hour"].isdecimal()):
        return None
    unsure = bare and _PHRASE_END.match(text, match.end()) is None
    return _clock_time(match, about=bool(match["about"]), unsure=unsure), match.end()


def read_another_time(text: str, position: int) -> tuple[ClockTime, int] | None:
    """Read "and" with one more time of a list."""
    gap = _AND.match(text, position)
    return read_time(text, gap.end(), after_days=True) if gap else None


def _clock_time(
    match: re.Match[str], prefix: str = "", *, about: bool = False, unsure: bool = False
) -> ClockTime:
    def group(name: str) -> str:
        return (match[prefix + name] or "").lower()

    words, half = words_of(match), group("half").replace(".", "")
    if word := group("word"):
        hour = 0 if word == "midnight" else 12
        return ClockTime(words, hour, padded=True, midnight=word == "midnight", about=about)
    if relation := group("relation"):
        hour, minute = parse_number(group("of_hour")), _fraction_minutes(group("fraction"))
        if relation in {"to", "before"}:
            hour, minute = (hour - 2) % 12 + 1, 60 - minute
        return ClockTime(words, hour, minute, half, about=about)
    hour_words, minute_words = group("hour"), group("minute") or "-".join(group("spoken").split())
    return ClockTime(
        words,
        parse_number(hour_words),
        parse_number(minute_words or "0"),
        half,
        bare=not minute_words,
        padded=len(hour_words) == 2 and hour_words.startswith("0"),
        about=about,
        unsure=unsure,
    )


def _fraction_minutes(words: str) -> int:
    """Return the minutes of "half", "a quarter", "ten" or "twenty five minutes"."""
    word = "-".join(words.removeprefix("a ").replace("minutes", "").replace("minute", "").split())
    return {"half": 30, "quarter": 15}.get(word) or parse_number(word)


def parse_duration(match: re.Match[str]) -> Delay:
    """Return the duration of a match of the pattern. Raises ScheduleRefused."""
    words = words_of(match)
    if match["half_hour"] or match["quarter"]:
        return Delay(words, minutes=30 if match["half_hour"] else 15)
    unit = match["unit"].lower()
    if match["vague"]:
        counts = _COUPLE if "couple" in match["vague"].lower() else _FEW
        return Delay(words, choices=tuple(count * _unit_minutes(unit) for count in counts))
    word = (match["count"] or "one").lower()
    count = 1 if word in {"a", "an"} else parse_number(word)
    half, more = bool(match["half"] or match["and_half"]), int(match["more"] or 0)
    if minutes := _MINUTES.get(unit[:2]):
        return Delay(words, minutes=count * minutes + (minutes // 2 if half else 0) + more)
    if half or more:
        raise ScheduleRefused("duration_mixed", words=words)
    if days := _DAYS.get(unit[0]):
        return Delay(words, days=count * days)
    return Delay(words, months=count * (12 if unit.startswith("y") else 1))


def _unit_minutes(unit: str) -> int:
    days = {**_DAYS, "m": 30, "y": 365}
    return _MINUTES.get(unit[:2], 0) or days[unit[0]] * 24 * 60


def refuse_seconds(_phrase: Phrase, match: re.Match[str]) -> None:
    """Refuse a wait of seconds: schedules are looked at less often."""
    raise ScheduleRefused("time_seconds", words=words_of(match))


def _read_wait(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.wait = parse_duration(match)


def _read_every(phrase: Phrase, match: re.Match[str]) -> None:
    duration = parse_duration(match)
    if duration.choices:
        raise ScheduleRefused("every_vague", words=duration.words)
    in_hours = not (match["unit"] or "hour").lower().startswith("m")
    phrase.every = Interval(duration.words, duration.minutes, in_hours=in_hours)


def _read_hourly(phrase: Phrase, match: re.Match[str]) -> None:
    past = int(match["past"] or 0)
    if past > 59:
        raise ScheduleRefused("time_of_day", time=f":{match['past']}")
    phrase.every = Interval(words_of(match), 120 if match["other"] else 60, past, in_hours=True)


def _read_span(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.span = HourSpan(words_of(match), _clock_time(match, "a_"), _clock_time(match, "b_"))


def _read_part(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.part = PARTS[match["part"].lower()]


_TABLE = (
    (Piece.WAIT, rf"in\s+(?:{ENGLISH_NUMBER}|a\s+few|some)\s*sec(?:ond)?s?\b", refuse_seconds),
    (
        Piece.WAIT,
        rf"(?:in|after)\s+(?!min|hour|hr|day|week|fort|month|year){_DURATION}(?:['’]\s+time\b)?",
        _read_wait,
    ),
    (Piece.WAIT, rf"{_DURATION}\s+from\s+now\b", _read_wait),
    (
        Piece.EVERY,
        r"(?:hourly|every\s+(?:single\s+)?(?P<other>(?:other|second|2nd)\s+)?hour)\b"
        r"(?!\s+and\s+a\b)(?:\s+at\s+:(?P<past>\d\d)\b)?",
        _read_hourly,
    ),
    (Piece.EVERY, rf"every\s+{_duration_pattern(_MINUTE_UNITS)}", _read_every),
    (
        Piece.SPAN,
        rf"(?:from|between)\s+{_time_pattern('a_')}\s*(?:to|until|till|and|-|–)\s*{_time_pattern('b_')}{_END}",
        _read_span,
    ),
    (
        Piece.SPAN,
        rf"(?=\d){_time_pattern('a_')}\s*(?:to|until|till|-|–)\s*(?=\d){_time_pattern('b_')}{_END}",
        _read_span,
    ),
    (Piece.PART, rf"(?P<part>{'|'.join(PARTS)})s?\b{NO_SUFFIX}", _read_part),
    (Piece.PART_AFTER, rf"(?:in\s+the|at)\s+(?P<part>{'|'.join(PARTS)})\b{NO_SUFFIX}", _read_part),
)
TIME_COMPONENTS = compile_table(_TABLE, re.IGNORECASE)
