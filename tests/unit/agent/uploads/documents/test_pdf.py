"""Layout of PDF pages, and their form fields, links and comments."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph, SimpleDocTemplate, Table

from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.pdf import ATTACHED
from tests.unit.agent.uploads.documents.test_readers import read

pytestmark = pytest.mark.may_block
ROWS = [
    ["Item", "Quantity", "Net price", "Remarks"],
    ["Steel bolt M8", "120", "1,234.50", "in stock"],
    ["Copper wire", "7", "89.00", ""],
    ["Gasket", "", "3.15", "back-ordered until May"],
    ["Total", "127", "1,326.65", ""],
]
GRID = [("GRID", (0, 0), (-1, -1), 1, colors.black), ("ALIGN", (1, 0), (2, -1), "RIGHT")]
NORMAL = getSampleStyleSheet()["Normal"]
LONG = [f"{side} line {{}} of prose that goes on" for side in ("left", "right")]


def draw(paint: Callable[[Canvas], object]) -> bytes:
    file = io.BytesIO()
    canvas = Canvas(file)
    paint(canvas)
    canvas.save()
    return file.getvalue()


def build(*flow: Any, frames: int = 1) -> bytes:
    file = io.BytesIO()
    if frames == 1:
        SimpleDocTemplate(file).build(list(flow))
    else:
        width = 480 / frames
        boxes = [Frame(50 + width * at, 50, width - 10, 740) for at in range(frames)]
        document = BaseDocTemplate(file)
        document.addPageTemplates([PageTemplate(frames=boxes)])
        document.build(list(flow))
    return file.getvalue()


def lines_of(content: bytes) -> list[str]:
    """The lines of a PDF file, with gaps shortened to two spaces, and without headings."""
    report, text = read(DocumentKind.PDF, content)
    assert report.problem == "", report
    gaps = ("  ".join(cell.strip() for cell in line.split("  ") if cell) for line in text.splitlines())
    return [line for line in gaps if line and not line.startswith("## ")]


def by_column(canvas: Canvas) -> None:
    for column in range(4):
        for row, cells in enumerate(ROWS):
            place = canvas.drawRightString if column in {1, 2} else canvas.drawString
            place(50 + 130 * column, 700 - 20 * row + 0.4 * column, cells[column])


def turned(canvas: Canvas) -> None:
    canvas.rotate(90)
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            canvas.drawString(50 + 130 * column, -100 - 20 * row, text)


@pytest.mark.parametrize(
    "content",
    [
        build(Table(ROWS)),
        build(Table(ROWS, style=GRID)),
        draw(by_column),
        draw(turned),
    ],
    ids=["plain", "grid", "by column", "turned"],
)
def test_rows_of_tables_stay_rows(content: bytes) -> None:
    assert lines_of(content) == ["  ".join(filter(None, row)) for row in ROWS]


def test_cells_are_below_their_column_heads() -> None:
    _, text = read(DocumentKind.PDF, build(Table(ROWS)))
    rows = {line.split("  ")[0]: line for line in text.splitlines()}
    assert rows["Gasket"].index("3.15") > rows["Item"].index("Quantity") + len("Quantity")


def test_a_wrapped_cell_starts_on_the_line_of_its_row() -> None:
    texts = ["Alpha", "A description that is long enough to take several lines of the cell", "1,100"]
    rows = [[Paragraph(text, NORMAL) for text in row] for row in (["Name", "Task", "Cost"], texts)]
    content = build(Table(rows, colWidths=[80, 150, 60], style=[("VALIGN", (0, 0), (-1, -1), "TOP")]))
    assert lines_of(content) == [
        "Name  Task  Cost",
        "Alpha  A description that is long  1,100",
        "enough to take several lines of",
        "the cell",
    ]


def line_by_line(canvas: Canvas) -> None:
    canvas.drawString(50, 800, "A title over both columns, so long that it also reaches the second one")
    for row in range(20):
        for column, text in enumerate(LONG):
            canvas.drawString(50 + 250 * column, 770 - 14 * row, text.format(row))
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            canvas.drawString(50 + 130 * column, 400 - 18 * row, text)


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    lines = lines_of(draw(line_by_line))
    assert lines[1:41] == [text.format(row) for text in LONG for row in range(20)]
    assert lines[41:] == ["  ".join(filter(None, row)) for row in ROWS]


@pytest.mark.parametrize("frames", [2, 3])
def test_justified_columns_are_read_in_order(frames: int) -> None:
    words = [f"word{number}" for number in range(900)]
    style = NORMAL.clone("justified", alignment=4)
    flow = [Paragraph(" ".join(words[at : at + 45]), style) for at in range(0, 900, 45)]
    assert " ".join(lines_of(build(*flow, frames=frames))).split() == words


def test_raised_digits_become_superscripts() -> None:
    def paint(canvas: Canvas) -> None:
        canvas.drawString(50, 700, "10")
        canvas.setFont("Helvetica", 7)
        canvas.drawString(63, 705, "6")
        canvas.setFont("Helvetica", 12)
        canvas.drawString(68, 700, "units")

    assert lines_of(draw(paint)) == ["10⁶ units"]


def form(canvas: Canvas) -> None:
    canvas.drawString(50, 800, "Application")
    fields = canvas.acroForm
    fields.textfield(name="family", value="Okonkwo", tooltip="Family name", x=50, y=700)
    fields.textfield(name="street", value="", x=50, y=600)
    fields.checkbox(name="member", checked=True, x=50, y=500)
    fields.checkbox(name="letter", checked=False, x=50, y=450)
    fields.choice(name="city", options=["Lagos", "Kano"], value="Kano", x=50, y=400)
    for value in ("small", "large"):
        fields.radio(name="size", value=value, selected=value == "large", x=50, y=300)
    canvas.drawString(50, 200, "Terms")
    canvas.linkURL("https://x.test/terms", (50, 195, 90, 212))
    canvas.linkURL("https://x.test/other", (300, 195, 390, 212))
    canvas.textAnnotation("Check this.", (10, 10, 30, 30))


def test_fields_links_and_comments_are_listed() -> None:
    assert lines_of(draw(form)) == [
        "Application",
        "Terms",
        "- Field family (Family name): Okonkwo",
        "- Field street: (empty)",
        "- Field member: checked",
        "- Field letter: not checked",
        "- Field city: Kano",
        "- Field size: large",
        "- Link: [Terms](https://x.test/terms)",
        "- Link: https://x.test/other",
        "- Comment: Check this.",
    ]


def test_attachments_are_noted() -> None:
    from pypdf import PdfWriter

    writer = PdfWriter(io.BytesIO(draw(form)))
    writer.add_attachment("figures.csv", b"a,b")
    file = io.BytesIO()
    writer.write(file)
    assert read(DocumentKind.PDF, file.getvalue())[0].notes == [ATTACHED.format("figures.csv")]
