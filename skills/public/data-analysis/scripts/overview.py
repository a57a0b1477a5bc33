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
from tables import is_text, mended, read_raw, sheets

TOTAL = re.compile(r"^\s*(?:grand\s+)?(?:total|sum|subtotal|gesamt|summe|合计|总计)\b", re.IGNORECASE)
SHOWN = 5


def overview(raw: pd.DataFrame) -> str:
    """The overview of one table."""
    table, done = mended(raw)
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


def suspicious(raw: pd.DataFrame, table: pd.DataFrame, done: dict[str, str]) -> Iterator[str]:
    """What to deal with before anything is computed."""
    for name, kind in done.items():
        lost = int(table[name].isna().sum() - raw[name].isna().sum())
        more = f"; {lost:,} cells could not be read" if lost > 0 else ""
        yield f"`{name}` keeps {kind} as text; read_table() of tables.py reads them{more}"
    if double := int(raw.duplicated().sum()):
        yield f"{double:,} rows are there twice"
    for name in raw.columns:
        share = raw[name].isna().mean()
        if share >= 0.5:
            yield f"`{name}` is empty in {share:.0%} of the rows"
        if is_text(raw[name]):
            totals = raw.index[raw[name].astype(str).str.match(TOTAL)]
            if len(totals):
                places = ", ".join(str(at + 1) for at in totals[:SHOWN])
                yield f"`{name}` names a total in row {places}: leave it out of sums"
    for name in table.select_dtypes("number").columns:
        filled = table[name].dropna()
        low, high = filled.quantile(0.25), filled.quantile(0.75)
        far = filled[(filled > high + 10 * (high - low)) | (filled < low - 10 * (high - low))]
        if high > low and len(far) and len(far) <= max(3, len(filled) // 100):
            yield f"`{name}` has {len(far)} values far from all others, such as {far.iloc[0]:,.6g}"
    if any(str(name).startswith("Unnamed:") for name in raw.columns):
        yield "some columns have no name; the head of the table may stand further down"


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


def main(arguments: list[str] | None = None) -> int:
    """Read, print; 1 for what can't be read."""
    parser = argparse.ArgumentParser(description="What is in a table.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sheet")
    given = parser.parse_args(arguments)
    try:
        names = sheets(given.file)
        if given.sheet is not None and given.sheet not in names:
            raise ValueError(f"there is no sheet {given.sheet}; there are: {', '.join(names) or 'none'}")
        for name in [given.sheet] if given.sheet is not None else names or [None]:
            print(f"# {given.file.name}{f', sheet {name}' if name is not None else ''}\n")
            print(overview(read_raw(given.file, name)) + "\n")
    except (ValueError, OSError) as error:
        print(f"{given.file.name} can't be read: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
