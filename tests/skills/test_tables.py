"""Tables of the data-analysis skill: dates by their own format, spellings, titles above the column names."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.skills.skill import bundled_folder
from tests.skills.test_bundled import script

pytestmark = pytest.mark.may_block
SCRIPTS = str(bundled_folder() / "data-analysis" / "scripts")
Format = Callable[[date], str]
UNMISTAKABLE: tuple[Format, ...] = (
    lambda day: day.isoformat(),
    lambda day: f"{day:%Y/%m/%d}",
    lambda day: f"{day.year}年{day.month}月{day.day}日",
    lambda day: f"{day.isoformat()}T23:59:01",
    lambda day: f"{day.day}.{day.month}.{day.year}",
    lambda day: f"{day:%d.%m.%Y} 0:30",
    lambda day: f"{day.day} {day:%B} {day.year}",
    lambda day: f"{day:%b} {day.day}, {day.year} 11:15 PM",
    lambda day: f"{day:%a} {day:%d.%m.%Y}",
)
DAYS = st.dates(date(1990, 1, 1), date(2060, 12, 31))


@pytest.fixture(scope="module", autouse=True)
def on_path() -> Iterator[None]:
    sys.path.insert(0, SCRIPTS)
    yield
    sys.path.remove(SCRIPTS)


def read(texts: list[Any], **options: Any) -> Any:
    pandas, dates = import_module("pandas"), import_module("dates")
    return dates.read_dates(pandas.Series(texts, dtype=object), **options)


def days_of(found: Any) -> list[date]:
    return [value.date() for value in found.dates]


@given(st.lists(st.tuples(DAYS, st.sampled_from(UNMISTAKABLE)), min_size=1, max_size=40))
def test_every_date_is_read_by_its_own_format(cells: list[tuple[date, Format]]) -> None:
    found = read([write(day) for day, write in cells])
    assert days_of(found) == [day for day, _ in cells]
    assert sum(found.formats.values()) == len(cells)
    assert found.guesses == 0


@given(st.lists(DAYS, min_size=1, max_size=40), st.booleans(), st.sampled_from("/-"))
def test_an_order_is_followed_where_it_is_known(days: list[date], day_first: bool, sign: str) -> None:
    pattern = f"%d{sign}%m{sign}%Y" if day_first else f"%m{sign}%d{sign}%Y"
    texts = [f"{day:{pattern}}" for day in days]
    assert days_of(read(texts, day_first=day_first)) == days
    proof = date(2026, 4, 25)
    mixed = [*texts, f"{proof:{pattern}}", *(day.isoformat() for day in days)]
    found = read(mixed)
    assert days_of(found) == [*days, proof, *days]
    assert found.guesses == 0
    assert days_of(read(mixed, day_first=not day_first)) == [*days, proof, *days], (
        "what is proven is no option"
    )


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=40))
def test_no_order_is_taken_without_a_word(pairs: list[tuple[int, int]]) -> None:
    found = read([f"{first:02}/{second:02}/2026" for first, second in pairs])
    open_ones = [pair for pair in pairs if pair[0] != pair[1]]
    assert found.guesses == len(open_ones)
    assert any(f"({len(open_ones)}) may be day or month first" in note for note in found.notes) == bool(
        open_ones
    )
    assert days_of(found) == [date(2026, month, day) for day, month in pairs]


def test_the_file_of_the_review() -> None:
    """207 of 1,605 ISO dates beside dotted ones once moved to another month."""
    chance = random.Random(10)
    days = [date(2026, 1, 1) + timedelta(days=chance.randrange(365)) for _ in range(1_605)]
    texts = [f"{day:%d.%m.%Y}" if number % 2 else day.isoformat() for number, day in enumerate(days)]
    found = read(texts)
    assert days_of(found) == days
    assert found.formats == {"YYYY-MM-DD": 803, "DD.MM.YYYY": 802}


@pytest.mark.parametrize(
    ("texts", "note"),
    [
        (["25/04/2026", "03/04/2026"], r"\(1\) read as day first, like 25/04/2026"),
        (["04/25/2026", "03/04/2026"], r"\(1\) read as month first, like 04/25/2026"),
        (["25/04/2026", "04/25/2026", "03/04/2026"], r"may be .*both orders occur: 25/04/2026, 04/25/2026"),
        (["04.25.2026", "03.04.2026"], r"\(1\) read as month first, like 04.25.2026"),
        (["2026-03-05T10:00+01:00", "2026-03-05T10:00Z"], "converted to UTC"),
        (["2026-03-05"] * 19 + ["soon"], r"could not be read as dates: 'soon'"),
        (["2026-03-05"] * 19 + ["2026-02-30"], r"could not be read as dates: '2026-02-30'"),
    ],
)
def test_what_is_said_about_dates(texts: list[str], note: str) -> None:
    [said] = read(texts).notes
    assert re.search(note, said)


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b"],
        [],
        [None],
        ["1.234,50", "2.345,60"],
        ["12 apples 2026"],
        ["2026-13-01"],
        ["2026-03-05", "x"],
        ["10.0.0.1", "10.0.0.2"],
        ["1.2.24", "1.2.25", "1.2.26", "1.3.10", "2.1.11", "2.1.12", "2.1.13", "2.1.14", "2.1.15", "x"],
        [*["1.2.26"] * 9, "1.2.100"],
        [*["1.2.26", "2.2.26", "3.2.26"] * 3, "1.3.0"],
        ["2026-03-05 25:00"],
        ["March 5, 2026 13:00 PM"],
    ],
)
def test_what_is_no_date(texts: list[str | None]) -> None:
    assert read(texts) is None


def test_one_offset_from_utc_leaves_the_local_time() -> None:
    found = read(["2026-03-05T23:30:00+05:30", "2026-03-06 00:10:00.25+0530", None])
    assert [str(value) for value in found.dates] == [
        "2026-03-05 23:30:00",
        "2026-03-06 00:10:00.250000",
        "NaT",
    ]
    assert days_of(read(["2026-03-05T23:30-05:00", "2026-03-05"])) == [date(2026, 3, 6), date(2026, 3, 5)]


def test_versions_and_addresses_are_no_numbers() -> None:
    pandas, tables = import_module("pandas"), import_module("tables")
    for texts in (["1.2.24", "1.2.25"], ["10.0.0.1", "10.0.0.2"], ["1.234.5", "1.23.456"]):
        assert tables.as_numbers(pandas.Series(texts, dtype=object)) is None
    numbers = tables.as_numbers(pandas.Series(["1.234.567,50", "€ 12.345.678", "-1.234.567"], dtype=object))
    assert list(numbers) == [1234567.5, 12345678.0, -1234567.0]
    whole = tables.as_numbers(pandas.Series(["1.234.567", "2.000.000", "950"], dtype=object))
    assert list(whole) == [1234567.0, 2000000.0, 950.0], "without a decimal comma anywhere"


def test_years_of_two_digits() -> None:
    short = ["1.2.25", "2.2.25", "1.3.26", "4.3.26"]
    assert days_of(read(short))[0] == date(2025, 2, 1), "more days than years"
    monthly = ["1.10.24", "1.11.24", "1.12.24", "1.1.25"]
    assert days_of(read(monthly))[-1] == date(2025, 1, 1), "more months than years"
    assert days_of(read(["05.03.26", "05.03.68", "05.03.69"])) == [
        date(2026, 3, 5),
        date(2068, 3, 5),
        date(1969, 3, 5),
    ]


def write_lines(folder: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        (("a;b;c", "1;2;3", "4;5;6"), []),
        (("Sales 2026", "a;b;c", "1;2;3", "4;5;6"), ["Sales 2026"]),
        (("Sales 2026;;", "", "SAP;;", "a;b;c", "1;2;", "4;5;"), ["Sales 2026", "SAP"]),
        (("sep=;", "a;b;c", "1;2;3"), []),
        (("Sales, all regions", "a;b;c", "1,5;2;3", "4,5;5;6"), ["Sales, all regions"]),
        (("a\tb\tc", "1\t2,2\t3"), []),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_lines_above_the_column_names(
    tmp_path: Path, lines: tuple[str, ...], title: list[str], encoding: str
) -> None:
    table = import_module("tables").read_raw(write_lines(tmp_path, *lines, encoding=encoding))
    assert list(table.columns) == ["a", "b", "c"]
    assert table.attrs["title"] == title


@pytest.mark.parametrize(
    "lines", [(",value", "0,3", "1,4"), ("a,,c", "1,,3"), ("a", "1"), ("a,b",), ("1,2", "x,y")]
)
def test_first_lines_that_are_no_title(tmp_path: Path, lines: tuple[str, ...]) -> None:
    table = import_module("tables").read_raw(write_lines(tmp_path, *lines))
    assert table.attrs["title"] == []
    assert len(table) == len(lines) - 1


def test_a_title_of_two_cells_above_rows_with_gaps(tmp_path: Path) -> None:
    lines = ("Created by;SAP;;", "a;b;c;d", "1;2;3;", "4;5;6;")
    table = import_module("tables").read_raw(write_lines(tmp_path, *lines))
    assert list(table.columns) == ["a", "b", "c", "d"]
    assert table.attrs["title"] == ["Created by SAP"]


def test_a_title_above_a_sheet(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (
        [],
        [None, "Sales 2026"],
        [],
        [None, "Region", "Sum"],
        [None, "North", 3],
        [None, "South", 4],
    ):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    table = import_module("tables").read_raw(tmp_path / "b.xlsx")
    assert table.to_dict("list") == {"Region": ["North", "South"], "Sum": [3, 4]}
    assert table.attrs["title"] == ["Sales 2026"]


REPORT = (
    "Report",
    "Region;Day;Revenue",
    "Nord;2026-03-05;1.234,50",
    "Nord;05.03.2026;1,00",
    "nord ;31.03.2026;1,00",
    "NORD;03/04/2026;1,00",
    "South;2026-04-30;1,00",
)


def test_an_overview_of_a_messy_file(tmp_path: Path) -> None:
    told = script("data-analysis", "overview.py", write_lines(tmp_path, *REPORT))
    assert '- lines above the column names, left out by read_table(): "Report"' in told
    assert "several formats, each read by its own: YYYY-MM-DD (2), DD.MM.YYYY (2), DD/MM/YYYY (1)" in told
    assert (
        "dates such as 03/04/2026 (1) may be day or month first (nothing decides it); read as day first"
        in told
    )
    assert 'several ways, which count as different: "Nord" (2), "nord " (1), "NORD" (1)' in told
    told = script("data-analysis", "overview.py", tmp_path / "t.csv", "--dates", "month-first")
    assert "| Day | date (from text) | 0 | 2026-03-04 to 2026-04-30 |" in told
    assert "may be day or month first" not in told


@pytest.mark.long
def test_a_chart_says_what_its_labels_and_dates_hide(tmp_path: Path) -> None:
    arguments = ("--kind", "bar", "--x", "region", "--y", "Revenue", "--out", tmp_path / "c.png")
    told = script("data-analysis", "chart.py", write_lines(tmp_path, *REPORT), *arguments)
    assert 'note: `Region` has values in several spellings (1): "Nord", "nord ", "NORD"; --unify' in told
    assert "note: `Day`: dates such as 03/04/2026 (1) may be day or month first" in told


@pytest.mark.long
def test_a_chart_joins_spellings_on_request(tmp_path: Path) -> None:
    arguments = ("--kind", "bar", "--x", "region", "--agg", "count", "--unify", "region")
    told = script(
        "data-analysis", "chart.py", write_lines(tmp_path, *REPORT), *arguments, "--out", tmp_path / "c.png"
    )
    assert "several spellings" not in told
    assert re.search(r"Nord +4\b", told)
    assert "NORD" not in told


def test_a_line_keeps_clear_of_the_frame_and_names_its_values(tmp_path: Path) -> None:
    chart, pyplot = import_module("chart"), import_module("matplotlib.pyplot")
    table = pandas.DataFrame({"day": pandas.date_range("2026-01-01", periods=6), "revenue": range(6)})
    given = argparse.Namespace(kind="line", x="day", y="revenue", agg="sum", by=None, period="", unit="")
    figure, axes = pyplot.subplots()
    try:
        chart._lines(table, axes, given)
        points = axes.get_lines()[0].get_xdata(orig=False)
        first, last = axes.get_xlim()
        assert first < min(points)
        assert max(points) < last
        assert axes.get_ylabel() == "revenue"
    finally:
        pyplot.close(figure)


def test_months_are_read_from_labels() -> None:
    read = import_module("dates").read_month
    months = {"9月": (0, 9), "2026年10月": (2026, 10), "Sept. 2025": (2025, 9)}
    others = dict.fromkeys(("12", "13月", "2026", "North"), (0, 0))
    assert {label: read(label) for label in (*months, *others)} == {**months, **others}


def test_spellings_are_joined_only_on_request(tmp_path: Path) -> None:
    tables = import_module("tables")
    table = tables.read_table(write_lines(tmp_path, *REPORT))
    assert table["Region"].nunique() == 4
    assert list(tables.unify_spellings(table["Region"])) == ["Nord"] * 4 + ["South"]
