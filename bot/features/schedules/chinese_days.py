"""Read days and dates in Chinese; the text is in simplified characters."""

from __future__ import annotations

import re

from bot.errors import ScheduleRefused
from bot.features.schedules import day_arithmetic as dates
from bot.features.schedules.cron import DAY_NAMES, LAST
from bot.features.schedules.number_words import CHINESE_NUMBER, parse_number
from bot.features.schedules.phrase import (
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

_WEEKDAYS = {"日": 0, "天": 0, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6}
_WEEK = r"(?:周|星期|礼拜)"
# Not 每周一次 (once a week).
_W = r"[日天一二三四五六](?!次)"
# 周一三点 is Monday at three, and 周日一起 "together on Sunday".
_W_LIST = (
    rf"{_W}(?:\s*(?:到|至|-|–|~)\s*{_WEEK}?{_W}|(?:\s*(?:[、,，和及与]|以及)\s*{_WEEK}?|{_WEEK})?{_W})*"
    r"(?![点时:十个半分起共般样定些次直])"
)
_RANGE = re.compile(r"([日天一二三四五六])\s*(?:到|至|-|–|~)\s*([日天一二三四五六])")
_N = CHINESE_NUMBER
_EVERY_MONTH = r"每(?:个|一个?)?月的?"
_DAY_LIST = rf"(?P<monthdays>{_N}[号日]?(?:\s*(?:[、,，和及与]|以及)\s*{_N}[号日]?)*)(?<=[号日])"
_NTH = r"(?:第\s*[一二三四五1-5]个?|最后一个|倒数第一个|首个)"
_ISO = r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)"


def _days_in(words: str) -> str:
    """Return the cron field of a list of weekdays."""
    words = re.sub("周|星期|礼拜", "", words)
    ranges = _RANGE.findall(words)
    if ranges:
        alone = [one for one in _RANGE.sub("", words) if one in _WEEKDAYS]
        return ",".join([f"{_name(first)}-{_name(last)}" for first, last in ranges] + [*map(_name, alone)])
    days = sorted({_WEEKDAYS[one] for one in words if one in _WEEKDAYS})
    return ",".join(DAY_NAMES[one] for one in days)


def _name(word: str) -> str:
    return DAY_NAMES[_WEEKDAYS[word]]


def _number(words: str, match: re.Match[str]) -> int:
    try:
        return parse_number(words)
    except ValueError:
        raise ScheduleRefused("date_unknown", date=words_of(match)) from None


def _set(phrase: Phrase, match: re.Match[str], *readings: Days) -> None:
    phrase.days = DayReading(words_of(match), readings)


def _ask(phrase: Phrase, match: re.Match[str], question: str, *readings: Days) -> None:
    phrase.days = DayReading(words_of(match), readings, question, always=True)


def _read_daily(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays())


def _read_workdays(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays(weekdays="1-5"))


def _read_weekends(phrase: Phrase, match: re.Match[str]) -> None:
    weekly = RepeatedDays(weekdays="6,0")
    if match["every"]:
        _set(phrase, match, weekly)
        return
    weeks = 1 if match["next"] else 0
    once = [SingleDay(dates.iso_weekday_of_week(day, weeks)) for day in (6, 0)]
    if match["this"] or match["next"]:
        _ask(phrase, match, "unclear_day", *once)
    else:
        _ask(phrase, match, "unclear_repeat", *once, weekly)


def _read_weekdays(phrase: Phrase, match: re.Match[str]) -> None:
    words = match["days"]
    field = _days_in(words)
    repeated = RepeatedDays(weekdays=field)
    if match["every"] or "," in field or "-" in field:
        _set(phrase, match, repeated)
        return
    once = SingleDay(dates.coming_weekday(_WEEKDAYS[words[0]]))
    phrase.days = DayReading(words_of(match), (once, repeated), "unclear_repeat")


def _read_weekday_of_week(phrase: Phrase, match: re.Match[str]) -> None:
    weeks = match["which"].count("下") if "下" in match["which"] else -1 if "上" in match["which"] else 0
    _set(phrase, match, SingleDay(dates.weekday_of_week(_WEEKDAYS[match["day"]], weeks)))


def _read_every_few(phrase: Phrase, match: re.Match[str]) -> None:
    """Read 每两周 (every two weeks) and 每隔一天 (every other day); 每隔两天 is read in both ways."""
    count = _number(match["count"], match) if match["count"] else 1
    unit = {"天": "day", "日": "day", "月": "month", "年": "year"}.get(match["unit"], "week")
    counts = [count]
    if match["skip"] or match["every_other"]:
        counts = [2] if count == 1 else [count, count + 1]
    weekdays, monthdays = match["days"], match["monthdays"]
    if (weekdays and unit != "week") or (monthdays and unit != "month"):
        raise ScheduleRefused("every_mixed", words=words_of(match))
    if unit == "year":
        raise ScheduleRefused("every_years", words=words_of(match))
    field = _days_in(weekdays) if weekdays else ""
    days = _month_days(match) if monthdays else ""
    readings = [RepeatedDays(field, days, every=one, unit=unit) for one in counts]
    if len(readings) > 1:
        _ask(phrase, match, "unclear_skip", *readings)
    else:
        _set(phrase, match, *readings)


def _read_even_weeks(phrase: Phrase, match: re.Match[str]) -> None:
    field = _days_in(match["days"]) if match["days"] else ""
    _ask(phrase, match, "unclear_even_weeks", RepeatedDays(field, every=2, unit="week"))


def _read_times_per(phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("unclear_times_per", words=words_of(match))


def _month_days(match: re.Match[str]) -> str:
    days = [_number(one, match) for one in re.findall(_N, match["monthdays"])]
    dates.check_month_days(days)
    return ",".join(map(str, days))


def _read_month_days(phrase: Phrase, match: re.Match[str]) -> None:
    _set(phrase, match, RepeatedDays(monthdays=_month_days(match), unit="month"))


def _read_month_edge(phrase: Phrase, match: re.Match[str]) -> None:
    last = re.search("最后|底|末", match["edge"]) is not None
    months = ""
    if match["quarter"]:
        months = "3,6,9,12" if last else "1,4,7,10"
    days = RepeatedDays(monthdays=LAST if last else "1", months=months, unit="month")
    if match["edge"][-1] in "底末初":
        _ask(phrase, match, "unclear_edge", days)
    else:
        _set(phrase, match, days)


def _read_nth(phrase: Phrase, match: re.Match[str]) -> None:
    positions = tuple(_position(one) for one in re.findall(_NTH, match["nth"]))
    together = match["workday"] is not None
    if 5 in positions and not together:
        raise ScheduleRefused("fifth_missing", words=words_of(match))
    weekdays = "1-5" if together else _days_in(match["day"])
    _set(phrase, match, RepeatedDays(weekdays, unit="month", positions=positions, together=together))


def _position(words: str) -> int:
    if words.startswith(("最后", "倒数")):
        return -1
    return 1 if words.startswith("首") else parse_number(words.strip("第个 "))


def _read_yearly(phrase: Phrase, match: re.Match[str]) -> None:
    months = [_number(one, match) for one in re.findall(_N, match["months"])]
    days = [_number(one, match) for one in re.findall(_N, match["monthdays"] or "")]
    _set(phrase, match, dates.every_year(months, days))


def _read_unit(phrase: Phrase, match: re.Match[str]) -> None:
    unit = match["unit"]
    every = {"季度": 3, "年": 12}.get(unit, 1)
    _set(phrase, match, RepeatedDays(unit="month" if unit in {"月", "季度", "年"} else "week", every=every))


def _read_single(phrase: Phrase, match: re.Match[str]) -> None:
    word = match["single"]
    ahead = {"今": 0, "明": 1, "后": 2, "大": 3}[word[0]]
    _set(phrase, match, SingleDay(dates.in_days(ahead), is_today=ahead == 0))


def _read_next_unit(phrase: Phrase, match: re.Match[str]) -> None:
    raise ScheduleRefused("unclear_next", words=words_of(match))


def _read_day_of_named_month(phrase: Phrase, match: re.Match[str]) -> None:
    day = _number(match["day"], match)
    dates.check_day(day)
    _set(phrase, match, SingleDay(dates.day_of_month(day, match["which"].count("下"))))


def _read_date(phrase: Phrase, match: re.Match[str]) -> None:
    month, day = _number(match["month"], match), _number(match["day"], match)
    if match["year"]:
        find = dates.exact_date(int(match["year"]), month, day)
    elif match["which"]:
        find = dates.date_of_year(month, day, 1 if match["which"] == "明年" else 0)
    else:
        find = dates.date_in_year(month, day)
    if weekday := match["before"] or match["after"]:
        find = dates.on_weekday(find, _WEEKDAYS[weekday], words_of(match))
    _set(phrase, match, SingleDay(find))


def _read_iso_date(phrase: Phrase, match: re.Match[str]) -> None:
    find = dates.exact_date(int(match["year"]), int(match["month"]), int(match["day"]))
    if weekday := match["before"] or match["after"]:
        find = dates.on_weekday(find, _WEEKDAYS[weekday], words_of(match))
    _set(phrase, match, SingleDay(find))


def _read_day_of_month(phrase: Phrase, match: re.Match[str]) -> None:
    """Read 15号: once or every month."""
    day = _number(match["day"], match)
    dates.check_day(day)
    once = SingleDay(dates.day_of_month(day))
    readings: tuple[Days, ...] = (once,)
    if day <= dates.SHORT_MONTH:
        readings = (once, RepeatedDays(monthdays=str(day), unit="month"))
    _ask(phrase, match, "unclear_repeat", *readings)


def _read_start(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.start = Start(
        words_of(match), _find_start(match), is_day=not match["week"] or bool(match["weekday"])
    )


def _find_start(match: re.Match[str]) -> FindDates:
    if match["year"]:
        return dates.exact_date(int(match["year"]), int(match["month"]), int(match["day"]))
    if single := match["single"]:
        return dates.in_days({"今": 0, "明": 1, "后": 2}[single[0]])
    if match["of_month"]:
        return dates.date_in_year(_number(match["of_month"], match), _number(match["monthday"], match))
    if (weekday := match["weekday"]) is None:
        return dates.next_monday if "下" in (match["week"] or "") else dates.in_days(0)
    if match["week"]:
        return dates.weekday_of_week(_WEEKDAYS[weekday], match["week"].count("下"))
    return dates.coming_weekday(_WEEKDAYS[weekday])


_OF_WEEKDAY = rf"[(（]?\s*{_WEEK}(?P<{{}}>{_W})\s*[)）]?"
_BEFORE_DATE, _AFTER_DATE = _OF_WEEKDAY.format("before"), _OF_WEEKDAY.format("after")
_TABLE = (
    (
        Piece.START,
        rf"从?\s*(?:{_ISO}|(?P<single>今天|明天|后天)|(?P<of_month>{_N})月(?P<monthday>{_N})[日号]"
        rf"|(?:(?P<week>本|这个?|下个?)(?:周|星期|礼拜)(?P<weekday>{_W})?))\s*(?:开始|起)(?![床来])",
        _read_start,
    ),
    (Piece.DAYS, rf"(?:每(?:一?天|日)|天天)(?!{_N}次)(?:一次)?|每(?=早|晚|晨)", _read_daily),
    (Piece.DAYS, rf"每(?:天|日|周|个?星期|个?月|年)\s*{_N}次", _read_times_per),
    (Piece.DAYS, r"(?:每个?|逢)?工作日(?![报志程])", _read_workdays),
    (Piece.DAYS, r"(?:(?P<every>每个?)|(?P<this>本|这个?)|(?P<next>下个?))?周末", _read_weekends),
    (
        Piece.DAYS,
        rf"{_EVERY_MONTH}\s*(?P<nth>{_NTH}(?:\s*(?:[、,，和及与]|以及)\s*{_NTH})*)\s*的?(?:(?P<workday>工作日)|{_WEEK}(?P<day>{_W}))",
        _read_nth,
    ),
    (
        Piece.DAYS,
        r"每(?:个|一个?)?(?:月|(?P<quarter>季度?))的?(?P<edge>最后一[天日]|第一天|首日|月?[底末初])",
        _read_month_edge,
    ),
    (Piece.DAYS, r"(?P<quarter>(?!))?(?P<edge>月[底末初])", _read_month_edge),
    (Piece.DAYS, rf"{_EVERY_MONTH}\s*{_DAY_LIST}", _read_month_days),
    (
        Piece.DAYS,
        rf"每年\s*(?P<months>{_N}月(?:\s*[、,，和及与]\s*{_N}月)*)的?\s*(?:最后一[天日]|{_DAY_LIST})",
        _read_yearly,
    ),
    (Piece.DAYS, rf"(?P<every>每个?|每逢|逢){_WEEK}(?P<days>{_W_LIST})", _read_weekdays),
    (
        Piece.DAYS,
        rf"(?:每(?P<skip>隔)?\s*(?P<count>{_N})\s*个?|每?(?P<every_other>隔))(?P<unit>天|日|周|星期|礼拜|月|年)(?:一次)?"
        rf"(?:的?\s*(?:每个?)?{_WEEK}(?P<days>{_W_LIST})|的?\s*{_DAY_LIST})?",
        _read_every_few,
    ),
    (Piece.DAYS, rf"(?:双周|单周)的?(?:{_WEEK}?(?P<days>{_W_LIST}))?", _read_even_weeks),
    (
        Piece.DAYS,
        rf"(?P<which>本|这个?|下下个?|下个?|上个?){_WEEK}(?P<day>{_W})",
        _read_weekday_of_week,
    ),
    (Piece.DAYS, rf"(?:{_BEFORE_DATE}\s*)?{_ISO}(?:T(?=\d)|\s*{_AFTER_DATE})?", _read_iso_date),
    (
        Piece.DAYS,
        rf"(?:{_BEFORE_DATE}\s*)?(?:(?P<year>\d{{4}})年|(?P<which>今年|明年)的?)?\s*(?P<month>{_N})月(?P<day>{_N})[日号](?:\s*{_AFTER_DATE})?",
        _read_date,
    ),
    (Piece.DAYS, rf"(?P<which>本|这个?|下个?)月的?\s*(?P<day>{_N})[号日]", _read_day_of_named_month),
    (Piece.DAYS, r"下个?(?:周|星期|礼拜|月|季度)(?![会报刊])", _read_next_unit),
    (Piece.DAYS, rf"(?P<every>){_WEEK}(?P<days>{_W_LIST})", _read_weekdays),
    (
        Piece.DAYS,
        r"(?P<single>今(?:天|日|(?=[早晚晨夜]))|明(?:天|日|(?=[早晚晨]))|大后天|后天)",
        _read_single,
    ),
    (Piece.DAYS, rf"(?P<day>{_N})[号](?![楼线机店院])", _read_day_of_month),
    (Piece.DAYS, r"每个?(?P<unit>周|星期|礼拜|月|季度|年)(?:一次)?(?![会报刊])", _read_unit),
)
DAY_COMPONENTS = compile_table(_TABLE)
