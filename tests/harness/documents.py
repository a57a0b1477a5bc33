"""Documents for tests, honest and hostile, made here as bytes."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType=
"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
RELATIONS = """<?xml version="1.0"?><Relationships
xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type=
"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
Target="word/document.xml"/></Relationships>"""
SALES: Sequence[Sequence[Any]] = [
    ["month", "region", "revenue"],
    [datetime(2026, 1, 31), "North", 1200.5],
    [datetime(2026, 2, 28), "North", 1500],
    [datetime(2026, 2, 28), "South", 900],
]


def office(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def rewritten(document: bytes, changes: Mapping[str, str | bytes]) -> bytes:
    """The archive with some parts changed or added."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    return office({**parts, **changes})


def part(document: bytes, name: str) -> str:
    """A part of an archive."""
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        return archive.read(name).decode()


def declaring(document: bytes, size: int, *, everywhere: bool = True) -> bytes:
    """The archive, saying of its first part that it unpacks to `size` bytes."""
    data = bytearray(document)
    central = data.index(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", size)
    if everywhere:
        data[22:26] = struct.pack("<I", size)
    return bytes(data)


def word(body: str, **parts: str | bytes) -> bytes:
    """A Word document with this body."""
    document = f'<?xml version="1.0"?><w:document xmlns:w="{MAIN}"><w:body>{body}</w:body></w:document>'
    given = {name.replace("__", "/"): content for name, content in parts.items()}
    usual = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "word/styles.xml": f'<?xml version="1.0"?><w:styles xmlns:w="{MAIN}"/>',
        "word/_rels/document.xml.rels": f"{RELATIONS.partition('<Relationship Id')[0]}</Relationships>",
    }
    return office({**usual, "word/document.xml": document, **given})


def paragraph(text: str, style: str = "") -> str:
    """One of its paragraphs."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def workbook(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """An Excel workbook; its formulas have no stored values."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def old_workbook(rows: Sequence[Sequence[str | float]]) -> bytes:
    """An Excel workbook of the first kind (BIFF 2), which needs no container."""
    records = [(0x0009, struct.pack("<HH", 2, 0x0010))]
    for row, cells in enumerate(rows):
        for column, value in enumerate(cells):
            place = struct.pack("<HH3s", row, column, b"\x00" * 3)
            if isinstance(value, str):
                records.append((0x0004, place + bytes([len(value)]) + value.encode("latin-1")))
            else:
                records.append((0x0003, place + struct.pack("<d", value)))
    records.append((0x000A, b""))
    return b"".join(struct.pack("<HH", code, len(data)) + data for code, data in records)


def slides() -> bytes:
    """A presentation: a title with notes, a table, a chart and a group."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    made = Presentation()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Plan for 2027"
    body = first.placeholders[1].text_frame
    body.text = "Grow"
    deeper = body.add_paragraph()
    deeper.text, deeper.level = "in the North", 1
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = made.slides.add_slide(made.slide_layouts[6])
    place = (Inches(1), Inches(1), Inches(4), Inches(2))
    table = second.shapes.add_table(2, 2, *place).table
    for index, text in enumerate(["who", "what", "Ada", "a|b"]):
        table.cell(index // 2, index % 2).text = text
    data = CategoryChartData()
    data.categories = ["Q1", "Q2"]
    data.add_series("Sales", (1.5, 2))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data)
    inside = second.shapes.add_group_shape().shapes.add_textbox(*place)
    inside.text_frame.text = "in a group"
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def pdf(*pages: str, bookmarks: Mapping[str, int] | None = None, password: str = "") -> bytes:
    """A PDF file with these pages; bookmarks are (title, index of the page)."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(pages):
        lines = "".join(f"({line}) Tj 0 -16 Td " for line in text.splitlines())
        content = f"BT /F1 12 Tf 72 720 Td {lines}ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    data = _numbered(objects)
    return _finished(data, bookmarks or {}, password) if bookmarks or password else data


def _numbered(objects: Sequence[str]) -> bytes:
    """The objects as a file, with the table of where each begins."""
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    rows = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{rows}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


def _finished(data: bytes, bookmarks: Mapping[str, int], password: str) -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter(clone_from=io.BytesIO(data))
    for title, index in bookmarks.items():
        writer.add_outline_item(title=title, page_number=index)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()
