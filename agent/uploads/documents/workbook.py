"""Excel workbooks: a table per sheet, from stored values, and pictures; no formula is computed.

A sheet's declared size is ignored. The rows of a large one are estimated from its XML, because openpyxl reads
only some ten thousand rows a second.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from agent.uploads.documents.number_format import show_value
from agent.uploads.documents.office import check_office
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import COLUMNS, TableSummary
from agent.uploads.documents.tables import Row, RowCount, cell, cut_table
from agent.uploads.documents.workbook_parts import WorkbookParts

SHEETS = 50
FORMULAS = "Formulas are shown as their stored values."
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")
_CHUNK = 1 << 20
_OVERLAP = 64


def read_workbook(
    file: BinaryIO, notes: list[str], pictures: PictureWriter, tables: list[TableSummary]
) -> Iterator[str]:
    """Yield the Markdown in blocks, with labels of the pictures. A formula without a value is shown
    itself.
    """
    check_office(file, notes)
    import openpyxl  # type: ignore[import-untyped]

    # The declared size of a sheet may be wrong; rows are read one by one up to a limit.
    stored = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    written = openpyxl.load_workbook(file, read_only=True, keep_links=False)
    sheets = list(zip(stored.worksheets, written.worksheets, strict=True))
    parts = WorkbookParts(file, pictures)
    for number, (values, formulas) in enumerate(sheets[:SHEETS], 1):
        hidden = "" if values.sheet_state == "visible" else " (hidden)"
        title = f"Sheet: {cell(values.title)}{hidden}"
        # openpyxl ignores pictures in this mode, but knows the part of the sheet.
        part = getattr(values, "_worksheet_path", "")
        yield f"## {title}\n\n"
        count = partial(_estimate_rows, file, part)
        yield from cut_table(_rows(values, formulas, notes), notes, tables, count, title=title)
        yield parts.show_sheet(part, number)
    yield "".join(f"## Sheet: {cell(one.title)} (chart)\n\n" for one in stored.chartsheets)
    yield parts.show_others()
    if len(sheets) > SHEETS:
        notes.append(
            f"Only the first {SHEETS} of {len(sheets)} sheets are included; the file itself contains all."
        )


def _estimate_rows(file: BinaryIO, part: str, least: int) -> RowCount:
    """Count a sheet's row elements, since reading every row of a large sheet takes too long."""
    count, tail = 0, b""
    try:
        with zipfile.ZipFile(file) as archive, archive.open(part.lstrip("/")) as content:
            while chunk := content.read(_CHUNK):
                count += sum(1 for found in _ROW.finditer(tail + chunk) if found.end() > len(tail))
                tail = chunk[-_OVERLAP:]
    except (KeyError, zipfile.BadZipFile):
        return least, True
    return max(count, least), True


def _rows(values: Any, formulas: Any, notes: list[str]) -> Iterator[Row]:
    for sheet in (values, formulas):
        sheet.reset_dimensions()
    both = zip(
        values.iter_rows(max_col=COLUMNS + 1),
        formulas.iter_rows(max_col=COLUMNS + 1, values_only=True),
        strict=False,
    )
    for row, twin in both:
        if FORMULAS not in notes and any(
            own != one.value and one.value is not None and str(_formula(own)).startswith("=")
            for one, own in zip(row, twin, strict=False)
        ):
            notes.append(FORMULAS)
        yield [
            _formula(own) if one.value is None else show_value(one.value, _format_of(one))
            for one, own in zip(row, twin, strict=False)
        ]


def _format_of(one: Any) -> str:
    """Return a cell's number format; "" if the workbook does not define it."""
    try:
        return str(one.number_format or "")
    except (AttributeError, LookupError):
        return ""


def _formula(value: Any) -> object:
    """Return a formula; one over several cells is an object with a text."""
    return getattr(value, "text", value)
