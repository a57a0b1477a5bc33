"""Reads tables of any usual kind, and mends numbers and dates that are kept as text."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pandas as pd

_NUMBER = re.compile(
    r"^[-+(]?\s*[€$£¥]?\s*[-+]?[\d.,'\s\u00a0\u202f]*\d\s*(?:%|€|\$|£|¥|EUR|USD|CHF|GBP|k|M)?\s*\)?$"
)
_SPACES = re.compile(r"[\s\u00a0\u202f']")
_SHARE = 0.9
"""So large a part of the filled cells has to be readable before a column is taken for numbers or dates."""


def sheets(path: str | Path) -> list[str]:
    """The names of the sheets; none for a file that has no such thing."""
    if Path(path).suffix.lower() in {".xlsx", ".xlsm", ".xls", ".ods"}:
        with pd.ExcelFile(path) as book:
            return [str(name) for name in book.sheet_names]
    return []


def read_raw(path: str | Path, sheet: str | None = None) -> pd.DataFrame:
    """The table as it stands in the file. Raises ValueError for a kind of file that is not known."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending in {".xlsx", ".xlsm", ".xls", ".ods"}:
        table = pd.read_excel(path, sheet_name=sheet if sheet is not None else 0)
    elif ending in {".csv", ".tsv", ".txt"}:
        table = _text(path)
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
    return table.drop(columns=empty).dropna(how="all").reset_index(drop=True)


def _text(path: Path) -> pd.DataFrame:
    raw = path.read_bytes()
    encoding = "utf-8-sig" if _is_utf8(raw) else "cp1252"
    first = raw.decode(encoding, errors="replace").partition("\n")[0]
    signs = {sign: first.count(sign) for sign in "\t;,|"}
    best = max(signs, key=lambda sign: signs[sign])
    return pd.read_csv(path, sep=best if signs[best] else ",", encoding=encoding, encoding_errors="replace")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_text(column: pd.Series) -> bool:
    """Whether it holds text (among other things)."""
    return bool(pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column))


def as_numbers(column: pd.Series) -> pd.Series | None:
    """The column as numbers, if nearly all of its text is one: `1.234,50`, `1,234.50`, `€ 12`, `(3)`, `7 %`."""
    filled = column.dropna().astype(str).str.strip()
    filled = filled[filled != ""]
    if filled.empty or filled.map(lambda text: bool(_NUMBER.match(text))).mean() < _SHARE:
        return None
    german = _has_decimal_comma(filled)
    return column.map(lambda value: _number(value, german=german)).astype(float)


def _has_decimal_comma(filled: pd.Series) -> bool:
    comma = filled.str.contains(r",\d{1,2}\D*$", regex=True).sum()
    point = filled.str.contains(r"\.\d{1,2}\D*$", regex=True).sum()
    both = filled.str.contains(r"\.\d{3},", regex=True).any()
    return bool(both or comma > point)


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


def as_dates(column: pd.Series) -> pd.Series | None:
    """The column as dates, if nearly all of its text is one; day before month where a day over 12 shows it."""
    filled = column.dropna().astype(str).str.strip()
    if (
        filled.empty
        or not filled.str.contains(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", regex=True).mean() >= _SHARE
    ):
        return None
    first = pd.to_numeric(filled.str.extract(r"^(\d{1,2})[-./]")[0], errors="coerce")
    second = pd.to_numeric(filled.str.extract(r"^\d{1,2}[-./](\d{1,2})[-./]")[0], errors="coerce")
    points = filled.str.contains(r"^\d{1,2}\.\d{1,2}\.", regex=True).any()
    day_first = bool((first > 12).any() or (points and not (second > 12).any()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(column, errors="coerce", dayfirst=day_first, format="mixed")
    return dates if dates.notna().sum() >= _SHARE * len(filled) else None


def mended(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """The table with numbers and dates as such, and what was made of which column."""
    done: dict[str, str] = {}
    table = table.copy()
    for name in table.columns:
        if not is_text(table[name]):
            continue
        for kind, read in (("dates", as_dates), ("numbers", as_numbers)):
            column = read(table[name])
            if column is not None:
                table[name] = column
                done[name] = kind
                break
    return table, done


def read_table(path: str | Path, sheet: str | None = None) -> pd.DataFrame:
    """The table, mended."""
    return mended(read_raw(path, sheet))[0]
