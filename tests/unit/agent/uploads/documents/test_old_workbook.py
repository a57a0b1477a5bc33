"""Texts outside cells of `.xls` files, in records made by hand from [MS-XLS].

LibreOffice's files are in `test_document_corpus.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies

from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.old_workbook import NOT_INCLUDED, TOO_OLD
from agent.uploads.documents.workbook_parts import UNREADABLE
from tests.harness import documents
from tests.unit.agent.uploads.documents.test_readers import read

GLOBALS, WORKSHEET, CHART = 0x05, 0x10, 0x20
END = struct.pack("<HH", 0x0A, 0)
COMMENT, TEXT_BOX = 0x19, 0x06
RUNS = b"\0" + b"r" * 15
"""Formats of a text, which are no text."""
PART = 20
"""Characters of a text in one record, fewer than in a real file."""


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def begin(kind: int) -> bytes:
    return record(0x809, struct.pack("<HHHHII", 0x0600, kind, 0, 1997, 0, 0))


def text(content: str, size: str = "H") -> bytes:
    """The text with its length, in two bytes a character if it has to be."""
    is_wide = not content.isascii()
    encoded = content.encode("utf-16-le" if is_wide else "latin-1")
    return struct.pack(f"<{size}B", len(encoded) // (1 + is_wide), is_wide) + encoded


def text_object(content: str, kind: int = TEXT_BOX) -> bytes:
    """A drawn object with a text."""
    common = record(0x5D, struct.pack("<HHHHI", 0x15, 18, kind, 1, 0) + bytes(10))
    head = record(
        0x1B6, struct.pack("<HH6xHHI", 0, 0, len(content.encode("utf-16-le")) // 2, 16 if content else 0, 0)
    )
    parts = [record(0x3C, text(content[start : start + PART])[2:]) for start in range(0, len(content), PART)]
    return common + head + b"".join(parts) + (record(0x3C, RUNS) if content else b"")


def chart(*texts: str) -> bytes:
    return begin(CHART) + b"".join(record(0x100D, b"\0\0" + text(one, "B")) for one in texts) + END


def workbook(sheets: Sequence[tuple[str, int, bytes]]) -> bytes:
    """A workbook of sheets: their name, type and records."""
    size = sum(len(record(0x85, bytes(6) + text(name, "B"))) for name, _, _ in sheets)
    start = len(begin(GLOBALS)) + size + len(END)
    names, contents = b"", b""
    for name, kind, records in sheets:
        names += record(0x85, struct.pack("<IBB", start + len(contents), 0, kind) + text(name, "B"))
        contents += records
    return begin(GLOBALS) + names + END + contents


def worksheet(*records: bytes) -> bytes:
    return begin(WORKSHEET) + b"".join(records) + END


WHOLE = workbook(
    [
        (
            "Plan",
            0,
            worksheet(
                record(0x14, text("&LBudget &D&R机密")), text_object("Note | well, in records of their own")
            ),
        ),
        ("Bars", 2, chart("Sales")),
        (
            "Data",
            0,
            worksheet(record(0x15, text("&CPage &P")), text_object("销售额"), chart("Costs", "Costs")),
        ),
    ]
)


def test_headers_text_boxes_and_charts_are_included() -> None:
    report, found = read(DocumentKind.OLD_WORKBOOK, WHOLE)
    assert report.notes == [NOT_INCLUDED]
    plan, data, bars = found.split("## Sheet: ")[1:]
    assert plan.split("\n\n") == [
        "Plan",
        "(empty)",
        "Header: Budget 机密",
        "Text box: Note \\| well, in records of their own",
        "",
    ]
    assert data.split("\n\n") == ["Data", "(empty)", "Footer: Page", "Text box: 销售额", "Chart: Costs", ""]
    assert bars.split("\n\n") == ["Bars (chart)", "Chart: Sales", ""]


def test_characters_of_two_units_are_counted_twice() -> None:
    sheet = worksheet(record(0x14, text("Team 🚀")), text_object("Launch 🚀 now"), text_object("Next"))
    _, found = read(DocumentKind.OLD_WORKBOOK, workbook([("One", 0, sheet)]))
    assert found.split("\n\n")[2:] == ["Header: Team 🚀", "Text box: Launch 🚀 now", "Text box: Next", ""]


def test_a_comment_is_not_a_text_box() -> None:
    sheet = worksheet(text_object("said", COMMENT), text_object("", TEXT_BOX), text_object("drawn"))
    _, found = read(DocumentKind.OLD_WORKBOOK, workbook([("One", 0, sheet)]))
    assert "said" not in found and "Text box: drawn" in found


def test_what_cannot_be_read_is_noted() -> None:
    sheet = worksheet(record(0x14, b"\1"), record(0x15, text("Lost")))
    _, found = read(DocumentKind.OLD_WORKBOOK, workbook([("One", 0, sheet)]))
    assert UNREADABLE in found and "Lost" not in found


def test_what_an_older_file_lacks_is_noted() -> None:
    report, _ = read(DocumentKind.OLD_WORKBOOK, documents.old_workbook([["a"]]))
    assert report.notes == [TOO_OLD]


@given(strategies.integers(0, len(WHOLE) - 1), strategies.binary(min_size=1, max_size=4))
def test_damaged_files_end_in_a_report(place: int, damage: bytes) -> None:
    report, found = read(DocumentKind.OLD_WORKBOOK, WHOLE[:place] + damage + WHOLE[place + len(damage) :])
    assert bool(report.problem) != bool(found)


@pytest.mark.parametrize("length", range(len(begin(GLOBALS)), len(WHOLE), 37))
def test_cut_files_end_in_a_report(length: int) -> None:
    report, found = read(DocumentKind.OLD_WORKBOOK, WHOLE[:length])
    assert bool(report.problem) != bool(found)
