"""Read days and dates in English."""

from __future__ import annotations

import re

from bot.errors import ScheduleRefused
from bot.features.schedules import day_arithmetic as dates
from bot.features.schedules.cron import LAST, MONTHS, WEEKDAYS
from bot.features.schedules.english_times import NO_SUFFIX, PARTS
from bot.features.schedules.number_words import ENGLISH_NUMBER, parse_number
from bot.features.schedules.phrase import (
    DayPart,
    DayReading,
    Days,
    FindDates,
    Phrase,
    Piece,
    RepeatedDays,
    SingleDay,
    Start,
    compile_table,
    words_of,
)

WEEKDAY = (
    r"(?:sun(?:days?)?|mon(?:days?)?|tue(?:s(?:days?)?)?|wed(?:nesdays?)?|thu(?:r(?:s(?:days?)?)?)?"
    rf"|fri(?:days?)?|sat(?:urdays?)?)\b{NO_SUFFIX}"
)
_DAYS = rf"{WEEKDAY}(?:(?:\s*(?:,\s*and\b|,|-|–|&|/|(?:and|to|thru|through)\b)\s*|\s+){WEEKDAY})*"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_POSITIONS = {
    **{word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"), start=1)},
    **{word: number for number, word in enumerate(("1st", "2nd", "3rd", "4th", "5th"), start=1)},
    "last": -1,
    "final": -1,
}
_POSITION = "|".join(_POSITIONS)
_POSITION_LIST = rf"(?:{_POSITION})(?:\s*(?:,\s*and\b|,|&|and\b)\s*(?:the\s+)?(?:{_POSITION}))*"
_TH = r"(?:st|nd|rd|th)"
_WORKDAYS = r"(?:weekdays?|workdays?|(?:working|business|work|week)\s+days?)\b"
_EACH_MONTH = r"(?:of|in)\s+(?:(?:each|every|the|a)\s+)?month\b"
_AND = r"\s*(?:,\s*and\b|,|&|and\b)\s*"
_ON, _THE = r"(?:on\s+)?", r"(?:the\s+)?"
_OF_WEEKDAY = rf"(?:(?P<weekday>{WEEKDAY})\.?,?\s+)?"
_ISO = r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)"
_MONTH_DAY = (
    rf"(?:(?P<month>{MONTH})\.?\s+{_THE}(?P<day>\d{{1,2}}){_TH}?(?![\w:])"
    rf"|(?P<day2>\d{{1,2}}){_TH}?\s+(?:of\s+)?(?P<month2>{MONTH})\.?)"
)


def _weekday(word: str) -> int:
    return WEEKDAYS[word.lower()[:3]]


def _cron_weekdays(words: str) -> str:
    """Return the cron field of a list of weekdays."""
    # Long gaps would make the search for what they surround quadratic.
    ranges = re.sub(r"\s*(?:[-–]|\b(?:to|thru|through)\b)\s*", "-", " ".join(words.lower().split()))
    items = re.split(r"\s*(?:,\s*and\b|,|&|/|\band\b)\s*| ", ranges)
    return ",".join("-".join(day.strip()[:3] for day in item.split("-")) for item in items if item)


def _month_day(match: re.Match[str]) -> tuple[int, int]:
    return MONTHS[(match["month"] or match["month2"]).lower()[:3]], int(match["day"] or match["day2"])


def _set(phrase: Phrase, match: re.Match[str], *readings: Days) -> None:
    phrase.days = DayReading(words_of(match), readings)


def _ask(phrase: Phrase, match: re.Match[str], question: str, *readings: Days) -> None:
    phrase.days = DayReading(words_of(match), readings, question, always=True)


def _read_daily(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays())
    if part := match["part"]:
        phrase.part = PARTS[part.lower()]
    elif match.group(0).lower() == "nightly":
        phrase.part = DayPart.NIGHT


def _read_workdays(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays(weekdays="1-5"))


def _read_weekends(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays(weekdays="6,0"))


def _read_weekdays(phrase: Phrase, match: re.Match[str]) -> None:
    """Read weekdays: several, "every" and the plural mean every week; one alone may mean once."""
    words, prefix = match["days"].lower(), (match["prefix"] or "").lower()
    field = _cron_weekdays(words)
    repeated = RepeatedDays(weekdays=field)
    if prefix.strip() not in {"", "on"} or words.endswith("days") or "," in field or "-" in field:
        _set(phrase, match, repeated)
        return
    once = SingleDay(dates.coming_weekday(_weekday(words)))
    phrase.days = DayReading(words_of(match), (once, repeated), "unclear_repeat", strong=bool(prefix))


def _read_one_weekday(phrase: Phrase, match: re.Match[str]) -> None:
    which, day = match["which"].lower(), _weekday(match["day"])
    if which == "next":
        _set(phrase, match, SingleDay(dates.next_weekday(day)))
    elif which == "this":
        _set(phrase, match, SingleDay(dates.weekday_of_week(day, 0)))
    else:
        _set(phrase, match, SingleDay(dates.coming_weekday(day)))


def _read_weekday_of_next_week(phrase: Phrase, match: re.Match[str]) -> None:
    day = _weekday(match["day"] or match["day2"])
    _set(phrase, match, SingleDay(dates.weekday_of_week(day, 1)))


def _read_every_few(phrase: Phrase, match: re.Match[str]) -> None:
    word, unit = match["count"].lower(), match["unit"].lower()[0]
    count = 2 if word in {"other", "second", "2nd", "alternate"} else parse_number(word)
    weekdays, monthday = _cron_weekdays(match["days"]) if match["days"] else "", match["monthday"] or ""
    if (weekdays and unit not in {"w", "f"}) or (monthday and unit != "m"):
        raise ScheduleRefused("every_mixed", words=words_of(match))
    if unit == "y":
        raise ScheduleRefused("every_years", words=words_of(match))
    if monthday:
        dates.check_month_days([int(monthday)])
    of = {"d": "day", "m": "month"}.get(unit, "week")
    _set(phrase, match, RepeatedDays(weekdays, monthday, every=2 * count if unit == "f" else count, unit=of))


def _read_fortnightly(phrase: Phrase, match: re.Match[str]) -> None:
    weekdays = _cron_weekdays(match["days"]) if match["days"] else ""
    _set(phrase, match, RepeatedDays(weekdays, every=2, unit="week"))


def _read_biweekly(phrase: Phrase, match: re.Match[str]) -> None:
    weekdays = _cron_weekdays(match["days"]) if match["days"] else ""
    if match["unit"].lower() == "weekly":
        _ask(phrase, match, "unclear_biweekly", RepeatedDays(weekdays, every=2, unit="week"))
    else:
        _ask(phrase, match, "unclear_bimonthly", RepeatedDays(every=2, unit="month"))


def _read_times_per(phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("unclear_times_per", words=words_of(match))


def _read_every_nth_weekday(phrase: Phrase, match: re.Match[str]) -> None:
    word, weekdays = match["nth"].lower(), _cron_weekdays(match["days"])
    if word in {"other", "alternate"}:
        _set(phrase, match, RepeatedDays(weekdays, every=2, unit="week"))
        return
    position = _POSITIONS[word]
    monthly = _nth(match, weekdays, (position,), together=False)
    if position in {1, -1}:
        _set(phrase, match, monthly)
    else:
        weekly = RepeatedDays(weekdays, every=position, unit="week")
        _ask(phrase, match, "unclear_nth", weekly, monthly)


def _read_nth(phrase: Phrase, match: re.Match[str]) -> None:
    positions = tuple(_POSITIONS[one.lower()] for one in re.findall(_POSITION, match["nth"], re.IGNORECASE))
    together = match["workday"] is not None
    weekdays = "1-5" if together else _cron_weekdays(match["days"])
    _set(phrase, match, _nth(match, weekdays, positions, together=together))


def _nth(match: re.Match[str], weekdays: str, positions: tuple[int, ...], *, together: bool) -> RepeatedDays:
    if 5 in positions and not together:
        raise ScheduleRefused("fifth_missing", words=words_of(match))
    return RepeatedDays(weekdays, unit="month", positions=positions, together=together)


def _read_nth_of_unnamed(phrase: Phrase, match: re.Match[str]) -> None:
    """Read "the first monday": of every month, or of one that is named, which cannot be scheduled."""
    if match["of"]:
        words, _, month = words_of(match).rpartition(" ")
        raise ScheduleRefused("phrase_part", words=words.rpartition(" ")[0], rest=month)
    positions = (_POSITIONS[match["nth"].lower()],)
    _ask(
        phrase, match, "unclear_month", _nth(match, _cron_weekdays(match["days"]), positions, together=False)
    )


def _read_month_days(phrase: Phrase, match: re.Match[str]) -> None:
    days = [int(one) for one in re.findall(r"\d+", match["monthdays"])]
    dates.check_month_days(days)
    _set(phrase, match, RepeatedDays(monthdays=",".join(map(str, days)), unit="month"))


def _read_month_edge(phrase: Phrase, match: re.Match[str]) -> None:
    last = (match["edge"] or match["edge2"]).lower() in {"last", "final"}
    quarters = "3,6,9,12" if last else "1,4,7,10"
    months = quarters if (match["of"] or "").lower() == "quarter" else ""
    _set(phrase, match, RepeatedDays(monthdays=LAST if last else "1", months=months, unit="month"))


def _read_rough_edge(phrase: Phrase, match: re.Match[str]) -> None:
    day = LAST if match["edge"].lower() == "end" else "1"
    _ask(phrase, match, "unclear_edge", RepeatedDays(monthdays=day, unit="month"))


def _read_yearly(phrase: Phrase, match: re.Match[str]) -> None:
    month, day = _month_day(match)
    _set(phrase, match, dates.every_year([month], [day]))


def _read_days_of_months(phrase: Phrase, match: re.Match[str]) -> None:
    months = [MONTHS[one.lower()[:3]] for one in re.findall(MONTH, match["months"], re.IGNORECASE)]
    days = [int(one) for one in re.findall(r"\d+", match["monthdays"] or "")]
    _set(phrase, match, dates.every_year(months, days))


def _read_unit(phrase: Phrase, match: re.Match[str]) -> None:
    unit = match["unit"].lower()
    is_week = unit.startswith("week")
    _set(phrase, match, RepeatedDays(unit="week" if is_week else "month", every=1 if unit[0] in "wm" else 3))


def _read_quarterly(phrase: Phrase, match: re.Match[str]) -> None:
    dates.check_month_days([int(match["monthday"])])
    _set(phrase, match, RepeatedDays(monthdays=match["monthday"], every=3, unit="month"))


def _read_yearly_bare(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays(unit="month", every=12))


def _read_single(phrase: Phrase, match: re.Match[str]) -> None:
    word = " ".join(match["single"].lower().split()).removeprefix("the ")
    if word == "tonight":
        phrase.part = phrase.part or DayPart.EVENING
    elif word.startswith("this "):
        phrase.part = phrase.part or PARTS[word.removeprefix("this ")]
    ahead = {"tomorrow": 1, "day after tomorrow": 2}.get(word, 0)
    _set(phrase, match, SingleDay(dates.in_days(ahead), is_today=ahead == 0))


def _read_next_unit(phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("unclear_next", words=words_of(match))


def _read_day_of_named_month(phrase: Phrase, match: re.Match[str]) -> None:
    day = int(re.sub(r"\D", "", match["monthday"] or match["monthday2"]))
    ahead = 1 if (match["which"] or match["which2"]).lower() == "next" else 0
    _set(phrase, match, SingleDay(dates.day_of_month(day, ahead)))


def _read_iso_date(phrase: Phrase, match: re.Match[str]) -> None:
    _set_date(phrase, match, dates.exact_date(int(match["year"]), int(match["month"]), int(match["day"])))


def _read_slash_date(phrase: Phrase, match: re.Match[str]) -> None:
    year = int(match["year"]) if match["year"] else None
    _set_date(phrase, match, dates.either_order(int(match["first"]), int(match["second"]), year))


def _read_dot_date(phrase: Phrase, match: re.Match[str]) -> None:
    day, month, year = int(match["day"]), int(match["month"]), match["year"]
    find = dates.exact_date(int(year), month, day) if year else dates.date_in_year(month, day)
    _set_date(phrase, match, find)


def _read_named_date(phrase: Phrase, match: re.Match[str]) -> None:
    month, day = _month_day(match)
    year = match["of_year"]
    find = dates.exact_date(int(year), month, day) if year else dates.date_in_year(month, day)
    _set_date(phrase, match, find)


def _set_date(phrase: Phrase, match: re.Match[str], find: FindDates) -> None:
    if word := match["weekday"]:
        find = dates.on_weekday(find, _weekday(word), words_of(match))
    _set(phrase, match, SingleDay(find))


def _read_day_of_month(phrase: Phrase, match: re.Match[str]) -> None:
    """Read "on the 15th": once or every month."""
    day = int(re.sub(r"\D", "", match["monthday"]))
    dates.check_day(day)
    once = SingleDay(dates.day_of_month(day))
    readings: tuple[Days, ...] = (once,)
    if day <= dates.SHORT_MONTH:
        readings = (once, RepeatedDays(monthdays=str(day), unit="month"))
    phrase.days = DayReading(words_of(match), readings, "unclear_repeat", always=True)


def _read_start(phrase: Phrase, match: re.Match[str]) -> None:
    is_week = (match["single"] or "").lower().endswith("week")
    phrase.start = Start(words_of(match), _find_start(match), is_day=not is_week)


def _find_start(match: re.Match[str]) -> FindDates:
    if match["year"]:
        return dates.exact_date(int(match["year"]), int(match["month"]), int(match["day"]))
    if match["single"]:
        word = " ".join(match["single"].lower().split())
        ahead = {"today": dates.in_days(0), "this week": dates.in_days(0), "tomorrow": dates.in_days(1)}
        return ahead.get(word, dates.next_monday)
    if match["name"]:
        return dates.date_in_year(MONTHS[match["name"].lower()[:3]], int(match["monthday"]))
    day = _weekday(match["weekday"])
    return dates.next_weekday(day) if match["which"] else dates.coming_weekday(day)


_ON_DAYS = rf"(?:\s+on\s+(?P<days>{_DAYS}))?"
_TABLE = (
    (
        Piece.START,
        rf"(?:starting|beginning|as\s+of|from)\s+{_ON}(?:{_ISO}|(?P<single>today|tomorrow|this\s+week|next\s+week)\b"
        rf"|(?P<name>{MONTH})\.?\s+(?P<monthday>\d{{1,2}}){_TH}?(?![\w:])|(?P<which>next\s+)?(?P<weekday>{WEEKDAY}))",
        _read_start,
    ),
    (
        Piece.DAYS,
        rf"(?:daily|nightly|(?:every|each)\s*(?:single\s+)?day|every\s+(?P<part>morning|afternoon|evening|night))\b{NO_SUFFIX}",
        _read_daily,
    ),
    (
        Piece.DAYS,
        rf"{_ON}(?:every\s+)?{_THE}(?P<nth>{_POSITION_LIST})\s+(?:(?P<workday>{_WORKDAYS})|(?P<days>{_DAYS}))\s+{_EACH_MONTH}",
        _read_nth,
    ),
    (
        Piece.DAYS,
        rf"(?:(?:every|each)\s+{_THE}(?=\w+{_AND})|(?:monthly|(?:every|each)\s+month)\s+{_ON}{_THE})(?P<nth>{_POSITION_LIST})"
        rf"\s+(?:(?P<workday>{_WORKDAYS})|(?P<days>{_DAYS}))",
        _read_nth,
    ),
    (
        Piece.DAYS,
        rf"(?:every|each)\s+(?P<nth>other|alternate|{_POSITION})\s+(?P<days>{_DAYS})",
        _read_every_nth_weekday,
    ),
    (
        Piece.DAYS,
        rf"(?:{_ON}(?:every\s+)?{_THE}(?P<edge>first|1st|last|final)(?:\s+day)?\s+(?:of|in)\s+(?:(?:each|every|the|a)\s+)?"
        rf"(?P<of>month|quarter)|(?:monthly|(?:every|each)\s+month)\s+{_ON}{_THE}(?P<edge2>first|1st|last|final)\s+day)\b",
        _read_month_edge,
    ),
    (
        Piece.DAYS,
        rf"(?:monthly|every\s+month|each\s+month)\s+{_ON}{_THE}"
        rf"(?P<monthdays>\d{{1,2}}{_TH}?(?:\s*(?:,\s*and\b|,|&|and\b)\s*{_THE}\d{{1,2}}{_TH})*)(?![\w:.])(?!\s*(?:am|pm)\b)",
        _read_month_days,
    ),
    (
        Piece.DAYS,
        rf"{_ON}(?:every\s+)?{_THE}(?P<monthdays>\d{{1,2}}{_TH}?(?:\s*(?:,\s*and\b|,|&|and\b)\s*{_THE}\d{{1,2}}{_TH}?)*)\s+{_EACH_MONTH}",
        _read_month_days,
    ),
    (
        Piece.DAYS,
        rf"(?:every|each)\s+(?P<monthdays>\d{{1,2}}{_TH}(?:{_AND}{_THE}\d{{1,2}}{_TH})*)\b(?!\s+{WEEKDAY}|{_AND}\d{{1,2}}{_TH}\b)",
        _read_month_days,
    ),
    (
        Piece.DAYS,
        r"(?:at\s+|on\s+)?(?:the\s+)?(?P<edge>end|beginning|start)\s+of\s+(?:(?:each|every|the)\s+)?month\b",
        _read_rough_edge,
    ),
    (
        Piece.DAYS,
        rf"every\s+(?P<count>other|alternate|second|2nd|{ENGLISH_NUMBER})\s+(?P<unit>days?|weeks?|fortnights?|months?|years?)\b"
        rf"(?:\s+on\s+(?:(?P<days>{_DAYS})|{_THE}(?P<monthday>\d{{1,2}}){_TH}\b))?",
        _read_every_few,
    ),
    (Piece.DAYS, rf"(?:fortnightly|every\s+fortnight)\b{_ON_DAYS}", _read_fortnightly),
    (Piece.DAYS, rf"(?:bi|semi)-?(?P<unit>weekly|monthly)\b{_ON_DAYS}", _read_biweekly),
    (
        Piece.DAYS,
        r"(?:(?:once|twice|(?:two|three|four|\d)\s+times)\s+(?:a|per|every|each)\s+(?:day|week|month|year)"
        r"|twice[\s-](?:daily|weekly|monthly))\b",
        _read_times_per,
    ),
    (
        Piece.DAYS,
        rf"(?:yearly|annually|every\s+year|each\s+year)\s+{_ON}{_THE}"
        rf"(?:last\s+day|(?P<monthdays>\d{{1,2}}{_TH}?(?:{_AND}{_THE}\d{{1,2}}{_TH}?)*))\s+of\s+(?P<months>{MONTH}(?:{_AND}{MONTH})*)",
        _read_days_of_months,
    ),
    (
        Piece.DAYS,
        rf"(?:(?:yearly|annually|every\s+year|each\s+year)\s+{_ON}{_THE}|every\s+){_MONTH_DAY}",
        _read_yearly,
    ),
    (Piece.DAYS, rf"(?:(?:every|each|on)\s+)?{_WORKDAYS}{NO_SUFFIX}", _read_workdays),
    (Piece.DAYS, rf"(?:(?:every|each|on)\s+)?weekends?\b{NO_SUFFIX}", _read_weekends),
    (Piece.DAYS, rf"{_ON}{_OF_WEEKDAY}{_ISO}t?", _read_iso_date),
    (
        Piece.DAYS,
        rf"{_ON}{_OF_WEEKDAY}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/(?P<year>\d{{4}}))?(?![\d/])",
        _read_slash_date,
    ),
    (
        Piece.DAYS,
        rf"{_ON}{_OF_WEEKDAY}(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}})?(?![\d.])",
        _read_dot_date,
    ),
    (
        Piece.DAYS,
        rf"{_ON}{_OF_WEEKDAY}{_THE}{_MONTH_DAY}(?:,?\s+(?P<of_year>\d{{4}})(?![\d:]))?",
        _read_named_date,
    ),
    (
        Piece.DAYS,
        rf"{_ON}(?:(?P<which>next|this)\s+month\s+{_ON}{_THE}(?P<monthday>\d{{1,2}}{_TH}\b)"
        rf"|{_THE}(?P<monthday2>\d{{1,2}}{_TH}\b)\s+of\s+(?P<which2>next|this)\s+month\b)",
        _read_day_of_named_month,
    ),
    (
        Piece.DAYS,
        rf"{_ON}(?P<day>{WEEKDAY})\s+(?:of\s+)?next\s+week\b|next\s+week\s+{_ON}(?P<day2>{WEEKDAY})",
        _read_weekday_of_next_week,
    ),
    (
        Piece.DAYS,
        rf"{_ON}(?P<which>next|this\s+coming|this|coming)\s+(?P<day>{WEEKDAY})",
        _read_one_weekday,
    ),
    (
        Piece.DAYS,
        r"(?P<single>today|tomorrow|(?:the\s+)?day\s+after\s+tomorrow|tonight|this\s+(?:morning|afternoon|evening))"
        rf"\b{NO_SUFFIX}",
        _read_single,
    ),
    (Piece.DAYS, rf"next\s+(?:week|month|quarter|year)\b{NO_SUFFIX}", _read_next_unit),
    (
        Piece.DAYS,
        rf"(?P<prefix>(?:weekly|every\s+week|each\s+week)\s+{_ON}|(?:every|each|all|on)\s+)?(?P<days>{_DAYS})",
        _read_weekdays,
    ),
    (
        Piece.DAYS,
        rf"(?:on\s+the|on|the)\s+(?P<monthday>\d{{1,2}}{_TH})\b(?!\s+of\b)",
        _read_day_of_month,
    ),
    (
        Piece.DAYS,
        rf"(?P<unit>quarterly|(?:every|each)\s+quarter)\s+{_ON}{_THE}(?P<monthday>\d{{1,2}}){_TH}\b",
        _read_quarterly,
    ),
    (Piece.DAYS, r"(?P<unit>weekly|monthly|quarterly)\b", _read_unit),
    (Piece.DAYS, r"(?:every|each)\s+(?P<unit>week|month|quarter)\b", _read_unit),
    (
        Piece.DAYS,
        rf"{_ON}(?:every\s+)?{_THE}(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th)\s+(?P<days>{WEEKDAY})(?:\s+(?:of|in)\s+(?P<of>[a-z]+))?",
        _read_nth_of_unnamed,
    ),
    (Piece.DAYS, r"(?:yearly|annually|every\s+year|each\s+year)\b", _read_yearly_bare),
)
DAY_COMPONENTS = compile_table(_TABLE, re.IGNORECASE)
