"""Grammar of times in Chinese; texts use simplified characters."""

from __future__ import annotations

import re

from bot.features.schedules import readings as read
from bot.features.schedules.cron import DAY_NAMES
from bot.features.schedules.grammar import Form, Grammar, Lexeme, constant
from bot.features.schedules.phrase import DayPart
from bot.features.schedules.zones import ZONE_ENTRIES, ZONE_ROWS

_SIMPLIFIED = str.maketrans(
    "０１２３４５６７８９：／．－　點時週後個從開後過鐘鍾禮至間隔種兩號號晝內當這個們",
    "0123456789:/.- 点时周后个从开后过钟钟礼至间隔种两号号昼内当这个们",
)
_PARTS = {
    "凌晨": DayPart.SMALL_HOURS,
    "清晨|早晨|早上|上午|早": DayPart.MORNING,
    "中午": DayPart.NOON,
    "午后|下午": DayPart.AFTERNOON,
    "傍晚|晚上|晚间|晚": DayPart.EVENING,
    "夜里|夜间|深夜|半夜|夜": DayPart.NIGHT,
}
_PART = {name: part for names, part in _PARTS.items() for name in names.split("|")}
_DIGITS = {word: number for number, word in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_N = r"(?:\d{1,25}|[零〇一二两三四五六七八九十百]{1,6})"
_NO_NUMBER = 10**6
"""Value of characters that are no number; nothing has so many."""
_W = "[日天一二三四五六](?!次)"
_WEEK = "个?(?:周|星期|礼拜)"
_RANGE = re.compile(r"([日天一二三四五六])(?:到|至|[-–~])([日天一二三四五六])")
# Not 前端 (front end), 后台 (back end) and the like, which start a task's text.
_NO_END = "(?![端台面续勤])"
# A number before a measure word belongs to the text: 9点 10个问题.
_NO_MEASURE = r"(?![个条项名位件次种篇句字天小周月年号日人%分份张台封\d])"
_MINUTE = (
    rf"(?:(?P<m>{_N})分(?!钟)|(?P<n>\d{{2}}|[二三四五]?十[一二三四五六七八九]?|零[一二三四五六七八九]){_NO_MEASURE}"
    r"|(?P<half>半)(?![天年个])|(?P<quarter>[一三])刻)"
)
_CLOCK = re.compile(rf"(?P<h>{_N})\s*(?::(?P<c>\d\d)|[点时](?:钟|整)?{_MINUTE}?)")


def simplify(text: str) -> str:
    """Replace fullwidth digits, and traditional characters that occur in times, preserving all positions."""
    return text.translate(_SIMPLIFIED)


def _number(text: str) -> int:
    """Return the first number in a text."""
    found = re.search(_N, text)
    word = found.group() if found else ""
    if word.isdecimal():
        return int(word)
    hundreds, has_hundred, rest = word.rpartition("百")
    tens, has_ten, ones = rest.lstrip("零〇").rpartition("十")
    parts = [hundreds if has_hundred else "零", (tens or "一") if has_ten else "零", ones or "零"]
    if not {*parts} <= {*_DIGITS}:
        return _NO_NUMBER
    return sum(each * _DIGITS[one] for each, one in zip((100, 10, 1), parts, strict=True))


def _clock(text: str) -> tuple[int, int, bool, bool]:
    match = _CLOCK.match(text)
    assert match is not None
    minute = _number(match["c"] or match["m"] or match["n"] or "零")
    if match["half"] or match["quarter"]:
        minute = 30 if match["half"] else 15 * _number(match["quarter"])
    is_padded = len(match["h"]) == 2 and match["h"][0] in "0零"
    return _number(match["h"]), minute, not match["c"], is_padded


def _weekday(word: str) -> int:
    return "日一二三四五六".index(word.replace("天", "日"))


def _weekdays(text: str) -> str:
    """Return the cron field of a list of weekdays."""
    words = re.sub(r"周|星期|礼拜|\s", "", text)
    ranges = [f"{DAY_NAMES[_weekday(one)]}-{DAY_NAMES[_weekday(two)]}" for one, two in _RANGE.findall(words)]
    alone = sorted({_weekday(one) for one in re.findall("[日天一二三四五六]", _RANGE.sub("", words))})
    return ",".join([*ranges, *(DAY_NAMES[one] for one in alone)])


def _ordinal(text: str) -> int:
    return -1 if text[0] in "最倒" else 1 if text[0] == "首" else _number(text)


def _numbers(text: str) -> tuple[int, ...]:
    year, month, day = map(int, re.findall(r"\d+", text))
    return month, day, year


def _fixed(kind: str, words: str) -> list[Lexeme]:
    """Return a token kind for words whose value is their position in the list."""
    return [Lexeme(kind, pattern, constant(value)) for value, pattern in enumerate(words.split())]


_ENTRIES = (
    *ZONE_ENTRIES,
    Lexeme("NUMERIC", r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?!\d)(?:T(?=\d))?", _numbers),
    Lexeme("CLOCK", rf"{_N}\s*+:\d\d(?!:?\d|\s*+[+-]\d)", _clock),
    Lexeme("CLOCK", rf"{_N}\s*+[点时](?!区)(?:钟|整)?{re.sub('[?]P<[a-z]+>', '?:', _MINUTE)}?", _clock),
    Lexeme("YEARNUMBER", r"\d{4}年", _number),
    *_fixed("OFYEAR", "今年 明年"),
    Lexeme("MONTH", rf"{_N}月", _number),
    Lexeme("MONTHDAY", rf"{_N}[号日](?![楼线机店院])", _number),
    Lexeme("ORDINAL", rf"第\s*+{_N}个?|最后一个?|倒数第一个?|首个?", _ordinal),
    Lexeme("QUARTER", "[一二三123两]刻钟", _number),
    Lexeme("ONETIME", "一次"),
    Lexeme("EDGE", "月[底末初]", lambda text: 1 if text[-1] == "初" else -1),
    Lexeme(
        "WEEKDAYS",
        rf"{_WEEK}{_W}(?:\s*+(?:到|至|[-–~])\s*+{_WEEK}?{_W}|(?:\s*+(?:[、,，和及与]|以及)\s*+(?:{_WEEK})?|{_WEEK})?{_W})+"
        "(?![点时:十个半分起共般样定些次直])",
        _weekdays,
    ),
    Lexeme(
        "WEEKDAY",
        rf"[(（]?\s*+{_WEEK}{_W}(?![点时:十个半分起共般样定些次直])\s*+[)）]?",
        lambda text: _weekdays(text.strip("个()（） ")),
    ),
    Lexeme("WORKDAY", "工作日(?![报志程])"),
    Lexeme("WEEKEND", "个?周末"),
    *_fixed("OFWEEK", f"(?:本|这个?)(?={_WEEK}) 下个?(?={_WEEK}) 下下个?(?={_WEEK})"),
    Lexeme("OFWEEK", f"上个?(?={_WEEK})", constant(-1)),
    *_fixed("OFMONTH", "(?:本|这个?)(?=月) 下个?(?=月)"),
    *_fixed("TODAY", "今(?:天|日|(?=[早晚晨夜])) 明(?:天|日|(?=[早晚晨])) 后天 大后天"),
    Lexeme("NOON", rf"(?:中午|正午)(?!\s*+{_N}\s*+[点时:])"),
    Lexeme("MIDNIGHT", "午夜"),
    Lexeme("PART", f"(?:{'|'.join(_PART)})(?![点时会报饭餐班])", lambda text: _PART[text]),
    Lexeme("DAILY", "天天"),
    Lexeme("EVENWEEK", "[双单]周"),
    Lexeme("EVERY", "每(?!个?人)逢?|逢"),
    Lexeme("SKIP", "隔"),
    Lexeme("HALF", "个?半"),
    Lexeme("HOURLY", "整点"),
    Lexeme("HOUR", "个?(?:小时|钟头)"),
    Lexeme("MINUTE", "分钟?"),
    Lexeme("SECONDS", "秒钟?"),
    Lexeme("ABOUT", "大约|大概|差不多|约|左右|前后|之前|以前|前(?![端台面])"),
    Lexeme("AFTER", f"以后|之后|过后|后{_NO_END}"),
    Lexeme("DAY", "[天日]", constant("day")),
    Lexeme("WEEK", f"{_WEEK}(?![会报刊])", constant("week")),
    Lexeme("QUARTER", "个?季度?", constant(1)),
    Lexeme("MONTHS", "个?月(?![会报刊])", constant("month")),
    Lexeme("YEAR", "年(?![会报刊])", constant("year")),
    Lexeme("PASS", "再?过"),
    Lexeme("VAGUE", "几"),
    Lexeme("TIMES", "次"),
    Lexeme("UNTIL", "直到"),
    Lexeme("LIMIT", "除|截止|为止|节假日|法定"),
    Lexeme("FROM", "从"),
    Lexeme("STARTING", "开始|起(?![床来])"),
    Lexeme("TO", "到|至"),
    Lexeme("DASH", "[-–~]"),
    Lexeme("BETWEEN", "之间|期间"),
    Lexeme("COMMA", "[、,，]"),
    Lexeme("AND", "以及|还有|[和及与]"),
    Lexeme("OR", "或者?"),
    Lexeme("DE", "[的在于]"),
    Lexeme("NUMBER", _N, _number),
    Lexeme("UNIT", "个"),
    Lexeme("TASK", r"说(?=[\s:])|发送(?=[\s:])|摘要(?=[\s:]|$)"),
)
_LIST = "(COMMA|AND)"
_DAYS = "(WEEKDAY|WEEKDAYS)"
_UNITS = "(DAY|WEEK|MONTHS|YEAR)"
_MONTHDAYS = f"((NUMBER|MONTHDAY) {_LIST})* MONTHDAY"
_ON = f"(ONETIME? DE? (EVERY? {_DAYS}|{_MONTHDAYS}))?"
_DURATION = "(NUMBER? HALF? HOUR (NUMBER MINUTE)?|NUMBER? MINUTE|QUARTER|VAGUE (HOUR|MINUTE))"
_TIME = "ABOUT? PART? DE? (CLOCK|NOON|MIDNIGHT) (ABOUT|AFTER)?"
_DATE = "(NUMERIC|TODAY|MONTH MONTHDAY|OFWEEK (WEEK|WEEKDAY)|WEEKDAY)"
_ROWS = (
    # Days that come again
    Form("days", "EVERY DAY|DAILY|EVERY(?=PART)", read.repeat()),
    Form("days", "EVERY? UNIT? WORKDAY", read.repeat(weekdays="1-5")),
    Form("days", "EVERY UNIT? WEEKEND", read.repeat(weekdays="6,0")),
    Form("days", f"EVERY? {_DAYS}", read.read_weekdays),
    Form("days", f"EVERY MONTHS DE? ORDINAL ({_LIST} ORDINAL)* DE? (WORKDAY|WEEKDAY)", read.read_nth),
    Form("days", "EVERY (MONTHS|QUARTER) DE? ORDINAL DAY", read.read_month_days),
    Form("days", "(EVERY MONTHS? DE?)? EDGE", read.read_edge),
    Form("days", f"EVERY MONTHS DE? {_MONTHDAYS}", read.read_month_days),
    Form(
        "days", f"EVERY YEAR DE? MONTH ({_LIST} MONTH)* DE? (ORDINAL DAY|{_MONTHDAYS})", read.read_year_days
    ),
    Form("days", f"(EVERY SKIP? NUMBER|EVERY? SKIP) {_UNITS} {_ON}", read.read_every_few),
    Form("days", f"EVENWEEK DE? {_DAYS}?", read.read_weeks),
    Form("days", "EVERY (DAY|WEEK|MONTHS|YEAR) (NUMBER TIMES|ONETIME)", read.refuse("unclear_times_per")),
    Form("days", "EVERY WEEK", read.repeat(unit="week")),
    Form("days", "EVERY MONTHS", read.repeat(unit="month")),
    Form("days", "EVERY QUARTER", read.repeat(unit="month", every=3)),
    Form("days", "EVERY YEAR", read.repeat(unit="month", every=12)),
    # Days that come once
    Form("days", "TODAY(?!DE TEXT)", read.read_day),
    Form("days", f"PASS? (NUMBER|VAGUE) {_UNITS} AFTER|PASS (NUMBER|VAGUE) {_UNITS}", read.read_days_ahead),
    Form("days", "WEEKDAY? (NUMERIC|(YEARNUMBER|OFYEAR DE?)? MONTH MONTHDAY) WEEKDAY?", read.read_date),
    Form("days", "MONTHDAY|OFMONTH MONTHS DE? MONTHDAY", read.read_day_of_month),
    Form("days", "OFWEEK WEEKDAY", read.read_named_weekday),
    Form("days", "OFWEEK? WEEKEND", read.read_weekend),
    Form("days", "OFWEEK WEEK|OFMONTH MONTHS", read.refuse("unclear_next")),
    Form("start", f"FROM? {_DATE} STARTING", read.read_start),
    Form("until", f"UNTIL {_DATE}", read.read_start),
    # Times
    Form("times", f"{_TIME} ({_LIST} {_TIME})*", read.read_times),
    Form("part", "PART", read.read_part, after="days", before="times"),
    Form("span", "FROM? PART? CLOCK (TO|DASH) PART? CLOCK BETWEEN?", read.read_span),
    Form("every", f"EVERY SKIP? {_DURATION} ONETIME?", read.read_every),
    Form("every", "(EVERY UNIT?)? HOURLY", read.read_hourly),
    Form("wait", f"PASS? {_DURATION} AFTER|PASS {_DURATION}", read.read_minutes),
    Form("wait", "PASS? NUMBER SECONDS AFTER|PASS NUMBER SECONDS", read.refuse("time_seconds")),
    *ZONE_ROWS,
)
CHINESE = Grammar(
    _ENTRIES,
    _ROWS,
    ignored="COMMA|DE",
    when="EVERY|LIMIT|UNTIL|CLOCK|NUMERIC|MONTH|MONTHDAY|ZONE|OFFSET|STARTING"
    "|(AND|OR) (WEEKDAY|WEEKDAYS|TODAY)|CITY CITYTIME|ONETIME",
    limits="共?[\\d一二三四五六七八九十]+次",
    clock=rf"{_N}\s*(?:[点时](?:钟|整|半)?|:\d\d)\s*$",
)
