"""Grammar of times in English."""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.features.schedules import readings as read
from bot.features.schedules.cron import MONTHS
from bot.features.schedules.grammar import Form, Grammar, Lexeme, constant
from bot.features.schedules.phrase import DayPart, RepeatedDays
from bot.features.schedules.zones import ZONE_ENTRIES, ZONE_ROWS

# Words that are a kind each.
_PLAIN = (
    "after all and at between coming daily for fortnightly from half hourly in midnight monthly nightly now"
    " of on once or past quarterly single the then times tonight twice weekend weekends weekly"
)
_SPOKEN = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_SPOKEN |= {"ten": 10, "eleven": 11, "twelve": 12}
_TENS = {"fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30, "forty": 40, "forty-five": 45}
_TENS |= {"fifty": 50, "sixty": 60, "ninety": 90}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "final": -1}
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DAY = "sun|mon|tue(?:s)?|wed|thu(?:rs?)?|fri|sat"
_LONG_DAY = "sunday|monday|tuesday|wednesday|thursday|friday|saturday"
# What may follow a number directly.
_UNIT = r"(?:[ap]m|[ap]\.m\.|h|hrs?|hours?|m|mins?|minutes?)(?![a-z'’])"
_NUMBER_END = rf"(?=\s*+{_UNIT})|(?![\w%]|[.:/]\d)"


def _word(kind: str, pattern: str, value: Callable[[str], object] = str.lower) -> Lexeme:
    """Return a token kind for whole words, excluding forms such as `tomorrow's`."""
    return Lexeme(kind, rf"(?:{pattern})(?![\w'’])", value)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _clock(text: str) -> tuple[int, int, bool, bool]:
    hour, minute = _numbers(text)[:2]
    return hour, minute, False, text.startswith("0")


def _day_month(text: str) -> tuple[int, ...]:
    day, month, *year = _numbers(text)
    return month, day, *year


_ENTRIES = (
    *ZONE_ENTRIES,
    Lexeme(
        "NUMERIC",
        r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)t?",
        lambda text: (*_numbers(text)[1:], _numbers(text)[0]),
    ),
    Lexeme("SLASHED", r"\d{1,2}/\d{1,2}(?:/\d{4})?(?![\d/])", _numbers),
    Lexeme("NUMERIC", r"\d{1,2}\.\d{1,2}\.(?:\d{4})?(?![\d.])", _day_month),
    Lexeme(
        "CLOCK", rf"\d{{1,2}}[:.]\d{{2}}(?::00)?(?:(?=\s*+{_UNIT})|(?=z\b)|(?![\w%:./+-]\d|[\w%]))", _clock
    ),
    Lexeme("ORDINAL", r"\d{1,2}(?:st|nd|rd|th)(?![\w'’])", lambda text: int(text[:-2])),
    Lexeme("DECIMAL", r"\d{1,3}\.5(?!\d)", lambda text: int(text[:-2])),
    Lexeme("CLOCK", rf"0\d(?:{_NUMBER_END})", lambda text: (int(text), 0, True, True)),
    Lexeme("NUMBER", rf"\d{{1,2}}(?:{_NUMBER_END})", int),
    Lexeme("BIG", rf"\d{{3,25}}(?:{_NUMBER_END})", int),
    Lexeme("MINUTEMARK", r":\d\d(?![\d:])", lambda text: int(text[1:])),
    Lexeme("AM", r"[ap](?:m|\.m\.)(?![\w'’])", lambda text: text[0].lower() + "m"),
    Lexeme("COMMA", "[,，]"),
    Lexeme("DASH", "[-–~]"),
    Lexeme("SLASH", "/"),
    Lexeme("AND", "&"),
    Lexeme("AT", "@"),
    _word("TODAY", r"(?:the\s++)?day\s++after\s++tomorrow", constant(2)),
    _word("VAGUE", r"a\s++couple\s++of|a\s++few|several|some"),
    _word("WORKDAY", r"weekdays?|workdays?|(?:working|business|work|week)\s++days?"),
    _word("SHARP", r"sharp|on\s++the\s++dot"),
    _word("BIWEEKLY", "(?:bi|semi)-?weekly"),
    _word("BIMONTHLY", "(?:bi|semi)-?monthly"),
    _word("OCLOCK", "o['’]?clock"),
    _word(
        "TENS",
        r"twenty[\s-]five|forty[\s-]five|" + "|".join(_TENS),
        lambda word: _TENS["-".join(word.lower().split())],
    ),
    _word("SPOKEN", "|".join(_SPOKEN), lambda word: _SPOKEN[word.lower()]),
    _word("POSITION", "|".join(_ORDINALS), lambda word: _ORDINALS[word.lower()]),
    _word("WEEKDAYS", rf"(?:{_LONG_DAY})s", lambda word: word[:3].lower()),
    _word("WEEKDAY", f"{_LONG_DAY}|{_DAY}", lambda word: word[:3].lower()),
    _word("MONTH", _MONTH, lambda word: MONTHS[word[:3].lower()]),
    _word(
        "PART", "(?:morning|afternoon|evening|night)s?", lambda word: DayPart(word.lower().removesuffix("s"))
    ),
    _word("SECONDS", r"sec(?:ond)?s|sec"),
    Lexeme("MINUTE", "(?:minutes?|mins?|m)(?![a-z'’])"),
    Lexeme("HOUR", "(?:hours?|hrs?|h)(?![a-z'’])"),
    _word("TASK", "say|send|digest"),
    _word("DAY", "days?", constant("day")),
    _word("WEEK", "weeks?", constant("week")),
    _word("WEEK", "fortnights?", constant("fortnight")),
    _word("MONTHS", "months?", constant("month")),
    _word("QUARTER", "quarters?", constant(1)),
    _word("YEAR", "years?", constant("year")),
    _word("TODAY", "today", constant(0)),
    _word("TODAY", "tomorrow", constant(1)),
    _word("UNTIL", "until|till"),
    _word("LIMIT", "except|excluding|unless|but|ending|only|not"),
    _word("THROUGH", "through|thru"),
    _word("STARTING", r"starting|beginning|as\s++of"),
    _word("EDGE", "end|start"),
    _word("NEXT", "next", constant(1)),
    _word("THIS", "this", constant(0)),
    _word("ABOUT", "around|about|approximately|roughly|by|before"),
    _word("TO", "to"),
    _word("EVERY", "every|each"),
    _word("ARTICLE", "an?"),
    _word("OTHER", "other|alternate"),
    _word("NOON", "noon|midday"),
    _word("YEARLY", "yearly|annually"),
    *(_word(word.upper(), word) for word in _PLAIN.split()),
)
_AND = "(COMMA AND?|AND)"
_DAYS = f"(WEEKDAY|WEEKDAYS)(({_AND}|TO|DASH|THROUGH|SLASH)?(WEEKDAY|WEEKDAYS))*"
_NTH = f"(ORDINAL|POSITION)({_AND} THE? (ORDINAL|POSITION))*"
_COUNT = "(NUMBER|BIG|SPOKEN|TENS)"
_OF_MONTH = "(OF|IN) (EVERY|THE|ARTICLE)?"
_MONTHLY = "(MONTHLY|EVERY MONTHS) ON? THE?"
_MONTH_DAY = "(MONTH THE? (ORDINAL|POSITION|NUMBER)|(ORDINAL|POSITION|NUMBER) OF? MONTH)"
_UNITS = "(DAY|WEEK|MONTHS|YEAR)"
_TIME_UNITS = "(HOUR|MINUTE)"
_DURATION = (
    f"((HALF|QUARTER) OF? ARTICLE? DASH? HOUR | ARTICLE (HALF|QUARTER) (OF ARTICLE)? DASH? HOUR"
    f"| ({_COUNT}|DECIMAL|ARTICLE)? (AND ARTICLE HALF)? {_TIME_UNITS} (AND ARTICLE HALF)?"
    f" ((COMMA|AND)? {_COUNT} MINUTE)?)"
)
_HOUR = "(NUMBER|SPOKEN)"
# A number before another word or a unit is no time of day.
_ALONE = "(?!TEXT|ODD|HOUR|MINUTE|SECONDS|DAY|WEEK|MONTHS|YEAR|DASH|TIMES|MONTH)"
_EXACT = (
    f"(CLOCK AM?|{_HOUR} OCLOCK? AM|{_HOUR} OCLOCK|SPOKEN DASH? TENS AM?|NOON|MIDNIGHT"
    f"|(HALF|ARTICLE? QUARTER|(SPOKEN|TENS) MINUTE?|NUMBER MINUTE|NUMBER (?=PAST))"
    f" (PAST|AFTER|TO) {_HOUR} AM?)"
)
_AFTER_AT = f"((AT|ABOUT AT?) ({_EXACT}|{_HOUR}(?!HOUR|MINUTE|SECONDS|DAY|WEEK|MONTHS|YEAR|ODD)))"
_MORE_TIMES = f"({_AND} (AT? ({_EXACT}|{_HOUR}{_ALONE})) SHARP?)*"
_END_OF_SPAN = "(CLOCK|NUMBER|SPOKEN|NOON|MIDNIGHT) OCLOCK? AM?"
_DATE = f"(NUMERIC|SLASHED|{_MONTH_DAY} (COMMA? BIG)?|TODAY|(NEXT|THIS) WEEK|NEXT? WEEKDAY)"
# In "9:00 daily report", the adjective may belong to the text.
_AFTER_TIME = "[CLOCK AM NUMBER SPOKEN TENS OCLOCK SHARP NOON]"
_ADJECTIVE = "(DAILY|NIGHTLY|WORKDAY|WEEKEND)"
_NO_ADJECTIVE = f"(?!(?<={_AFTER_TIME}) {_ADJECTIVE} TEXT)"
_ROWS = (
    # Days that come again
    Form("days", f"{_NO_ADJECTIVE} DAILY|EVERY SINGLE? DAY|EVERY PART", read.repeat()),
    Form("days", f"{_NO_ADJECTIVE} NIGHTLY", lambda _: read.days(RepeatedDays(), part=DayPart.NIGHT)),
    Form("days", f"{_NO_ADJECTIVE} (EVERY|ON)? WORKDAY", read.repeat(weekdays="1-5")),
    Form("days", f"{_NO_ADJECTIVE} (EVERY|ON)? (WEEKEND|WEEKENDS)", read.repeat(weekdays="6,0")),
    Form("days", f"((WEEKLY|EVERY WEEK) ON?|EVERY|ALL|ON)? {_DAYS}", read.read_weekdays),
    Form("days", f"ON? EVERY? THE? {_NTH} (WORKDAY|{_DAYS}) {_OF_MONTH} MONTHS", read.read_nth),
    Form("days", f"{_MONTHLY} {_NTH} (WORKDAY|{_DAYS})", read.read_nth),
    Form(
        "days",
        f"EVERY THE? (ORDINAL|POSITION) ({_AND} THE? (ORDINAL|POSITION))+ (WORKDAY|{_DAYS})",
        read.read_nth,
    ),
    Form("days", "ON? THE? (ORDINAL|POSITION) WEEKDAY", read.read_nth),
    Form("days", f"EVERY (OTHER|ORDINAL|POSITION) {_DAYS}", read.read_every_nth_weekday),
    Form("days", f"ON? EVERY? THE? {_NTH} DAY? {_OF_MONTH} (MONTHS|QUARTER)", read.read_month_days),
    Form("days", f"({_MONTHLY}|EVERY) {_NTH} DAY?", read.read_month_days),
    Form("days", "(QUARTERLY|EVERY QUARTER) ON? THE? (ORDINAL|POSITION)", read.read_month_days),
    Form("days", "(AT|ON)? THE? (EDGE|STARTING) OF (EVERY|THE)? MONTHS", read.read_edge),
    Form(
        "days",
        f"EVERY (OTHER|ORDINAL|POSITION|{_COUNT}) {_UNITS} (ON ({_DAYS}|THE? (ORDINAL|POSITION)))?",
        read.read_every_few,
    ),
    Form("days", f"(FORTNIGHTLY|BIWEEKLY|EVERY WEEK) (ON {_DAYS})?", read.read_weeks),
    Form("days", "BIMONTHLY", read.repeat("unclear_bimonthly", every=2, unit="month")),
    Form("days", "WEEKLY", read.repeat(unit="week")),
    Form("days", "MONTHLY|EVERY MONTHS", read.repeat(unit="month")),
    Form("days", "QUARTERLY|EVERY QUARTER", read.repeat(unit="month", every=3)),
    Form("days", "YEARLY|EVERY YEAR", read.repeat(unit="month", every=12)),
    Form("days", f"((YEARLY|EVERY YEAR) ON? THE?|EVERY) {_MONTH_DAY}", read.read_year_days),
    Form("days", f"(YEARLY|EVERY YEAR) ON? THE? {_NTH} DAY? OF MONTH ({_AND} MONTH)*", read.read_year_days),
    Form("days", f"(ONCE|TWICE|{_COUNT} TIMES) (ARTICLE|EVERY) {_UNITS}", read.refuse("unclear_times_per")),
    Form("days", "TWICE DASH? (DAILY|WEEKLY|MONTHLY)", read.refuse("unclear_times_per")),
    # Days that come once
    Form("days", "TODAY|TONIGHT|THIS PART", read.read_day),
    Form(
        "days",
        f"(IN|AFTER) ({_COUNT}|ARTICLE) {_UNITS}|({_COUNT}|ARTICLE) {_UNITS} FROM NOW",
        read.read_days_ahead,
    ),
    Form("days", f"ON? (WEEKDAY COMMA?)? (NUMERIC|SLASHED|THE? {_MONTH_DAY} (COMMA? BIG)?)", read.read_date),
    Form(
        "days",
        "ON? (NEXT|THIS) MONTHS ON? THE? ORDINAL|ON? THE? ORDINAL OF (NEXT|THIS) MONTHS",
        read.read_day_of_month,
    ),
    Form("days", "(ON|ON? THE) ORDINAL(?!OF)", read.read_day_of_month),
    Form("days", "ON? WEEKDAY OF? NEXT WEEK|NEXT WEEK ON? WEEKDAY", read.read_named_weekday),
    Form("days", "ON? (NEXT|THIS COMING?|COMING) WEEKDAY", read.read_named_weekday),
    Form("days", "NEXT (WEEK|MONTHS|QUARTER|YEAR)", read.refuse("unclear_next")),
    Form("start", f"(STARTING|FROM) ON? {_DATE}", read.read_start),
    Form("until", f"UNTIL {_DATE}", read.read_start),
    # Times
    Form("times", f"({_AFTER_AT}|{_EXACT}) SHARP? {_MORE_TIMES}", read.read_times),
    Form("times", f"NUMBER{_ALONE} {_MORE_TIMES}", read.read_times, after="days"),
    Form("part", "PART", read.read_part, after="days", before="times"),
    Form("part", "(IN THE|AT) PART", read.read_part),
    Form("span", f"(FROM|BETWEEN) {_END_OF_SPAN} (TO|UNTIL|AND|DASH) {_END_OF_SPAN}", read.read_span),
    Form("span", "(CLOCK|NUMBER) AM? (TO|UNTIL|DASH) (CLOCK|NUMBER) AM?", read.read_span),
    Form("every", "(HOURLY|EVERY SINGLE? (OTHER|ORDINAL|POSITION)? HOUR) (AT MINUTEMARK)?", read.read_hourly),
    Form("every", f"EVERY {_DURATION}", read.read_every),
    Form("every", f"EVERY VAGUE ({_TIME_UNITS}|{_UNITS})", read.refuse("every_vague")),
    Form("wait", f"(IN|AFTER) {_DURATION}|{_DURATION} FROM NOW", read.read_minutes),
    Form("wait", f"(IN|AFTER) VAGUE ({_TIME_UNITS}|{_UNITS})", read.refuse("every_vague")),
    Form("wait", f"IN ({_COUNT}|VAGUE) SECONDS", read.refuse("time_seconds")),
    # Zones
    *ZONE_ROWS,
    # "In Tokyo" before other words can also be what the task is about.
    Form(
        "zone",
        "IN (ZONE|CITY CITYTIME?(?=FINISH|SEPARATOR|COMMA))",
        lambda words: words.first("ZONE", "CITY"),
    ),
    Form(
        "zone",
        "ABBREVIATION(?=FINISH|SEPARATOR|EVERY|ON|TODAY|DAILY|WORKDAY|WEEKDAY)",
        read.refuse("zone_unclear"),
    ),
)
ENGLISH = Grammar(
    _ENTRIES,
    _ROWS,
    ignored="COMMA",
    when=(
        f"{_ADJECTIVE}|EVERY|LIMIT|THROUGH|UNTIL|AT|CLOCK|AM|NUMERIC|SLASHED|ORDINAL|NUMBER|BIG|SPOKEN|ZONE|OFFSET|STARTING"
        "|IN (CITY|MONTH|NUMBER)|AND (WEEKDAY|WEEKDAYS|TODAY)|OR (WEEKDAY|TODAY)|FROM"
    ),
    limits=r"skip(?:ping)?\b|or\s+so\b|in\s+\S+(?:\s+\S+)?\s*$|(?:local|my|our)\s+time\b",
    clock=r"(?:\b(?:at|@)\s*\d{1,2}(?:[:.]\d\d)?|\d:\d\d|\d\s*[ap]m|o['’]?clock|noon|midnight)\s*$",
)
