"""Read the time phrase at the start of a text, in English or Chinese: its parts in any order."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.errors import ScheduleRefused
from bot.schedules import chinese_days, chinese_times, english_days, english_times
from bot.schedules.number_words import normalize
from bot.schedules.phrase import ClockTime, Component, Phrase, Piece, is_open

_NUMBERS = r"[*\d][\d*,/-]*"
_CRON_DAY = r"[*\dl?][\d*,/\w?-]*"
_FIELD = r"(?:\*|\d|[a-z]{3}(?![a-z]))[\w*,/#?-]*"
_CRON = rf"(?:@[a-z]+|{_NUMBERS}\s+{_NUMBERS}\s+{_CRON_DAY}\s+{_FIELD}\s+{_FIELD})"
# The stored form of a rule is read too, so that a rule without words can be written.
_STORED = rf"(?:(?:DTSTART:\S+ )?RRULE:\S+|{_CRON})"
_RULE = rf"(?:cron\s+)?(?P<cron>{_STORED}(?: \| {_STORED})*)"
# The areas of the time zone database; other words with a slash belong to the text.
_AREAS = (
    "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico"
    "|Pacific|US"
)
_IANA = rf"(?:in\s+|\()?(?P<zone>(?:{_AREAS})/[a-z_+-]+\d{{0,2}}(?:/[a-z_-]+)?|utc|gmt)\)?(?![\w+/-]|:\S)"
_CITIES = {
    "北京": "Asia/Shanghai",
    "上海": "Asia/Shanghai",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "东京": "Asia/Tokyo",
    "首尔": "Asia/Seoul",
    "新加坡": "Asia/Singapore",
    "伦敦": "Europe/London",
    "巴黎": "Europe/Paris",
    "柏林": "Europe/Berlin",
    "纽约": "America/New_York",
    "beijing": "Asia/Shanghai",
    "tokyo": "Asia/Tokyo",
    "london": "Europe/London",
    "paris": "Europe/Paris",
    "berlin": "Europe/Berlin",
    "new york": "America/New_York",
}
_CITY = rf"(?P<city>{'|'.join(_CITIES)})\s*(?:时间|time\b)"
# CST is a time in America and one in China, and an offset has no clock changes.
_ABBREVIATION = (
    r"\(?(?P<short>(?:UTC|GMT)\s?[+-]\d{1,2}(?::?\d{2})?|[ECMP][SD]?T|CES?T|BST|IST|JST|KST|AES?T|MSK)\)?"
    r"(?![\w'’])"
)
_SMALL = frozenset({"of", "es", "au"})
_GAP = re.compile(r"[\s,，]*(?:[的在于]\s*)?")
# Words that qualify the phrase, so they are no task's beginning.
_QUALIFIER = re.compile(
    r"(?:until|till|except|excluding|but\s+not|starting|beginning|ending|or\s+(?:at\s+)?\d"
    r"|for\s+(?:the\s+next\s+)?(?:\d+|a|an|one|two|three|four|five|six)\s+(?:days?|weeks?|months?|times)\b"
    r"|only\s+(?:if|when|on)\b|除|直到|截止|为止|开始|或\d|共?[\d一二两三四五六七八九十]+次|节假日|法定)",
    re.IGNORECASE,
)
# After a time, as in "9:00 daily report", these can belong to the text.
_ADJECTIVE = re.compile(
    r"(?:daily|nightly|weekday|workday|weekend)\b(?=\s+(?!(?:say|send|digest|at|in|on|from|starting|until)\b)\w)",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"(?:every|each)\b|每", re.IGNORECASE)


def _read_cron(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.cron = match["cron"]


def _read_zone(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.zone, phrase.zone_words = canonical_zone(match["zone"]), match.group(0)


def _read_city(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.zone, phrase.zone_words = _CITIES[match["city"].lower()], match.group(0)


def _refuse_abbreviation(_phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("zone_unclear", zone=match["short"])


_COMPONENTS = [
    Component(Piece.CRON, re.compile(_RULE, re.IGNORECASE), _read_cron),
    Component(Piece.ZONE_AFTER, re.compile(_IANA, re.IGNORECASE), _read_zone),
    Component(Piece.ZONE, re.compile(_CITY, re.IGNORECASE), _read_city),
    Component(Piece.ZONE_AFTER, re.compile(_ABBREVIATION), _refuse_abbreviation),
    *chinese_times.TIME_COMPONENTS,
    *english_times.TIME_COMPONENTS,
    *chinese_days.DAY_COMPONENTS,
    *english_days.DAY_COMPONENTS,
]


def canonical_zone(name: str) -> str:
    """Return a zone name as the time zone database spells it."""
    if name.lower() in {"utc", "gmt"}:
        return "UTC"
    if name != name.lower():
        return name
    return re.sub(r"[a-z]+", lambda word: word[0] if word[0] in _SMALL else word[0].capitalize(), name)


def read_phrase(text: str) -> Phrase | None:
    """Read the phrase at the start of a text; None if there is none.

    Raises ScheduleRefused if a part of it is no valid time, or if what follows also says when, so that a run
    at the times that were read would be wrong.
    """
    normal, phrase = normalize(text), Phrase()
    while (end := _read_part(normal, phrase)) is not None:
        phrase.end = end
    if phrase.is_empty:
        return None
    _check_rest(normal, phrase)
    return phrase


def _read_part(text: str, phrase: Phrase) -> int | None:
    """Read one more part; return the position after it."""
    gap = _GAP.match(text, phrase.end)
    start = gap.end() if gap else phrase.end
    if start >= len(text):
        return None
    if (end := _read_times(text, start, phrase)) is not None:
        return end
    for component in _COMPONENTS:
        match = component.pattern.match(text, start) if is_open(phrase, component.slot) else None
        if match is None or match.end() == start or _is_of_text(text, match, phrase, component.slot):
            continue
        has_times = bool(phrase.times)
        component.read(phrase, match)
        if has_times and component.slot is Piece.DAYS and phrase.days and _ADJECTIVE.match(text, start):
            phrase.days = replace(phrase.days, question="unclear_number", always=True)
        return match.end()
    return None


def _is_of_text(text: str, match: re.Match[str], phrase: Phrase, slot: Piece) -> bool:
    """Return True for 今天的 after a time: it begins the text, as in 9点今天的总结."""
    return slot is Piece.DAYS and bool(phrase.times) and text.startswith("的", match.end())


def _read_times(text: str, start: int, phrase: Phrase) -> int | None:
    """Read a list of times of day."""
    if phrase.times or phrase.cron or phrase.every or phrase.span or _is_span(text, start):
        return None
    if phrase.wait is not None and phrase.wait.minutes:
        return None
    after_days = phrase.wait is not None or (phrase.days is not None and phrase.days.strong)
    found = _one_time(text, start, after_days=after_days)
    if found is None:
        return None
    one, end = found
    times = [one]
    while (another := _another_time(text, end, one)) is not None:
        one, end = another
        times.append(one)
    # A number with others after it is no beginning of a text; the last one may be.
    phrase.times = (*(replace(sure, unsure=False) for sure in times[:-1]), times[-1])
    return end


def _is_span(text: str, start: int) -> bool:
    return any(
        component.pattern.match(text, start)
        for component in (*chinese_times.TIME_COMPONENTS, *english_times.TIME_COMPONENTS)
        if component.slot is Piece.SPAN
    )


def _one_time(text: str, start: int, *, after_days: bool) -> tuple[ClockTime, int] | None:
    found = [
        chinese_times.read_time(text, start),
        english_times.read_time(text, start, after_days=after_days),
    ]
    return max((one for one in found if one is not None), key=lambda one: one[1], default=None)


def _another_time(text: str, end: int, before: ClockTime) -> tuple[ClockTime, int] | None:
    return _longest(
        chinese_times.read_another_time(text, end, before), english_times.read_another_time(text, end)
    )


def _longest(*found: tuple[ClockTime, int] | None) -> tuple[ClockTime, int] | None:
    return max((one for one in found if one is not None), key=lambda one: one[1], default=None)


def _check_rest(text: str, phrase: Phrase) -> None:
    """Check that what follows the phrase does not change when it runs."""
    gap = _GAP.match(text, phrase.end)
    start = gap.end() if gap else phrase.end
    understood, rest = text[: phrase.end].strip(), text[start : start + 40].strip()
    if _QUALIFIER.match(text, start) or (_REPEATED.match(text, start) and _is_part(text, start)):
        raise ScheduleRefused("phrase_part", words=understood, rest=rest)
    time = _one_time(text, start, after_days=False)
    if time is not None and not time[0].unsure and not time[0].about:
        raise ScheduleRefused("phrase_part", words=understood, rest=rest)


def _is_part(text: str, start: int) -> bool:
    return any(
        component.pattern.match(text, start)
        for component in _COMPONENTS
        if component.slot in {Piece.DAYS, Piece.EVERY}
    )
