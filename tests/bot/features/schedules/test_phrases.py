"""Phrases in English and Chinese (phrases.txt), each with its meaning or the question that it leads to.

A meaning is the stored rule or the time of a single run, with a zone in brackets and the rest of the text
after "+". "?" is a question with the keys of what is unclear and the options, "!" a refusal with its key, "-"
no time. The clock is fixed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from heapq import merge
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.describe import describe_question, describe_rule
from bot.features.schedules.parse_when import ParsedTime, TimeQuestion, parse_when
from bot.features.schedules.phrase import RepeatedDays
from bot.features.schedules.repeated_days import repeat_at
from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.texts import texts_for

ZONE = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 23, 10, 15, tzinfo=ZONE)
THURSDAY = datetime(2026, 11, 26, 10, 15, tzinfo=ZONE)
SUNDAY = datetime(2026, 11, 29, 10, 15, tzinfo=ZONE)
BEFORE_LEAP_YEAR = datetime(2027, 6, 1, 10, 15, tzinfo=ZONE)
AFTER_LEAP_DAY = datetime(2028, 3, 1, 10, 15, tzinfo=ZONE)
LEAP_DAY = ("feb 29 at 9:00", "2/29 at 9:00", "29.2. at 9:00", "2月29日9:00")

_LINES = Path(__file__).with_name("phrases.txt").read_text(encoding="utf-8").splitlines()
PHRASES = [tuple(line.split(" => ")) for line in _LINES if line and not line.startswith("#")]
ON_ANOTHER_DAY = [
    (
        "next friday at 9",
        THURSDAY,
        "? unclear_day: on Fri 2026-11-27 at 09:00; on Fri 2026-12-04 at 09:00",
    ),
    (
        "this monday at 9",
        SUNDAY,
        "Mon 2026-11-30 09:00",
    ),
    (
        "next monday at 9",
        SUNDAY,
        "? unclear_day: on Mon 2026-11-30 at 09:00; on Mon 2026-12-07 at 09:00",
    ),
    ("下周一9点", THURSDAY, "Mon 2026-11-30 09:00"),
    ("下周一9点", SUNDAY, "? unclear_day: 2026-11-30 周一 09:00; 2026-12-07 周一 09:00"),
    ("这周日9点", THURSDAY, "Sun 2026-11-29 09:00"),
    *[(text, BEFORE_LEAP_YEAR, "Tue 2028-02-29 09:00") for text in LEAP_DAY],
    *[(text, MONDAY, "! date_unknown") for text in LEAP_DAY],
    *[(text, AFTER_LEAP_DAY, "! date_unknown") for text in LEAP_DAY],
    ("周五9点", THURSDAY, "? unclear_repeat: 2026-11-27 周五 09:00; 每周五 09:00"),
]


def read(text: str, now: datetime, locale: str) -> str:
    """What a text means, in the notation of the tables."""
    try:
        found = parse_when(text, now.timestamp(), ZONE)
    except ScheduleRefused as refused:
        assert texts_for(locale)(refused.key, **refused.values)
        return f"! {refused.key}"
    if found is None:
        return "-"
    rest = f" + {found.rest}" if found.rest else ""
    if isinstance(found, TimeQuestion):
        assert describe_question(texts_for(locale), found, ZONE)
        options = "; ".join(describe_rule(texts_for(locale), one, ZONE) for one in found.options)
        keys = " ".join(doubt.key for doubt in found.doubts)
        return f"? {keys}{': ' if options else ''}{options}{rest}"
    zone = f" [{found.zone}]" if found.zone else ""
    at = found.rule.to_text
    if not found.rule.patterns:
        at = f"{datetime.fromtimestamp(found.rule.at, ZONE):%a %Y-%m-%d %H:%M}"
    return f"{at}{zone}{rest}"


def language(text: str) -> str:
    return "en" if text.isascii() else "zh"


def test_there_are_enough_phrases() -> None:
    languages = [language(text) for text, _ in PHRASES]
    assert min(languages.count("en"), languages.count("zh")) >= 80


@pytest.mark.parametrize(("text", "meaning"), PHRASES)
def test_a_phrase_means(text: str, meaning: str) -> None:
    assert read(text, MONDAY, language(text)) == meaning


@pytest.mark.parametrize(("text", "now", "meaning"), ON_ANOTHER_DAY)
def test_on_another_day(text: str, now: datetime, meaning: str) -> None:
    assert read(text, now, language(text)) == meaning


@pytest.mark.parametrize(
    "text",
    [
        *[
            "monday's notes",
            "today's news",
            "money 9:00",
            "sunny days",
            "in 2026 we did",
            "march on",
            "may I ask",
        ],
        *[
            "every ticket that is open",
            "at the office",
            "at least 5 things",
            "a month of work",
            "the last mile",
        ],
        *[
            "EST is a zone",
            "and 9:00",
            "开会",
            "总结一下今天的讨论",
            "一起吃饭",
            "周报",
            "每个人的任务",
            "第一次会议",
        ],
    ],
)
def test_no_time(text: str) -> None:
    assert read(text, MONDAY, "en") == "-"


@pytest.mark.parametrize(
    "text", ["at " + "9, " * 1300, "daily at " + "5, " * 1300, "at " + "9, 10, 8, " * 400]
)
def test_a_long_list_of_times_takes_no_time(text: str) -> None:
    """The readings of its times are not combined with each other."""
    assert len(read(text, MONDAY, "en")) < 200_000


def values(rule: Recurrence) -> tuple[list[str], float]:
    """What a rule stands for, however it is written."""
    plain = (
        replace(one, text="", weekdays=() if len(one.weekdays) == 7 else one.weekdays)
        for one in rule.patterns
    )
    return sorted(map(str, plain)), rule.at


def assert_words_mean_the_same(rule: Recurrence) -> None:
    for locale in ("en", "zh"):
        words = describe_rule(texts_for(locale), rule, ZONE)
        found = parse_when(words, MONDAY.timestamp(), ZONE)
        assert isinstance(found, ParsedTime), (words, found)
        assert values(found.rule) == values(rule), words
        assert found.rest == ""


@pytest.mark.parametrize("text", [text for text, _ in PHRASES])
def test_words_parse_back(text: str) -> None:
    try:
        found = parse_when(text, MONDAY.timestamp(), ZONE)
    except ScheduleRefused:
        return
    if found is None:
        return
    for rule in [found.rule] if isinstance(found, ParsedTime) else found.options:
        assert_words_mean_the_same(rule)
        assert values(parse_recurrence(rule.to_text)) == values(rule)


@pytest.mark.timeout(10)
def test_long_gaps_cost_no_more_than_their_length() -> None:
    found = parse_when(f"mon{' ' * 60_000}, tue 9:00 x", MONDAY.timestamp(), ZONE)
    assert found is not None


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("begin", "end"),
    [
        *[("in", "x"), ("every", "x"), ("from", "x"), ("in 2 hours", "x"), ("every day at", "x")],
        *[("再过3", "x"), ("（周一", "9x"), ("从", "9x"), ("9点 到", "9x"), ("每月第一个", "x")],
    ],
)
@pytest.mark.parametrize("filler", [" ", "7", "\n"])
def test_long_fillers_cost_no_more_than_their_length(begin: str, end: str, filler: str) -> None:
    assert len(read(f"{begin}{filler * 100_000}{end}", MONDAY, "en")) < 300_000


@pytest.mark.timeout(10)
@pytest.mark.parametrize("word", ["every ", "in ", "the ", "at 9 and ", "周一 ", "RRULE: "])
def test_repeated_words_cost_no_more_than_their_length(word: str) -> None:
    assert len(read(f"{word * (100_000 // len(word))}x", MONDAY, "en")) < 300_000


def test_the_first_year_is_no_internal_error() -> None:
    with pytest.raises(ScheduleRefused):
        parse_when("0001-01-01 5:00", MONDAY.timestamp(), ZoneInfo("Asia/Tokyo"))


numbers = st.integers(0, 24 * 60 - 1)
weekdays = st.lists(
    st.sampled_from(["sun", "mon", "tue", "wed", "thu", "fri", "sat"]), min_size=1, max_size=7, unique=True
)
starts = st.dates(date(2026, 11, 24), date(2027, 6, 1))
DAYS = st.one_of(
    st.just(RepeatedDays()),
    st.builds(lambda days: RepeatedDays(",".join(days)), weekdays),
    st.builds(lambda day: RepeatedDays(monthdays=str(day), unit="month"), st.integers(1, 28)),
    st.builds(
        lambda day, position: RepeatedDays(day, unit="month", positions=(position,)),
        st.sampled_from(["mon", "fri", "sun"]),
        st.sampled_from([1, 2, 3, 4, -1]),
    ),
    st.just(RepeatedDays("1-5", unit="month", positions=(-1,), together=True)),
    st.just(RepeatedDays(monthdays="L", unit="month")),
)


@settings(max_examples=150, deadline=None)
@given(DAYS, st.sets(numbers, min_size=1, max_size=4))
def test_words_of_any_rule_parse_back(days: RepeatedDays, minutes: set[int]) -> None:
    assert_words_mean_the_same(repeat_at(days, minutes, None))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 52), weekdays, numbers, starts)
def test_words_of_any_interval_parse_back(every: int, days: list[str], minutes: int, start: date) -> None:
    for one in (RepeatedDays(",".join(days), every=every, unit="week"), RepeatedDays(every=every)):
        rule = repeat_at(one, (minutes,), None if every == 1 else start)
        pattern = rule.patterns[0]
        first = next(merge(*pattern.wall_times(datetime.combine(start, datetime.min.time()))), None)
        if first is not None and first.date() == start:
            assert_words_mean_the_same(rule)


@settings(max_examples=60, deadline=None)
@given(st.integers(int(MONDAY.timestamp()) // 60 + 1, int(MONDAY.timestamp()) // 60 + 365 * 24 * 60))
def test_words_of_a_single_run_parse_back(minute: int) -> None:
    assert_words_mean_the_same(Recurrence(at=60.0 * minute))


WORDS = (
    "every other daily at 9 9am 17:30 and , to - monday fri weekdays first last of the month week 2 in an"
    " hour tomorrow tonight noon midnight starting next 12/1 2026-12-24 15th say 每 天 周 一 9点 半 下午"
    " 号 月 第 个 最后 到 和 工作日 小时 后 两 隔 从 开始 UTC EST until * 0 */5"
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=9), st.sampled_from(["", " "]))
def test_any_words_are_read_or_refused(words: list[str], gap: str) -> None:
    text = gap.join(words)
    try:
        found = parse_when(text, MONDAY.timestamp(), ZONE)
    except ScheduleRefused as refused:
        for locale in ("en", "zh"):
            assert texts_for(locale)(refused.key, **refused.values)
        return
    if isinstance(found, TimeQuestion):
        assert found.doubts
        assert describe_question(texts_for("zh"), found, ZONE)
    elif found is not None:
        following = found.rule.next_run(MONDAY.timestamp(), ZONE)
        assert following is not None
        assert following > MONDAY.astimezone(UTC).timestamp()
