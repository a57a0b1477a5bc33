"""Read Excel workbooks: a table for each sheet, from stored values, and pictures; no formula is computed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from agent.uploads.documents.office import check_office
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import LOCKED, Unreadable
from agent.uploads.documents.tables import COLUMNS, Row, cell, cut_table
from agent.uploads.documents.workbook_pictures import WorkbookPictures

SHEETS = 50


def read_workbook(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown in blocks, which names the pictures. A formula without a value is shown itself."""
    check_office(file, notes)
    import openpyxl  # type: ignore[import-untyped]

    # The declared size of a sheet may be wrong; rows are read one by one up to a limit.
    stored = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    written = openpyxl.load_workbook(file, read_only=True, keep_links=False)
    sheets = list(zip(stored.worksheets, written.worksheets, strict=True))
    found = WorkbookPictures(file, pictures)
    for number, (values, formulas) in enumerate(sheets[:SHEETS], 1):
        hidden = "" if values.sheet_state == "visible" else " (hidden)"
        yield f"## Sheet: {cell(values.title)}{hidden}\n\n"
        yield from cut_table(_rows(values, formulas), notes)
        # openpyxl ignores pictures in this mode, but knows the part of the sheet.
        yield found.show_sheet(getattr(values, "_worksheet_path", ""), number)
    yield found.show_others()
    if len(sheets) > SHEETS:
        notes.append(
            f"Only the first {SHEETS} of {len(sheets)} sheets are included; the file itself contains all."
        )


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
    """Return a formula; one over several cells is an object with a text."""
    return getattr(value, "text", value)


def read_old_workbook(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """Yield the Markdown of a workbook from before 2007. Raises Unreadable if it is encrypted."""
    import xlrd  # type: ignore[import-untyped]

    try:
        book = xlrd.open_workbook(file_contents=file.read(), logfile=io.StringIO(), ragged_rows=True)
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise Unreadable(LOCKED) from None
        raise
    for sheet in book.sheets()[:SHEETS]:
        yield f"## Sheet: {cell(sheet.name)}{'' if sheet.visibility == 0 else ' (hidden)'}\n\n"
        yield from cut_table(_old_rows(sheet, book.datemode), notes)
    if book.nsheets > SHEETS:
        notes.append(
            f"Only the first {SHEETS} of {book.nsheets} sheets are included; the file itself contains all."
        )


def _old_rows(sheet: Any, date_mode: int) -> Iterator[Row]:
    for number in range(sheet.nrows):
        yield [_old_value(one, date_mode) for one in sheet.row(number)[: COLUMNS + 1]]


def _old_value(one: Any, date_mode: int) -> object:
    import xlrd

    if one.ctype == xlrd.XL_CELL_DATE:
        try:
            return xlrd.xldate_as_datetime(one.value, date_mode)
        except (ValueError, OverflowError):
            return one.value
    if one.ctype == xlrd.XL_CELL_ERROR:
        return xlrd.error_text_from_code.get(one.value, "#ERROR")
    return bool(one.value) if one.ctype == xlrd.XL_CELL_BOOLEAN else one.value
