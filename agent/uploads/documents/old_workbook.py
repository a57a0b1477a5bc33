"""Excel workbooks in the format before 2007 (`.xls`), from stored values; no formula is computed.

xlrd reads cells, comments and links. Other texts are taken from the records of the workbook's stream, whose
numbers are those of [MS-XLS], section 2.3.1.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, BinaryIO

from agent.uploads.documents.number_format import show_value
from agent.uploads.documents.report import COLUMNS, LOCKED, TableSummary, Unreadable
from agent.uploads.documents.tables import Row, RowCount, cell, cut_table
from agent.uploads.documents.workbook import SHEETS
from agent.uploads.documents.workbook_parts import UNREADABLE, show_header

NOT_INCLUDED = "Pictures of .xls files are not included. Save the file as .xlsx to include them."
TOO_OLD = (
    "Pictures, charts, text boxes, headers and footers of .xls files from before Excel 97 are not included. "
    "Save the file as .xlsx to include them."
)
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_EXCEL_97 = 80
"""xlrd's number for the format since Excel 97, BIFF8."""
_BOF, _EOF, _CONTINUE, _SHEET, _OBJECT, _TEXT, _SERIES_TEXT = 0x809, 0x0A, 0x3C, 0x85, 0x5D, 0x1B6, 0x100D
_AROUND: Mapping[int, str] = {0x14: "Header", 0x15: "Footer"}
_WORKSHEET, _CHART_SHEET = 0, 2
_PROBLEMS = (struct.error, IndexError)
_COMMENT = 0x19
"""The type of an object whose text is a comment, which xlrd reads."""


def read_old_workbook(file: BinaryIO, notes: list[str], tables: list[TableSummary]) -> Iterator[str]:
    """Yield the Markdown of a workbook in the format before 2007. Raises Unreadable if it is encrypted."""
    import xlrd  # type: ignore[import-untyped]

    content = file.read()
    try:
        book = xlrd.open_workbook(
            file_contents=content, logfile=io.StringIO(), ragged_rows=True, formatting_info=True
        )
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise Unreadable(LOCKED) from None
        raise
    is_known = book.biff_version == _EXCEL_97
    notes.append(NOT_INCLUDED if is_known else TOO_OLD)
    texts = _SheetTexts(content) if is_known else None
    for number, sheet in enumerate(book.sheets()[:SHEETS]):
        title = f"Sheet: {cell(sheet.name)}{'' if sheet.visibility == 0 else ' (hidden)'}"
        yield f"## {title}\n\n"
        yield from cut_table(_rows(sheet, book), notes, tables, partial(_count_rows, sheet), title=title)
        yield from _list_texts(sheet)
        if texts is not None:
            yield from texts.show_sheet(number)
    if texts is not None:
        yield from texts.show_chart_sheets()
    if book.nsheets > SHEETS:
        notes.append(
            f"Only the first {SHEETS} of {book.nsheets} sheets are included; the file itself contains all."
        )


def _rows(sheet: Any, book: Any) -> Iterator[Row]:
    for number in range(sheet.nrows):
        yield [_value(one, book) for one in sheet.row(number)[: COLUMNS + 1]]


def _list_texts(sheet: Any) -> Iterator[str]:
    """Yield the comments and links of a sheet of an `.xls` file."""
    from xlrd import cellname

    for (row, column), one in sorted(sheet.cell_note_map.items()):
        yield f"Comment at {cellname(row, column)} by {cell(one.author)}: {cell(one.text)}\n\n"
    for one in sheet.hyperlink_list:
        place = cellname(one.frowx, one.fcolx)
        yield f"Link at {place}: {cell(one.url_or_path or one.textmark)}\n\n"


def _count_rows(sheet: Any, _least: int) -> RowCount:
    """Count the non-empty rows, all of which are in memory."""
    import xlrd

    empty = {xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK}
    return sum(not empty.issuperset(sheet.row_types(number)) for number in range(sheet.nrows)), False


def _value(one: Any, book: Any) -> object:
    import xlrd

    if one.ctype == xlrd.XL_CELL_ERROR:
        return xlrd.error_text_from_code.get(one.value, "#ERROR")
    if one.ctype == xlrd.XL_CELL_BOOLEAN:
        return bool(one.value)
    if one.ctype not in {xlrd.XL_CELL_DATE, xlrd.XL_CELL_NUMBER}:
        return one.value
    try:
        code = book.format_map[book.xf_list[one.xf_index].format_key].format_str
    except (LookupError, TypeError):
        code = ""
    is_number = one.ctype == xlrd.XL_CELL_NUMBER
    return show_value(one.value if is_number else _moment(one.value, code, book.datemode), code)


def _moment(value: float, code: str, date_mode: int) -> object:
    """Return a serial number of days as a duration, a time or a date; itself if it is out of range."""
    import xlrd

    if _ELAPSED.search(code):
        return timedelta(days=value)
    try:
        moment = xlrd.xldate_as_datetime(value, date_mode)
    except (ValueError, OverflowError):
        return value
    return moment.time() if 0 <= value < 1 else moment


class _SheetTexts:
    """Texts of headers, footers, text boxes and charts of a workbook since Excel 97."""

    def __init__(self, content: bytes) -> None:
        from xlrd.compdoc import SIGNATURE, CompDoc  # type: ignore[import-untyped]

        self._stream = content
        if content.startswith(SIGNATURE):
            self._stream = CompDoc(content, logfile=io.StringIO()).get_named_stream("Workbook") or b""
        self._sheets: dict[int, list[tuple[str, int]]] = {_WORKSHEET: [], _CHART_SHEET: []}
        with suppress(*_PROBLEMS):
            self._find_sheets()

    def _find_sheets(self) -> None:
        for kind, record in _read_records(self._stream, 0):
            if kind == _SHEET:
                start, sheet = struct.unpack_from("<IxB", record)
                self._sheets.setdefault(sheet, []).append((_read_text(record, 6, "B"), start))

    def show_sheet(self, number: int) -> Iterator[str]:
        """Yield the texts of a worksheet."""
        sheets = self._sheets[_WORKSHEET]
        yield from self._show(sheets[number][1] if number < len(sheets) else len(self._stream))

    def show_chart_sheets(self) -> Iterator[str]:
        """Yield a section for each sheet that is a chart."""
        for name, start in self._sheets[_CHART_SHEET][:SHEETS]:
            yield f"## Sheet: {cell(name)} (chart)\n\n"
            yield from self._show(start)

    def _show(self, start: int) -> Iterator[str]:
        try:
            for line in dict.fromkeys(_list_lines(_read_records(self._stream, start))):
                yield f"{line}\n"
        except _PROBLEMS:
            yield f"{UNREADABLE}\n"


def _read_records(stream: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a substream and of those inside it. Raises struct.error."""
    depth = 0
    while True:
        kind, length = struct.unpack_from("<HH", stream, start)
        depth += (kind == _BOF) - (kind == _EOF)
        if depth <= 0:
            return
        start += 4 + length
        yield kind, stream[start - length : start]


def _list_lines(records: Iterator[tuple[int, bytes]]) -> Iterator[str]:
    object_type, missing, drawn = 0, 0, ""
    for kind, record in records:
        if kind == _CONTINUE and missing > 0:
            drawn += _decode(record[1:], record[0])
            # The length counts units of UTF-16, of which a character may need two.
            missing -= (len(record) - 1) // _unit_size(record[0])
            if missing <= 0 and (text := cell(drawn)):
                yield f"Text box: {text}\n"
        elif kind == _OBJECT:
            (object_type,) = struct.unpack_from("<H", record, 4)
        elif kind == _TEXT:
            missing = 0 if object_type == _COMMENT else struct.unpack_from("<H", record, 10)[0]
            drawn = ""
        elif kind in _AROUND and record:
            yield from show_header(_read_text(record, 0, "H"), _AROUND[kind])
        elif kind == _SERIES_TEXT and (text := cell(_read_text(record, 2, "B"))):
            yield f"Chart: {text}\n"


def _read_text(record: bytes, start: int, size: str) -> str:
    """Return the text whose length and flags are at `start`."""
    (length,) = struct.unpack_from(f"<{size}", record, start)
    start += struct.calcsize(size)
    end = start + 1 + length * _unit_size(record[start])
    return _decode(record[start + 1 : end], record[start])


def _unit_size(flags: int) -> int:
    return 2 if flags & 1 else 1


def _decode(text: bytes, flags: int) -> str:
    """Decode characters of two bytes, or their lower bytes alone."""
    return text.decode("utf-16-le" if flags & 1 else "latin-1", "replace")
