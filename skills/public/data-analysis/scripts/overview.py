"""What is in a table: its columns, their values, and what is suspicious.

    python3 overview.py sales.xlsx [--sheet 2026]

Needs pandas (openpyxl for Excel). Prints Markdown.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from tables import Converted, is_text, mended, read_raw, sheets, spellings

TOTAL = re.compile(r"^\s*(?:grand\s+)?(?:total|sum|subtotal|gesamt|summe|合计|总计)\b", re.IGNORECASE)
SHOWN = 5
VARIANTS = 3
"""Values with several spellings that are named for a column."""


def overview(raw: pd.DataFrame, *, day_first: bool | None = None) -> str:
    """Return the overview of one table; `day_first` decides dates such as 03/04/2026."""
    table, done = mended(raw, day_first=day_first)
    rows = [f"{len(table):,} rows, {len(table.columns)} columns.", ""]
    rows += ["| column | type | empty | values |", "|---|---|---|---|"]
    for name in table.columns:
        kind = f"{_kind(table[name])} (from text)" if name in done else _kind(table[name])
        rows.append(
            f"| {_cell(name)} | {kind} | {int(table[name].isna().sum()):,} | {_cell(_values(table[name]))} |"
        )
    notes = list(suspicious(raw, table, done))
    return "\n".join(
        [*rows, "", "## Look at", *([f"- {note}" for note in notes] or ["- nothing suspicious"])]
    )


def _kind(column: pd.Series) -> str:
    if pd.api.types.is_bool_dtype(column):
        return "true/false"
    if pd.api.types.is_datetime64_any_dtype(column):
        return "date"
    if pd.api.types.is_numeric_dtype(column):
        return "number"
    return "text"


def _values(column: pd.Series) -> str:
    filled = column.dropna()
    if filled.empty:
        return "(none)"
    kind = _kind(column)
    if kind == "number":
        return (
            f"{filled.min():,.6g} to {filled.max():,.6g}, median {filled.median():,.6g}, "
            f"mean {filled.mean():,.6g}, sum {filled.sum():,.6g}"
        )
    if kind == "date":
        return f"{filled.min():%Y-%m-%d} to {filled.max():%Y-%m-%d}"
    counts = filled.astype(str).value_counts()
    most = ", ".join(f"{value[:30]} ({count:,})" for value, count in counts.head(SHOWN).items())
    return f"{len(counts):,} different: {most}"


def suspicious(raw: pd.DataFrame, table: pd.DataFrame, done: dict[str, Converted]) -> Iterator[str]:
    """Yield what to deal with before anything is computed."""
    if title := raw.attrs.get("title"):
        lines = ", ".join(f'"{_cell(line)[:80]}"' for line in title[:SHOWN])
        yield f"lines above the column names, left out by read_table(): {lines}"
    for name, how in done.items():
        lost = int(table[name].isna().sum() - raw[name].isna().sum())
        more = f"; {lost:,} cells could not be read" if lost > 0 else ""
        formats = (
            f", in {how.mixture}" if how.mixture else f" ({', '.join(how.formats)})" if how.formats else ""
        )
        yield f"`{name}` keeps {how.kind} as text{formats}; read_table() of tables.py reads them{more}"
        yield from (f"`{name}`: {_cell(note)}" for note in how.notes)
    if double := int(raw.duplicated().sum()):
        yield f"{double:,} rows are there twice"
    for name in raw.columns:
        yield from _of_column(raw[name], table[name])
    if any(str(name).startswith("Unnamed:") for name in raw.columns):
        yield "some columns have no name; the head of the table may stand further down"


def _of_column(raw: pd.Series, column: pd.Series) -> Iterator[str]:
    name = raw.name
    share = raw.isna().mean()
    if share >= 0.5:
        yield f"`{name}` is empty in {share:.0%} of the rows"
    if is_text(raw):
        totals = raw.index[raw.astype(str).str.match(TOTAL)]
        if len(totals):
            places = ", ".join(str(at + 1) for at in totals[:SHOWN])
            yield f"`{name}` names a total in row {places}: leave it out of sums"
    if is_text(column):
        yield from _variants(column)
    elif pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        filled = column.dropna()
        low, high = filled.quantile(0.25), filled.quantile(0.75)
        far = filled[(filled > high + 10 * (high - low)) | (filled < low - 10 * (high - low))]
        if high > low and len(far) and len(far) <= max(3, len(filled) // 100):
            yield f"`{name}` has {len(far)} values far from all others, such as {far.iloc[0]:,.6g}"


def _variants(column: pd.Series) -> Iterator[str]:
    groups = list(spellings(column))
    if not groups:
        return
    shown = "; ".join(_spelled(group) for group in groups[:VARIANTS])
    rest = f"; and {len(groups) - VARIANTS:,} more" if len(groups) > VARIANTS else ""
    yield (
        f"`{column.name}` spells one value in several ways, which count as different: {shown}{rest}. "
        "unify_spellings() of tables.py makes them one"
    )


def _spelled(group: dict[str, int]) -> str:
    most = sorted(group.items(), key=lambda item: -item[1])[:SHOWN]
    return ", ".join(f'"{text[:40]}" ({count:,})' for text, count in most)


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def main(arguments: list[str] | None = None) -> int:
    """Read, print; 1 for what can't be read."""
    parser = argparse.ArgumentParser(description="What is in a table.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sheet")
    parser.add_argument("--dates", choices=("day-first", "month-first"), help="how to read 03/04/2026")
    given = parser.parse_args(arguments)
    day_first = given.dates == "day-first" if given.dates else None
    try:
        names = sheets(given.file)
        if given.sheet is not None and given.sheet not in names:
            raise ValueError(f"there is no sheet {given.sheet}; there are: {', '.join(names) or 'none'}")
        for name in [given.sheet] if given.sheet is not None else names or [None]:
            print(f"# {given.file.name}{f', sheet {name}' if name is not None else ''}\n")
            print(overview(read_raw(given.file, name), day_first=day_first) + "\n")
    except (ValueError, OSError) as error:
        print(f"{given.file.name} can't be read: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
