"""Excel workbooks: a table for each sheet, from the values that were stored. Nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from agent.uploads.documents.archive import check_office
from agent.uploads.documents.tables import COLUMNS, Row, cell, cut_table

SHEETS = 50


def read(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """The Markdown in blocks. A formula without a stored value is shown as it is written."""
    check_office(file, notes)
    import openpyxl  # type: ignore[import-untyped]

    # The declared size of a sheet is not relied on: rows are read as they come, up to a number of them.
    stored = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    written = openpyxl.load_workbook(file, read_only=True, keep_links=False)
    sheets = list(zip(stored.worksheets, written.worksheets, strict=True))
    for values, formulas in sheets[:SHEETS]:
        hidden = "" if values.sheet_state == "visible" else " (hidden)"
        yield f"## Sheet: {cell(values.title)}{hidden}\n\n"
        yield from cut_table(_rows(values, formulas), notes)
    if len(sheets) > SHEETS:
        notes.append(f"Only the first {SHEETS} of {len(sheets)} sheets are in it; the file itself has all.")


def _rows(values: Any, formulas: Any) -> Iterator[Row]:
    for sheet in (values, formulas):
        sheet.reset_dimensions()
    both = zip(
        values.iter_rows(max_col=COLUMNS + 1, values_only=True),
        formulas.iter_rows(max_col=COLUMNS + 1, values_only=True),
        strict=False,
    )
    for row, twin in both:
        yield [_formula(own) if value is None else value for value, own in zip(row, twin, strict=False)]


def _formula(value: Any) -> object:
    """A formula over several cells is an object that has it as its text."""
    return getattr(value, "text", value)
