"""Read the time phrase at the start of a text, in English or Chinese: its parts in any order."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.errors import ScheduleRefused
from bot.features.schedules import chinese_days, chinese_times, english_days, english_times
from bot.features.schedules.english_days import MONTH, WEEKDAY
from bot.features.schedules.number_words import ENGLISH_NUMBER, normalize
from bot.features.schedules.phrase import ClockTime, Component, Phrase, Piece, compile_pattern, is_open

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
_IANA = (
    rf"(?:in\s+|\()?(?P<zone>(?:{_AREAS})/[a-z_+-]+\d{{0,2}}(?:/[a-z_-]+)?|utc|gmt|(?<=\d)z)"
    r"\)?(?![\w+/-]|:\S)"
)
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
    "悉尼": "Australia/Sydney",
    "纽约": "America/New_York",
    "洛杉矶": "America/Los_Angeles",
    "beijing": "Asia/Shanghai",
    "shanghai": "Asia/Shanghai",
    "hong kong": "Asia/Hong_Kong",
    "tokyo": "Asia/Tokyo",
    "seoul": "Asia/Seoul",
    "singapore": "Asia/Singapore",
    "london": "Europe/London",
    "paris": "Europe/Paris",
    "berlin": "Europe/Berlin",
    "sydney": "Australia/Sydney",
    "new york": "America/New_York",
    "los angeles": "America/Los_Angeles",
}
_CITY_NAMES = "|".join(_CITIES)
# "In Tokyo" before other words can also be what the task is about.
_ALONE = r"(?=\s*(?:$|[,，:：;)）]))"
_CITY = rf"[(（]?(?:(?P<city>{_CITY_NAMES})\s*(?:时间|time\b)|in\s+(?P<place>{_CITY_NAMES}){_ALONE})[)）]?"
# CST is a time in America and one in China, and an offset has no clock changes.
_ABBREVIATIONS = "[ECMP][SD]?T|CES?T|BST|IST|JST|KST|AES?T|MSK"
_ABBREVIATION = (
    rf"\(?(?P<short>(?:UTC|GMT)\s?[+-]\d{{1,2}}(?::?\d{{2}})?|{_ABBREVIATIONS})\)?"
    r"(?![\w'’])"
)
# In lower case some are words of other languages, and "central" can be about a bank.
_ABBREVIATION_ALONE = (
    rf"(?P<short>(?i:{_ABBREVIATIONS}|(?:pacific|mountain|central|eastern)(?:\s+(?:standard|daylight))?(?:\s+time)?))"
    rf"(?:{_ALONE}|(?=\s+(?i:every|each|on|tomorrow|today)\b))"
)
_TH = r"(?:st|nd|rd|th)"
_LONGEST_TIME = 32
"""Maximum number of characters of a time of day."""
_SMALL = frozenset({"of", "es", "au"})
_GAP = re.compile(r"[\s,，]*(?:[的在于]\s*)?")
# Words that qualify the phrase, so they are no task's beginning.
_QUALIFIERS = (
    # Exceptions and ends.
    r"until|till|through|except|excluding|but\b|starting|beginning|ending|only\s+(?:if|when|on)\b",
    r"for\s+(?:the\s+next\s+)?(?:\d+|a|an|one|two|three|four|five|six)\s+(?:days?|weeks?|months?|times)\b",
    r"除|直到|截止|为止|开始|共?[\d一二两三四五六七八九十]+次|节假日|法定",
    # Other days.
    rf"on\s+{WEEKDAY}|on\s+the\s+(?:first|second|third|fourth|last|final|\d)|(?:(?:and|or)\s+)?the\s+\d+{_TH}\b",
    rf"(?:and|or)\s+\d+{_TH}\b|(?:in|of|during)\s+(?:{MONTH}|\d{{4}}\b)|after\s+next\b|tonight\s*$",
    # The rest of a number or time that was read in part.
    rf"at\s+(?:\d|half\b|(?:a\s+)?quarter\b|{ENGLISH_NUMBER}\b)|past\s+{ENGLISH_NUMBER}\b|or\s+(?:at\s+)?\d|或\d",
    r"[-–/+]\d|(?<=\d):\d|\d[\d:.]*\s*$|\d+[早晚]",
    # A place, whose time may be meant.
    rf"(?:local|my|our)\s+time\b|in\s+(?:{_CITY_NAMES})\b|in\s+\S+(?:\s+\S+)?\s*$",
)
_QUALIFIER = re.compile(rf"(?:{'|'.join(_QUALIFIERS)})", re.IGNORECASE)
_CONJUNCTION = re.compile(
    r"(?:and|or|plus|as\s+well\s+as|then)\s+(?:on\s+)?|&\s*|以及|还有|[和与及]", re.IGNORECASE
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
    phrase.zone, phrase.zone_words = _CITIES[(match["city"] or match["place"]).lower()], match.group(0)


def _refuse_abbreviation(_phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("zone_unclear", zone=match["short"])


_COMPONENTS = [
    Component(Piece.CRON, compile_pattern(_RULE, re.IGNORECASE), _read_cron),
    Component(Piece.ZONE_AFTER, compile_pattern(_IANA, re.IGNORECASE), _read_zone),
    Component(Piece.ZONE, compile_pattern(_CITY, re.IGNORECASE), _read_city),
    Component(Piece.ZONE_AFTER, compile_pattern(_ABBREVIATION), _refuse_abbreviation),
    Component(Piece.ZONE_AFTER, compile_pattern(_ABBREVIATION_ALONE), _refuse_abbreviation),
    *chinese_times.TIME_COMPONENTS,
    *english_times.TIME_COMPONENTS,
    *chinese_days.DAY_COMPONENTS,
    *english_days.DAY_COMPONENTS,
]


def canonical_zone(name: str) -> str:
    """Return a zone name as the time zone database spells it."""
    if name.lower() in {"utc", "gmt", "z"}:
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
    joined = _CONJUNCTION.match(text, start)
    next_part = joined.end() if joined else start
    lacks_time = not (phrase.times or phrase.wait or phrase.every or phrase.cron)
    is_another = (joined or lacks_time or _REPEATED.match(text, start)) and _is_part(text, next_part)
    is_time = _is_sure_time(text, next_part) or (lacks_time and _ends_with_time(text, start))
    if is_another or is_time or _QUALIFIER.match(text, start):
        raise ScheduleRefused("phrase_part", words=understood, rest=rest)


def _ends_with_time(text: str, start: int) -> bool:
    """Return True for "the first week at 9": what comes before the time is no text of a task."""
    end = len(text.rstrip(" .。!！"))
    return any(_is_sure_time(text, position, end) for position in range(max(start, end - _LONGEST_TIME), end))


def _is_sure_time(text: str, start: int, end: int | None = None) -> bool:
    """Return True if a time of day begins there and, if an end is given, ends there."""
    found = _one_time(text, start, after_days=False)
    return found is not None and not (found[0].unsure or found[0].about) and end in {None, found[1]}


def _is_part(text: str, start: int) -> bool:
    return any(
        component.pattern.match(text, start)
        for component in _COMPONENTS
        if component.slot in {Piece.DAYS, Piece.EVERY}
    )
