"""Reads tables of the usual kinds, and converts numbers and dates that are kept as text."""

from __future__ import annotations

import codecs
import csv
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from dates import read_dates

BOOKS = {".xlsx", ".xlsm", ".xls", ".ods"}
SIGNS = "\t;|,"
"""Delimiters in order of preference: commas occur in numbers too."""
LOOKED_AT = 30
SPELLINGS = 5_000
"""Columns with more distinct texts than this are not searched for spelling variants."""
_NUMBER = re.compile(
    r"^[-+(]?\s*[€$£¥]?\s*[-+]?[\d.,'\s\u00a0\u202f]*\d\s*(?:%|€|\$|£|¥|EUR|USD|CHF|GBP|k|M)?\s*\)?$"
)
_POINTS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?:,\d+)?(?![\d.,])")
"""A number with points between its thousands."""
_SPACES = re.compile(r"[\s\u00a0\u202f']")
_SHARE = 0.9
"""Share of the filled cells that must be numbers before a column is read as numbers."""


@dataclass(frozen=True)
class Converted:
    """A column that was converted to `kind`, with the formats of its cells and notes on how."""

    kind: str
    formats: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def mixture(self) -> str:
        """Say that the formats are several; "" for one."""
        if len(self.formats) < 2:
            return ""
        return f"several formats, each read by its own: {', '.join(self.formats)}"


@dataclass(frozen=True)
class _Head:
    """The line of the column names: lines above it, their texts, and the delimiter of the file."""

    above: int = 0
    title: list[str] = field(default_factory=list)
    sign: str = ","


def sheets(path: str | Path) -> list[str]:
    """Return the names of the sheets, [] for a file that has no sheets."""
    if Path(path).suffix.lower() in BOOKS:
        with pd.ExcelFile(path) as book:
            return [str(name) for name in book.sheet_names]
    return []


def read_raw(path: str | Path, sheet: str | None = None) -> pd.DataFrame:
    """Return the table as it is in the file, without title lines above the column names.

    `attrs["title"]` of the table has the texts of those lines. Raises ValueError for an unknown kind of file.
    """
    path = Path(path)
    ending = path.suffix.lower()
    title: list[str] = []
    if ending in BOOKS:
        table, title = _read_sheet(path, 0 if sheet is None else sheet)
    elif ending in {".csv", ".tsv", ".txt"}:
        table, title = _read_text(path)
    elif ending == ".json":
        table = pd.read_json(path)
    elif ending == ".jsonl":
        table = pd.read_json(path, lines=True)
    elif ending == ".parquet":
        table = pd.read_parquet(path)
    else:
        raise ValueError(f"{path.name} is no table that can be read (xlsx, csv, tsv, json, jsonl, parquet)")
    table.columns = [str(name).strip() for name in table.columns]
    empty = [name for name in table.columns if name.startswith("Unnamed:") and table[name].isna().all()]
    table = table.drop(columns=empty).dropna(how="all").reset_index(drop=True)
    table.attrs["title"] = title
    return table


def _read_sheet(path: Path, sheet: str | int) -> tuple[pd.DataFrame, list[str]]:
    with pd.ExcelFile(path) as book:
        first = pd.read_excel(book, sheet_name=sheet, header=None, nrows=LOOKED_AT, dtype=object)
        rows = [["" if pd.isna(value) else str(value) for value in row] for row in first.to_numpy().tolist()]
        left = min((at for row in rows for at, text in enumerate(row) if text), default=0)
        above, title = _find_title([row[left:] for row in rows])
        return pd.read_excel(book, sheet_name=sheet, skiprows=above), title


def _read_text(path: Path) -> tuple[pd.DataFrame, list[str]]:
    encoding = _encoding_of(path.read_bytes())
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        head = _find_head(list(islice(file, LOOKED_AT)))
    table = pd.read_csv(
        path, sep=head.sign, encoding=encoding, encoding_errors="replace", skiprows=head.above
    )
    return table, head.title


def _encoding_of(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _find_head(lines: Sequence[str]) -> _Head:
    """Find the delimiter, which splits most lines into the same number of fields, and the title lines."""
    declared = re.match(r"sep=(.)\s*$", lines[0]) if lines else None
    skipped = int(declared is not None)

    def split(sign: str) -> tuple[list[list[str]], list[int]]:
        reader = csv.reader(lines[skipped:], delimiter=sign)
        rows, ends = [], [skipped]
        for row in reader:
            rows.append([cell.strip() for cell in row])
            ends.append(skipped + reader.line_num)
        return rows, ends

    def regularity(sign: str) -> tuple[int, int]:
        widths = Counter(len(row) for row in split(sign)[0] if len(row) > 1)
        return max(((count, width) for width, count in widths.items()), default=(0, 0))

    sign = declared[1] if declared else max(SIGNS, key=regularity)
    sign = sign if declared or regularity(sign) > (0, 0) else ","
    rows, ends = split(sign)
    above, title = _find_title(rows)
    return _Head(ends[above] if ends else 0, title, sign)


def _find_title(rows: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """Return the number of rows above the column names, and their texts.

    A title row fills at most half of the columns that most rows fill, or half of the next row's if that row
    has no numbers. It fills the first one: the names of an index, as pandas writes them, begin with an empty cell.
    """
    widths = Counter(max(at for at, text in enumerate(row, 1) if text) for row in rows if any(row))
    width = max(widths, key=lambda one: (widths[one], one), default=0)
    if width < 2:
        return 0, []
    above = next((at for at, row in enumerate(rows) if _is_head(row, width)), 0)
    while (below := next((at for at in range(above + 1, len(rows)) if any(rows[at])), None)) is not None:
        if not rows[above][0] or _filled(rows[below]) < 2 * _filled(rows[above]) or _has_number(rows[below]):
            break
        above = below
    return above, [" ".join(filter(None, row)) for row in rows[:above] if any(row)]


def _is_head(row: Sequence[str], width: int) -> bool:
    return _filled(row) > width // 2 or (any(row) and not row[0])


def _filled(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _has_number(row: Sequence[str]) -> bool:
    return any(_NUMBER.match(text) for text in row if text)


def is_text(column: pd.Series) -> bool:
    """Return whether it holds text (among other things)."""
    return bool(pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column))


def as_numbers(column: pd.Series) -> pd.Series | None:
    """Return the column as numbers if nearly all texts are: `1.234,50`, `1,234.50`, `€ 12`, `(3)`, `7 %`."""
    filled = column.dropna().astype(str).str.strip()
    filled = filled[filled != ""]
    if filled.empty or filled.map(_is_number).mean() < _SHARE:
        return None
    german = _has_decimal_comma(filled) or _has_thousand_points(filled)
    return column.map(lambda value: _number(value, german=german)).astype(float)


def _is_number(text: str) -> bool:
    """Return whether it is a number; versions and addresses such as 1.2.26 and 10.0.0.1 are none."""
    if not _NUMBER.match(text):
        return False
    return text.count(".") < 2 or bool(_POINTS.search(_SPACES.sub("", text)))


def _has_decimal_comma(filled: pd.Series) -> bool:
    comma = filled.str.contains(r",\d{1,2}\D*$", regex=True).sum()
    point = filled.str.contains(r"\.\d{1,2}\D*$", regex=True).sum()
    both = filled.str.contains(r"\.\d{3},", regex=True).any()
    return bool(both or comma > point)


def _has_thousand_points(filled: pd.Series) -> bool:
    """Return whether a cell such as 1.234.567 says what points are for. No decimal point comes twice."""
    return bool((filled.str.count(r"\.") > 1).any())


def _number(value: object, *, german: bool) -> float:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return float("nan")
    if isinstance(value, int | float):
        return float(value)
    text = _SPACES.sub("", str(value))
    sign = -1.0 if text.startswith(("-", "(")) else 1.0
    scale = 0.01 if text.endswith("%") else 1e3 if text.endswith("k") else 1e6 if text.endswith("M") else 1.0
    digits = re.sub(r"[^\d.,]", "", text)
    digits = digits.replace(".", "").replace(",", ".") if german else digits.replace(",", "")
    try:
        return sign * float(digits) * scale
    except ValueError:
        return float("nan")


def as_dates(column: pd.Series, *, day_first: bool | None = None) -> pd.Series | None:
    """Return the column as dates if nearly all texts are, each read by its own format (see dates.py)."""
    found = read_dates(column, day_first=day_first)
    return None if found is None else found.dates


def mended(
    table: pd.DataFrame, *, day_first: bool | None = None
) -> tuple[pd.DataFrame, dict[str, Converted]]:
    """Return the table with its numbers and dates as such, and the columns that were converted.

    `day_first` decides dates such as 03/04/2026.
    """
    done: dict[str, Converted] = {}
    table = table.copy()
    for name in table.columns:
        if not is_text(table[name]):
            continue
        if (found := read_dates(table[name], day_first=day_first)) is not None:
            formats = [f"{kind} ({count:,})" for kind, count in found.formats.items()]
            table[name], done[name] = found.dates, Converted("dates", formats, found.notes)
        elif (numbers := as_numbers(table[name])) is not None:
            table[name], done[name] = numbers, Converted("numbers")
    return table, done


def read_table(path: str | Path, sheet: str | None = None, *, day_first: bool | None = None) -> pd.DataFrame:
    """Return the table, with its numbers and dates as such. Notes on dates are printed to stderr.

    `day_first` decides dates such as 03/04/2026.
    """
    table, done = mended(read_raw(path, sheet), day_first=day_first)
    for name, how in done.items():
        for note in filter(None, [how.mixture, *how.notes]):
            print(f"note: `{name}`: {note}", file=sys.stderr)
    return table


def spellings(column: pd.Series) -> Iterator[dict[str, int]]:
    """Yield the spellings of each value that has several, such as `Nord`, `nord ` and `NORD`, with counts.

    Spellings of one value differ in case, spaces or full-width letters only.
    """
    counts = column.dropna().astype(str).value_counts()
    if len(counts) > SPELLINGS:
        return
    groups: dict[str, dict[str, int]] = {}
    for text, count in counts.items():
        groups.setdefault(_key(text), {})[str(text)] = int(count)
    yield from (group for key, group in groups.items() if key and len(group) > 1)


def unify_spellings(column: pd.Series) -> pd.Series:
    """Return the column with one spelling of each value, the most frequent one."""
    common = {
        text: max(group, key=lambda one: group[one]).strip() for group in spellings(column) for text in group
    }
    return column.map(lambda value: common.get(value, value) if isinstance(value, str) else value)


def _key(text: Any) -> str:
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())
