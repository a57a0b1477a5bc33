"""Documents by several writers, with unique words in every place where a format stores text."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

from agent.uploads.documents.kinds import DocumentKind

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_DRAWN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "zu", "da", "fe", "go", "hi", "ju"]


@dataclass
class Facts:
    """Facts of a document: (place, text). `random` is seeded with the number of the document."""

    number: int
    entries: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)

    def word(self, place: str) -> str:
        """Add a new word at this place, and return it."""
        word = "".join(self.random.choices(_SYLLABLES, k=4)) + str(self.random.randrange(100, 999))
        return self.add(place, word)

    def words(self, place: str, count: int) -> str:
        """`count` common words, and a new word at the end."""
        return " ".join(
            [*self.random.choices(("the", "plan", "of", "next", "year"), k=count), self.word(place)]
        )

    def add(self, place: str, text: str) -> str:
        """Add a text that the reader must find at this place, and return it."""
        self.entries.append((place, text))
        return text

    def rows(self, place: str, count: int = 4) -> list[list[str]]:
        """`count` rows of three cells; each row is also a fact."""
        rows = [
            [self.word(place), f"{self.random.randrange(1000, 9999):,}", self.word(place)]
            for _ in range(count)
        ]
        for row in rows:
            self.add(f"{place} row", " ".join(row))
        return rows


@dataclass(frozen=True)
class Sample:
    """A document with its facts."""

    kind: DocumentKind
    writer: str
    content: bytes
    facts: Sequence[tuple[str, str]]


Writer = Callable[[Facts], bytes]


def _save(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def _element(xml: str) -> Any:
    from lxml import etree

    spaces = f'xmlns:w="{_MAIN}" xmlns:m="{_MATH}" xmlns:a="{_DRAWN}" xmlns:v="urn:schemas-microsoft-com:vml"'
    return etree.fromstring(f"<root {spaces}>{xml}</root>")[0]


def write_docx(facts: Facts) -> bytes:
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml.ns import qn

    document = docx.Document()
    add = document.add_paragraph
    document.add_heading(facts.words("heading", 2), 1)
    body = add(facts.words("paragraph", 12))
    document.add_comment(body.runs, text=facts.word("comment"), author=facts.word("author of a comment"))
    for style in ("List Bullet", "List Number", "Quote", "Intense Quote"):
        add(facts.word(f"style {style}"), style)
    header, footer = document.sections[0].header, document.sections[0].footer
    header.paragraphs[0].text = facts.word("header")
    header.add_table(1, 1, 3_000_000).cell(0, 0).text = facts.word("table in a header")
    footer.paragraphs[0].text = facts.word("footer")
    document.sections[0].different_first_page_header_footer = True
    document.sections[0].first_page_header.paragraphs[0].text = facts.word("header of the first page")
    rows = facts.rows("table")
    table = document.add_table(0, 3)
    for row in rows:
        for place, text in zip(table.add_row().cells, row, strict=True):
            place.text = text
    merged = table.add_row().cells
    merged[0].merge(merged[2]).text = facts.word("merged cells")
    table.add_row().cells[1].add_table(1, 1).cell(0, 0).text = facts.word("nested table")
    linked = add("see ")
    target = f"https://x.test/{facts.word('address of a link')}"
    key = document.part.relate_to(target, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    link = _element(f"<w:hyperlink><w:r><w:t>{facts.word('link')}</w:t></w:r></w:hyperlink>")
    link.set(qn("r:id"), key)
    linked._p.append(link)
    run = "<w:r><w:t>{}</w:t></w:r>".format
    for xml in (
        f'<w:fldSimple w:instr="AUTHOR">{run(facts.word("simple field"))}</w:fldSimple>',
        f'<w:ins w:id="1" w:author="x">{run(facts.word("insertion"))}</w:ins>',
        f"<w:sdt><w:sdtContent>{run(facts.word('content control'))}</w:sdtContent></w:sdt>",
        f'<w:smartTag w:element="x">{run(facts.word("smart tag"))}</w:smartTag>',
        f'<w:bdo w:val="ltr">{run(facts.word("direction"))}</w:bdo>',
        f"<w:r><w:ruby><w:rt>{run(facts.word('ruby'))}</w:rt><w:rubyBase>{run(facts.word('ruby base'))}"
        "</w:rubyBase></w:ruby></w:r>",
        f"<m:oMath><m:r><m:t>{facts.word('formula')}=1</m:t></m:r></m:oMath>",
        "<w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p>"
        f"{run(facts.word('text box'))}</w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>",
        f"<w:r><w:drawing><w:txbxContent><w:p>{run(facts.word('drawn text box'))}</w:p></w:txbxContent>"
        "</w:drawing></w:r>",
    ):
        add("with ")._p.append(_element(xml))
    field_paragraph = add("")
    for xml in (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
        "<w:r><w:instrText>REF x</w:instrText></w:r>",
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r>',
        run(facts.word("field")),
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    ):
        field_paragraph._p.append(_element(xml))
    raised = add("10")
    raised.add_run("6").font.superscript = True
    raised.add_run(facts.word("after raised"))
    split = facts.word("split run")
    halves = add(split[:3])
    halves.add_run(split[3:]).bold = True
    add(f"{facts.word('before a tab')}\t{facts.word('after a tab')}")
    return _save(document)


def write_xlsx_openpyxl(facts: Facts) -> bytes:
    import openpyxl  # type: ignore[import-untyped]
    from openpyxl.cell.rich_text import CellRichText, TextBlock  # type: ignore[import-untyped]
    from openpyxl.cell.text import InlineFont  # type: ignore[import-untyped]
    from openpyxl.chart import BarChart, Reference  # type: ignore[import-untyped]
    from openpyxl.comments import Comment  # type: ignore[import-untyped]

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = facts.word("name of a sheet")
    for row in facts.rows("table"):
        sheet.append(row)
    for column in "ABC":
        sheet.column_dimensions[column].width = 18
    sheet.append([facts.random.random() * 9, *[None] * 2])
    sheet["A5"].number_format = "0.00%"
    facts.add("percentage", f"{sheet['A5'].value * 100:.2f}%")
    sheet["B5"] = amount = facts.random.randrange(1000, 9999) + 0.5
    sheet["B5"].number_format = '#,##0.00 "€"'
    facts.add("currency", f"{amount:,.2f} €")
    sheet["C5"] = date(2026, facts.random.randrange(1, 13), facts.random.randrange(1, 28))
    facts.add("date", sheet["C5"].value.isoformat())
    sheet["A6"] = f'="{facts.word("formula")}"&B1'
    sheet["A7"].comment = Comment(facts.word("comment"), facts.word("author of a comment"))
    sheet["A7"] = facts.word("cell with comment")
    sheet["B7"] = facts.word("link")
    sheet["B7"].hyperlink = f"https://x.test/{facts.word('address of a link')}"
    sheet["C7"] = CellRichText(
        facts.word("rich text"), TextBlock(InlineFont(b=True), facts.word("rich text"))
    )
    sheet.merge_cells("A8:C8")
    sheet["A8"] = facts.word("merged cells")
    sheet["A9"] = facts.word("hidden row")
    sheet.row_dimensions[9].hidden = True
    sheet.oddHeader.center.text = facts.word("header")
    sheet.oddFooter.left.text = facts.word("footer")
    chart = BarChart()
    chart.title = facts.word("title of a chart")
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4))
    sheet.add_chart(chart, "E2")
    hidden = book.create_sheet(facts.word("name of a hidden sheet"))
    hidden.sheet_state = "hidden"
    hidden.append([facts.word("hidden sheet")])
    return _save(book)


def write_xlsx_xlsxwriter(facts: Facts) -> bytes:
    import xlsxwriter  # type: ignore[import-untyped]

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    sheet = book.add_worksheet(facts.word("name of a sheet"))
    rows = facts.rows("table")
    for at, row in enumerate(rows):
        sheet.write_row(at, 0, row)
    value = facts.random.random()
    sheet.write_number(5, 0, value, book.add_format({"num_format": "0.0%"}))
    facts.add("percentage", f"{value * 100:.1f}%")
    sheet.write_formula(5, 1, "=1+1", None, facts.word("stored value of a formula"))
    sheet.write_datetime(
        5, 2, datetime(2026, 5, 6, 7, 8), book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
    )
    facts.add("date", "2026-05-06 07:08")
    sheet.write_string(6, 0, facts.word("cell with comment"))
    sheet.write_comment(6, 0, facts.word("comment"), {"author": facts.word("author of a comment")})
    sheet.write_url(6, 1, f"https://x.test/{facts.word('address of a link')}", string=facts.word("link"))
    bold = book.add_format({"bold": True})
    sheet.write_rich_string(6, 2, facts.word("rich text"), bold, facts.word("rich text"), " end")
    sheet.merge_range(7, 0, 7, 2, facts.word("merged cells"))
    sheet.insert_textbox(9, 4, facts.word("text box"))
    sheet.set_header(f"&C{facts.word('header')}")
    sheet.set_footer(f"&L{facts.word('footer')}")
    sheet.write_boolean(8, 0, True)
    chart = book.add_chart({"type": "column"})
    chart.add_series({"values": [sheet.name, 0, 1, 3, 1], "name": facts.word("series of a chart")})
    chart.set_title({"name": facts.word("title of a chart")})
    chart.set_x_axis({"name": facts.word("axis of a chart")})
    sheet.insert_chart(1, 5, chart)
    hidden = book.add_worksheet(facts.word("name of a hidden sheet"))
    hidden.hide()
    hidden.add_table(
        0, 0, 2, 1, {"columns": [{"header": facts.word("column")}, {"header": facts.word("column")}]}
    )
    chart_sheet = book.add_chartsheet(facts.word("name of a chart sheet"))
    alone = book.add_chart({"type": "line"})
    alone.add_series({"values": [sheet.name, 0, 1, 3, 1], "name": facts.word("series of a chart sheet")})
    chart_sheet.set_chart(alone)
    book.close()
    return file.getvalue()


def write_pptx(facts: Facts) -> bytes:
    from PIL import Image
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI
    from pptx.oxml import parse_xml
    from pptx.util import Inches

    place = (Inches(1), Inches(1), Inches(4), Inches(2))
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = facts.words("title", 2)
    frame = first.placeholders[1].text_frame
    frame.text = facts.words("bullet", 5)
    for level in (1, 2):
        deeper = frame.add_paragraph()
        deeper.text, deeper.level = facts.word(f"bullet of level {level}"), level
    run = frame.add_paragraph().add_run()
    run.text = facts.word("link")
    run.hyperlink.address = f"https://x.test/{facts.word('address of a link')}"
    first.notes_slide.notes_text_frame.text = facts.words("notes", 4)
    second = deck.slides.add_slide(deck.slide_layouts[6])
    rows = facts.rows("table")
    table = second.shapes.add_table(len(rows), 3, *place).table
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            table.cell(at, column).text = text
    box = second.shapes.add_textbox(*place)
    box.text_frame.text = facts.word("text box")
    box.click_action.hyperlink.address = f"https://x.test/{facts.word('address of a shape')}"
    math = f"<m:oMath><m:r><m:t>{facts.word('formula')}=1</m:t></m:r></m:oMath>"
    box.text_frame.paragraphs[0]._p.append(_element(math))
    second.shapes.add_group_shape().shapes.add_textbox(*place).text_frame.text = facts.word("group")
    data = CategoryChartData()
    data.categories = [facts.word("category of a chart"), facts.word("category of a chart")]
    value = facts.random.randrange(1000, 9999)
    data.add_series(facts.word("series of a chart"), (value, 2.5))
    facts.add("value of a chart", str(value))
    kinds = (XL_CHART_TYPE.COLUMN_CLUSTERED, XL_CHART_TYPE.PIE, XL_CHART_TYPE.LINE, XL_CHART_TYPE.RADAR)
    chart = second.shapes.add_chart(kinds[facts.number % len(kinds)], *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = facts.word("title of a chart")
    picture = io.BytesIO()
    Image.new("RGB", (80, 80), (facts.number % 250, 9, 9)).save(picture, "PNG")
    shape = second.shapes.add_picture(picture, 0, 0)
    shape._element.nvPicPr.cNvPr.set("descr", facts.word("description of a picture"))
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = facts.word("hidden slide")
    hidden.element.set("show", "0")
    space = "http://schemas.openxmlformats.org/presentationml/2006/main"
    comment = f'<cmLst xmlns="{space}"><cm authorId="0"><text>{facts.word("comment")}</text></cm></cmLst>'
    kind = "application/vnd.openxmlformats-officedocument.presentationml.comments+xml"
    part = Part(PackURI("/ppt/comments/comment1.xml"), kind, deck.part.package, comment.encode())
    second.part.relate_to(part, f"{_RELATION}/comments")
    diagram = f'<m xmlns:a="{_DRAWN}"><a:p><a:r><a:t>{facts.word("diagram")}</a:t></a:r></a:p></m>'
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/xml", deck.part.package, diagram.encode())
    second.part.relate_to(part, f"{_RELATION}/diagramData")
    master = deck.slide_masters[0].shapes._spTree
    text = f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{facts.word('background')}</a:t></a:r></a:p></p:txBody>"
    name = "<p:nvSpPr><p:cNvPr id='99' name='x'/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>"
    master.append(parse_xml(f"<p:sp xmlns:p='{space}' xmlns:a='{_DRAWN}'>{name}{text}</p:sp>"))
    return _save(deck)


def write_pdf_reportlab(facts: Facts) -> bytes:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

    normal = getSampleStyleSheet()["Normal"]
    header, footer = facts.word("header"), facts.word("footer")
    number = facts.number

    def paint(canvas: Any, _document: Any) -> None:
        canvas.drawString(50, 800, header)
        canvas.drawString(50, 30, footer)
        canvas.acroForm.textfield(name=f"name{number}", value=value, x=400, y=40, width=90, height=20)
        canvas.textAnnotation(comment, (10, 10, 30, 30))
        canvas.bookmarkPage("here")
        canvas.addOutlineEntry(bookmark, "here")

    value, comment, bookmark = facts.word("field"), facts.word("comment"), facts.word("bookmark")
    facts.add("name of a field", f"name{number}: {value}")
    address, rows = facts.word("address of a link"), facts.rows("table")
    wrapped = [
        [Paragraph(facts.words("wrapped cell", 12), normal), facts.word("cell beside")] for _ in range(3)
    ]
    flow = [
        Paragraph(facts.words("heading", 2), getSampleStyleSheet()["Heading1"]),
        Paragraph(facts.words("paragraph", 60), normal),
        Table(rows, style=[("ALIGN", (1, 0), (1, -1), "RIGHT")]),
        Spacer(1, 12),
        Table(wrapped, colWidths=[120, 120]),
        Paragraph(
            f'<a href="https://x.test/{address}">{facts.word("link")}</a> and {facts.word("after")}', normal
        ),
    ]
    file = io.BytesIO()
    SimpleDocTemplate(file).build(flow, onFirstPage=paint)
    return file.getvalue()


def write_pdf_fpdf(facts: Facts) -> bytes:
    from fpdf import FPDF

    header, footer = facts.word("header"), facts.word("footer")

    class Page(FPDF):
        def header(self) -> None:
            self.cell(0, 8, header)
            self.ln()

        def footer(self) -> None:
            self.set_y(-15)
            self.cell(0, 8, footer)

    document = Page()
    document.set_font("Helvetica", size=11)
    document.add_page()
    document.start_section(facts.word("bookmark"))
    document.multi_cell(0, 6, facts.words("paragraph", 60))
    document.ln()
    with document.table(borders_layout=("NONE", "ALL")[facts.number % 2]) as table:
        for row in facts.rows("table"):
            cells = table.row()
            for text in row:
                cells.cell(text)
    document.cell(0, 8, facts.word("link"), link=f"https://x.test/{facts.word('address of a link')}")
    document.text_annotation(20, 200, facts.word("comment"))
    document.ln()
    with document.text_columns(ncols=2) as columns:
        columns.write(
            " ".join([*["column"] * 150, facts.word("columns"), *["more"] * 60, facts.word("columns")])
        )
    return bytes(document.output())


def write_csv(facts: Facts) -> bytes:
    file = io.StringIO()
    csv.writer(file, delimiter=",;\t|"[facts.number % 4]).writerows(facts.rows("table"))
    return file.getvalue().encode(("utf-8", "utf-16", "utf-8-sig")[facts.number % 3])


def write_html(facts: Facts) -> bytes:
    rows = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in row)}</tr>" for row in facts.rows("table"))
    return (
        f"<title>{facts.word('title')}</title><p>{facts.words('paragraph', 9)}<table>{rows}</table>"
        f"<ul><li>{facts.word('list')}</ul><a href='https://x.test/{facts.word('address of a link')}'>"
        f"{facts.word('link')}</a><pre>{facts.word('code')}</pre><math><mi>{facts.word('formula')}</mi></math>"
        f"<details><summary>{facts.word('summary')}</summary>{facts.word('details')}</details>"
        f"<figure><img src='x.png' alt='{facts.word('description of a picture')}'><figcaption>"
        f"{facts.word('caption')}</figcaption></figure><input value='{facts.word('field')}'>"
        f"<textarea>{facts.word('text area')}</textarea>"
        f"<select><option selected>{facts.word('option')}</select>"
    ).encode()


def write_eml(facts: Facts) -> bytes:
    message = EmailMessage()
    message["From"] = f"{facts.word('sender')} <a@x.test>"
    message["To"], message["Subject"] = "b@x.test", facts.words("subject", 3)
    message.set_content(facts.words("plain text", 9))
    if facts.number % 2:
        message.add_alternative(f"<p>{message.get_content()}</p>", subtype="html")
    message.add_attachment(b"x", "application", "zip", filename=f"{facts.word('name of an attachment')}.zip")
    return message.as_bytes()


def write_eml_legacy(facts: Facts) -> bytes:
    message = MIMEMultipart()
    message["From"], message["Subject"] = "a@x.test", facts.words("subject", 3)
    message["Cc"] = f"{facts.word('copy')} <c@x.test>"
    message.attach(MIMEText(f"<p>{facts.words('rich text', 9)}</p>", "html", "iso-8859-1"))
    message.attach(MIMEText(facts.word("second text"), "plain"))
    return message.as_bytes()


def write_ipynb(facts: Facts) -> bytes:
    output = {"output_type": "stream", "name": "stdout", "text": [facts.word("output")]}
    result = {"output_type": "execute_result", "data": {"text/plain": facts.word("result")}}
    error = {
        "output_type": "error",
        "ename": facts.word("error"),
        "evalue": facts.word("error"),
        "traceback": [],
    }
    cells = [
        {"cell_type": "markdown", "source": [f"# {facts.word('text')}\n", facts.word("text")]},
        {"cell_type": "code", "source": facts.word("code"), "outputs": [output, result, error]},
        {"cell_type": "raw", "source": facts.word("raw cell")},
    ]
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}).encode()


WRITERS: Mapping[tuple[DocumentKind, str], tuple[str, Writer]] = {
    (DocumentKind.WORD, "python-docx"): ("docx", write_docx),
    (DocumentKind.WORKBOOK, "openpyxl"): ("xlsx", write_xlsx_openpyxl),
    (DocumentKind.WORKBOOK, "XlsxWriter"): ("xlsx", write_xlsx_xlsxwriter),
    (DocumentKind.SLIDES, "python-pptx"): ("pptx", write_pptx),
    (DocumentKind.PDF, "reportlab"): ("pdf", write_pdf_reportlab),
    (DocumentKind.PDF, "fpdf2"): ("pdf", write_pdf_fpdf),
    (DocumentKind.DELIMITED, "csv"): ("csv", write_csv),
    (DocumentKind.WEB, "markup"): ("html", write_html),
    (DocumentKind.EMAIL, "email.message"): ("eml", write_eml),
    (DocumentKind.EMAIL, "email.mime"): ("eml", write_eml_legacy),
    (DocumentKind.NOTEBOOK, "json"): ("ipynb", write_ipynb),
}


def make_samples(count: int) -> Iterator[Sample]:
    """`count` documents of each writer."""
    for (kind, writer), (_, write) in WRITERS.items():
        for number in range(count):
            facts = Facts(number)
            yield Sample(kind, writer, write(facts), facts.entries)
