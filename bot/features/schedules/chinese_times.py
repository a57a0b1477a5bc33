"""Read times of day, intervals and waits in Chinese; the text is in simplified characters."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.errors import ScheduleRefused
from bot.features.schedules.english_times import refuse_seconds
from bot.features.schedules.number_words import CHINESE_NUMBER, parse_number
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

_PARTS = {
    "凌晨": DayPart.SMALL_HOURS,
    "清晨": DayPart.MORNING,
    "早晨": DayPart.MORNING,
    "早上": DayPart.MORNING,
    "上午": DayPart.MORNING,
    "早": DayPart.MORNING,
    "中午": DayPart.NOON,
    "午后": DayPart.AFTERNOON,
    "下午": DayPart.AFTERNOON,
    "傍晚": DayPart.EVENING,
    "晚上": DayPart.EVENING,
    "晚间": DayPart.EVENING,
    "晚": DayPart.EVENING,
    "夜里": DayPart.NIGHT,
    "夜间": DayPart.NIGHT,
    "深夜": DayPart.NIGHT,
    "半夜": DayPart.NIGHT,
    "夜": DayPart.NIGHT,
}
_PART = "|".join(_PARTS)
_N = CHINESE_NUMBER
# Not 前端 (front end), 后台 (back end) and the like, which begin a task's text.
_BEFORE = r"前(?![端台面])"
AFTER = r"(?:以后|之后|过后|后(?![端台面续勤]))"
# A number before a measure word belongs to the text: 9点 10个问题.
_NO_MEASURE = r"(?![个条项名位件次种篇句字天小周月年号日人%分份张台封\d])"


def _time_pattern(prefix: str = "") -> str:
    """Return the pattern of a time; its groups begin with a prefix."""
    return (
        rf"(?:(?P<{prefix}part>{_PART})?的?\s*(?P<{prefix}hour>{_N})\s*"
        rf"(?::(?P<{prefix}minute>\d{{2}})(?!\d)|[点时](?!区)(?:钟|整)?"
        rf"(?:(?P<{prefix}minute2>{_N})分(?!钟)|(?P<{prefix}minute3>\d{{2}}|[二三四五]?十[一二三四五六七八九]?|零[一二三四五六七八九]){_NO_MEASURE}"
        rf"|(?P<{prefix}past>半)(?![天年个])|(?P<{prefix}quarter>[一三])刻)?)"
        rf"|(?P<{prefix}word>中午|正午|午夜))"
    )


_TIME = compile_pattern(
    rf"(?P<about>大约|大概|差不多|约)?{_time_pattern()}(?P<about2>左右|前后|之前|以前|{_BEFORE}|{AFTER})?"
)
_AND = compile_pattern(r"\s*(?:和|及|与|以及|还有|[、,，])\s*")
_DURATION = (
    rf"(?:(?P<half_hour>半个?(?:小时|钟头))|(?P<quarter>[一三1-3两])刻钟|(?P<vague>几)个?(?P<unit0>分钟|小时|钟头|天|周|星期|月)"
    rf"|(?P<count>{_N})?\s*(?P<measure>个)?(?P<half>半)?\s*(?P<unit>分钟|小时|钟头|天|周|星期|礼拜|月|年)(?:零?(?P<more>{_N})\s*分钟?)?)"
)
_MINUTES = {"分钟": 1, "小时": 60, "钟头": 60}
_DAYS = {"天": 1, "周": 7, "星期": 7, "礼拜": 7}
_FEW = (2, 3, 4, 5)


def read_time(text: str, position: int) -> tuple[ClockTime, int] | None:
    """Read a time of day; return it with the position after it."""
    match = _TIME.match(text, position)
    if match is None:
        return None
    return _clock_time(match, about=bool(match["about"] or match["about2"])), match.end()


def read_another_time(text: str, position: int, before: ClockTime) -> tuple[ClockTime, int] | None:
    """Read "and" with one more time of a list; the part of the day is that of the time before."""
    gap = _AND.match(text, position)
    found = read_time(text, gap.end()) if gap else None
    if found is None:
        return None
    one, end = found
    if one.part is None and before.part is not None and before.hour < one.hour <= 12:
        one = replace(one, part=before.part)
    return one, end


def _clock_time(match: re.Match[str], prefix: str = "", *, about: bool = False) -> ClockTime:
    words = words_of(match)
    if word := match[prefix + "word"]:
        is_midnight = word == "午夜"
        return ClockTime(words, 0 if is_midnight else 12, padded=True, midnight=is_midnight, about=about)
    hour_words = match[prefix + "hour"]
    minute_words = match[prefix + "minute"] or match[prefix + "minute2"] or match[prefix + "minute3"]
    minute = _parse(minute_words, words) if minute_words else 0
    if match[prefix + "past"]:
        minute = 30
    elif quarter := match[prefix + "quarter"]:
        minute = 15 * parse_number(quarter)
    part = match[prefix + "part"]
    return ClockTime(
        words,
        _parse(hour_words, words),
        minute,
        bare=not match[prefix + "minute"],
        padded=len(hour_words) == 2 and hour_words[0] in "0零",
        part=_PARTS[part] if part else None,
        about=about,
    )


def _parse(number: str, words: str) -> int:
    try:
        return parse_number(number)
    except ValueError:
        raise ScheduleRefused("time_of_day", time=words) from None


def _parse_duration(match: re.Match[str]) -> Delay:
    words = words_of(match)
    if match["half_hour"]:
        return Delay(words, minutes=30)
    if quarter := match["quarter"]:
        return Delay(words, minutes=15 * parse_number(quarter))
    if match["vague"]:
        unit = match["unit0"]
        each = _MINUTES.get(unit) or {**_DAYS, "月": 30}[unit] * 24 * 60
        return Delay(words, choices=tuple(count * each for count in _FEW))
    unit = match["unit"]
    count = _parse(match["count"], words) if match["count"] else 0 if match["half"] else 1
    more = _parse(match["more"], words) if match["more"] else 0
    if minutes := _MINUTES.get(unit):
        return Delay(words, minutes=count * minutes + (minutes // 2 if match["half"] else 0) + more)
    if match["half"] or more:
        raise ScheduleRefused("duration_mixed", words=words)
    if days := _DAYS.get(unit):
        return Delay(words, days=count * days)
    return Delay(words, months=count * (12 if unit == "年" else 1))


def _read_wait(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.wait = _parse_duration(match)


def _read_every(phrase: Phrase, match: re.Match[str]) -> None:
    duration = _parse_duration(match)
    if duration.choices:
        raise ScheduleRefused("every_vague", words=duration.words)
    phrase.every = Interval(duration.words, duration.minutes, in_hours="分" not in duration.words)


def _read_hourly(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.every = Interval(words_of(match), 60, in_hours=True)


def _read_span(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.span = HourSpan(words_of(match), _clock_time(match, "a_"), _clock_time(match, "b_"))


def _read_part(phrase: Phrase, match: re.Match[str]) -> None:
    phrase.part = _PARTS[match["part"]]


# 3月后 is "after March" as well; a number of months needs 个.
_NO_MONTH = r"(?!\d{1,2}月|[一二三四五六七八九十]{1,2}月)"
_TABLE = (
    (Piece.WAIT, rf"(?:再?过)?{_N}秒钟?{AFTER}|再?过{_N}秒钟?", refuse_seconds),
    (
        Piece.WAIT,
        rf"(?:再?过)?{_NO_MONTH}(?=[\d半几一二两三四五六七八九十百]){_DURATION}{AFTER}",
        _read_wait,
    ),
    (Piece.WAIT, rf"再?过{_NO_MONTH}(?=[\d半几一二两三四五六七八九十百]){_DURATION}", _read_wait),
    (
        Piece.EVERY,
        rf"每隔?\s*(?=[^天周星礼月年]{{0,8}}(?:分钟|小时|钟头|刻钟)){_DURATION}(?:一次)?",
        _read_every,
    ),
    (Piece.EVERY, r"(?:每个?)?整点", _read_hourly),
    (
        Piece.SPAN,
        rf"从?\s*{_time_pattern('a_')}\s*(?:到|至|-|–|~|—)\s*{_time_pattern('b_')}(?:之间|期间)?",
        _read_span,
    ),
    (Piece.PART, rf"(?P<part>{_PART})(?![点时会报饭餐班])", _read_part),
)
TIME_COMPONENTS = compile_table(_TABLE)
