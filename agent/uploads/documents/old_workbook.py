"""Excel workbooks of before 2007: a table for each sheet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from agent.uploads.documents.report import LOCKED, Unreadable
from agent.uploads.documents.tables import COLUMNS, Row, cell, cut_table
from agent.uploads.documents.workbook import SHEETS


def read(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """The Markdown in blocks. Raises Unreadable for an encrypted one."""
    import xlrd  # type: ignore[import-untyped]

    try:
        book = xlrd.open_workbook(file_contents=file.read(), logfile=io.StringIO(), ragged_rows=True)
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise Unreadable(LOCKED) from None
        raise
    for sheet in book.sheets()[:SHEETS]:
        yield f"## Sheet: {cell(sheet.name)}{'' if sheet.visibility == 0 else ' (hidden)'}\n\n"
        yield from cut_table(_rows(sheet, book.datemode), notes)
    if book.nsheets > SHEETS:
        notes.append(f"Only the first {SHEETS} of {book.nsheets} sheets are in it; the file itself has all.")


def _rows(sheet: Any, date_mode: int) -> Iterator[Row]:
    for number in range(sheet.nrows):
        yield [_value(one, date_mode) for one in sheet.row(number)[: COLUMNS + 1]]


def _value(one: Any, date_mode: int) -> object:
    import xlrd

    if one.ctype == xlrd.XL_CELL_DATE:
        try:
            return xlrd.xldate_as_datetime(one.value, date_mode)
        except (ValueError, OverflowError):
            return one.value
    if one.ctype == xlrd.XL_CELL_ERROR:
        return xlrd.error_text_from_code.get(one.value, "#ERROR")
    return bool(one.value) if one.ctype == xlrd.XL_CELL_BOOLEAN else one.value
