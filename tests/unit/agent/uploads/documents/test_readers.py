"""What honest documents look like as Markdown."""

from __future__ import annotations

import io
import re
from datetime import date, datetime, time, timedelta

import openpyxl  # type: ignore[import-untyped]
import pytest
from openpyxl.comments import Comment  # type: ignore[import-untyped]
from pptx import Presentation

from agent.uploads.documents.child import CUT, NO_TEXT, SLOW, Bounds, convert_document
from agent.uploads.documents.kinds import DocumentKind, explain_unsupported, kind_of
from agent.uploads.documents.number_format import show_value
from agent.uploads.documents.report import (
    DAMAGED,
    HEADINGS,
    LOCKED,
    MACROS,
    DocumentHeading,
    MarkdownWriter,
    Report,
    TableSummary,
)
from agent.uploads.documents.tables import (
    CELL,
    COLUMNS,
    FIELD,
    MAX_ROWS_READ,
    ROWS,
    SAMPLE_CELL,
    SAMPLE_COLUMNS,
    cell,
    guess_delimiter,
    table,
)
from agent.uploads.documents.workbook import FORMULAS, SHEETS
from agent.uploads.documents.workbook_parts import UNREADABLE
from tests.harness import documents

pytestmark = pytest.mark.may_block
BOUNDS = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=1_000_000)


def read(kind: DocumentKind, content: bytes, bounds: Bounds = BOUNDS) -> tuple[Report, str]:
    """The report, and the Markdown, of a document that is read here."""
    target = io.BytesIO()
    report = convert_document(kind, io.BytesIO(content), target, bounds)
    return report, target.getvalue().decode()


def text_of(kind: DocumentKind, content: bytes) -> str:
    report, text = read(kind, content)
    assert report.problem == "", report
    assert report.lines == len(text.splitlines())
    return text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.pdf", DocumentKind.PDF),
        ("A.PDF", DocumentKind.PDF),
        ("a.b.docx", DocumentKind.WORD),
        ("a.docm", DocumentKind.WORD),
        ("a.xlsm", DocumentKind.WORKBOOK),
        ("a.xls", DocumentKind.OLD_WORKBOOK),
        ("a.pptx", DocumentKind.SLIDES),
        ("a.tsv", DocumentKind.DELIMITED),
        ("a.htm", DocumentKind.WEB),
        ("a.md", None),
        ("pdf", None),
        (".pdf", None),
        ("a.pdf.txt", None),
    ],
)
def test_documents_are_known_by_their_ending(name: str, kind: DocumentKind | None) -> None:
    assert kind_of(name) is kind
    assert explain_unsupported(name) is None


def test_other_formats_are_told_what_helps() -> None:
    assert (
        explain_unsupported("Letter.DOC")
        == ".doc files can't be read here; save the document as .docx and send it again."
    )
    assert kind_of("Letter.DOC") is None
    assert (
        explain_unsupported("talk.odp")
        == ".odp files can't be read here; save the document as .pptx and send it again."
    )


def test_a_workbook_is_a_table_for_each_sheet() -> None:
    sums = [["sum"], ["=SUM(A1:A3)"], [None], [True]]
    content = documents.workbook(Sales=documents.SALES, Empty=[], Sums=sums)
    report, text = read(DocumentKind.WORKBOOK, content)
    assert text == (
        "## Sheet: Sales\n\n"
        "| month | region | revenue |\n| --- | --- | --- |\n"
        "| 2026-01-31 | North | 1200.5 |\n| 2026-02-28 | North | 1500 |\n| 2026-02-28 | South | 900 |\n\n"
        "## Sheet: Empty\n\n(empty)\n\n"
        "## Sheet: Sums\n\n| sum |\n| --- |\n| =SUM(A1:A3) |\n| TRUE |\n\n"
    )
    assert report.headings == [
        DocumentHeading("Sheet: Sales", 1),
        DocumentHeading("Sheet: Empty", 9),
        DocumentHeading("Sheet: Sums", 13),
    ]
    assert report.notes == []


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.075, "0.0%", "7.5%"),
        (0.005, "0.00 %", "0.50 %"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (1234.5, '_-* #,##0.00 "€"_-', "1,234.50 €"),
        (-1234.5, "$#,##0.00;($#,##0.00)", "($1,234.50)"),
        (-5, "#,##0", "-5"),
        (0, '0;-0;"-"', "-"),
        (1234, "00000", "01234"),
        (123456789, "000-00-0000", "123-45-6789"),
        (1234567, '#,##0.0,,"M"', "1.2M"),
        (1.5, "0.##", "1.5"),
        (2.675, "0.00", "2.68"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.5, "# ?/?", "0.5"),
        (5, "[<10]0;0.0", "5"),
        (1234.5, "General", "1234.5"),
        (True, "0%", "TRUE"),
        ("01234", "@", "01234"),
        (timedelta(hours=27, minutes=30), "[h]:mm", "27:30"),
        (timedelta(hours=27, minutes=30), "[h]:mm:ss", "27:30:00"),
        (timedelta(minutes=90), "[mm]:ss", "90:00"),
        (time(18), "h:mm", "18:00"),
        (time(18), "h:mm AM/PM", "6:00 PM"),
        (datetime(2026, 1, 31, 8, 30), "dd.mm.yyyy hh:mm", "2026-01-31 08:30:00"),
        (datetime(2026, 1, 31), "d/m/yy", "2026-01-31"),
    ],
)
def test_cells_are_read_as_they_are_shown(value: object, code: str, shown: str) -> None:
    assert cell(show_value(value, code)) == shown
    book = openpyxl.load_workbook(io.BytesIO(documents.workbook(A=[[value]])))
    book["A"]["A1"].number_format = code
    file = io.BytesIO()
    book.save(file)
    assert text_of(DocumentKind.WORKBOOK, file.getvalue()).splitlines()[2] == f"| {shown} |"


def test_comments_links_and_headers_of_sheets_are_listed() -> None:
    book = openpyxl.load_workbook(io.BytesIO(documents.workbook(A=[["x", "y"]])))
    book["A"]["A1"].comment = Comment("why", "Ada")
    book["A"]["B1"].hyperlink = "https://x.test/"
    book["A"].oddHeader.center.text = "Draft &P"
    file = io.BytesIO()
    book.save(file)
    report, text = read(DocumentKind.WORKBOOK, file.getvalue())
    assert report.notes == []
    around = "Comment at A1 by Ada: why\n\nLink at B1: https://x.test/\n\nHeader: Draft\n\n"
    assert text.endswith(f"| x | y |\n| --- | --- |\n\n{around}")
    comments = "xl/comments/comment1.xml"
    part = documents.part(file.getvalue(), comments).replace("<author>Ada</author>", "")
    without_author = documents.rewritten(file.getvalue(), {comments: part})
    assert "Comment at A1: why\n" in text_of(DocumentKind.WORKBOOK, without_author)
    broken = documents.rewritten(file.getvalue(), {comments: part.replace("</comments>", "")})
    shown = text_of(DocumentKind.WORKBOOK, broken)
    assert UNREADABLE in shown and "Link at B1" in shown


def test_a_stored_value_stands_for_its_formula() -> None:
    content = documents.workbook(One=[["sum"], ["=1+1"]])
    sheet = documents.part(content, "xl/worksheets/sheet1.xml")
    assert "<f>1+1</f><v" in sheet
    calculated = re.sub(r"<f>1\+1</f>(<v ?/>|<v></v>)", "<f>1+1</f><v>2</v>", sheet)
    calculated_book = documents.rewritten(content, {"xl/worksheets/sheet1.xml": calculated})
    report, text = read(DocumentKind.WORKBOOK, calculated_book)
    assert report.notes == [FORMULAS]
    assert "| 2 |" in text
    assert "1+1" not in text


def test_long_and_wide_sheets_are_cut_and_say_so() -> None:
    rows = [[f"c{number}" for number in range(COLUMNS + 5)], *([number] for number in range(ROWS + 50))]
    report, text = read(DocumentKind.WORKBOOK, documents.workbook(Long=rows, Short=[["a"]]))
    assert f"| {ROWS - 1} |" in text
    assert f"| {ROWS} |" not in text
    assert f"c{COLUMNS - 1} |" in text
    assert f"c{COLUMNS} " not in text
    assert f"(Only the first {ROWS:,} rows; the file itself contains more.)" in text
    assert [note.partition(" are")[0] for note in report.notes] == ["Longer tables", "Wider tables"]
    assert "## Sheet: Short\n\n| a |" in text


def test_only_so_many_sheets() -> None:
    sheets = {f"s{number}": [[number]] for number in range(SHEETS + 2)}
    report, text = read(DocumentKind.WORKBOOK, documents.workbook(**sheets))
    assert text.count("## Sheet: ") == SHEETS
    assert report.notes == ["Only the first 50 of 52 sheets are included; the file itself contains all."]


def test_an_old_workbook_is_read_too() -> None:
    text = text_of(
        DocumentKind.OLD_WORKBOOK, documents.old_workbook([["name", "count"], ["Zoë", 3.0], ["Bo", 2.5]])
    )
    assert text.endswith("| name | count |\n| --- | --- |\n| Zoë | 3 |\n| Bo | 2.5 |\n\n")
    assert text.startswith("## Sheet: ")


@pytest.mark.parametrize(
    ("content", "first"),
    [
        (b"a,b\n1,2\n", "| a | b |"),
        ("ü;x\n1,5;2,5\n".encode(), "| ü | x |"),
        ("\ufeffa;b\n1;2\n".encode(), "| a | b |"),
        ("a\tb\n1\t2\n".encode("utf-16"), "| a | b |"),
        ("größe,b\n1,2\n".encode("cp1252"), "| größe | b |"),
        ("姓名,金额\n张三,100\n".encode("gbk"), "| 姓名 | 金额 |"),
        ("姓名,金額\n王小明,100\n".encode("big5"), "| 姓名 | 金額 |"),
        ("名前,金額\n田中,100\n".encode("cp932"), "| 名前 | 金額 |"),
        ("이름,금액\n김철수,100\n".encode("euc-kr"), "| 이름 | 금액 |"),
        ("имя;сумма\nИванов;100\n".encode("cp1251"), "| имя | сумма |"),
        ("miasto;kwota\nŁódź;5\n".encode("cp1250"), "| miasto | kwota |"),
        ("a;b\n1;2\n".encode("utf-16-le"), "| a | b |"),
        (b"sep=;\na,b;c\n", "| a,b | c |"),
        (b'\xef\xbb\xbf"sep=|"\r\na;b|c\r\n', "| a;b | c |"),
        ("SEP=\t\na;b\tc\n".encode("utf-16"), "| a;b | c |"),
        (b'a,b\n"x,\ny",2\n', "| a | b |"),
        (b"a|b\n1|2\n", "| a | b |"),
        (b"one\ntwo\n", "| one |"),
    ],
)
def test_delimited_tables(content: bytes, first: str) -> None:
    assert text_of(DocumentKind.DELIMITED, content).splitlines()[0] == first


def test_what_splits_fields() -> None:
    assert guess_delimiter([]) == ","
    assert guess_delimiter(["a;b", "c,d;e"]) == ";"
    assert guess_delimiter(["a,b,c", "a,b"]) == ","
    assert guess_delimiter(["Sales, by region", "a;b;c", "1,5;2,5;x", "2;3;y"]) == ";"


def test_a_long_table_is_cut() -> None:
    report, text = read(
        DocumentKind.DELIMITED, b"n\n" + b"".join(b"%d\n" % number for number in range(ROWS + 1))
    )
    assert len(text.splitlines()) == ROWS + 5
    assert report.notes == ["Longer tables are cut off after 1,000 rows; the file itself contains all rows."]


def test_tables_are_summarized() -> None:
    rows = [["Name", "Sum"], ["", ""], ["Zoë | x", 3], *([["y", 1]] * 3)]
    summary = TableSummary("Sheet: Q1", 5, 2, "", ["Name | Sum", "Zoë \\| x | 3", "y | 1", "y | 1"])
    assert read(DocumentKind.WORKBOOK, documents.workbook(Q1=rows))[0].tables == [summary]
    old = documents.old_workbook([["Name", "Sum"], ["Zoë", 3.0]])
    [table_of_old] = read(DocumentKind.OLD_WORKBOOK, old)[0].tables
    assert (table_of_old.rows, table_of_old.columns) == (2, 2)
    text = "a\tb\n1\t2\n\n3\t4\n".encode("utf-16")
    [delimited] = read(DocumentKind.DELIMITED, text)[0].tables
    assert delimited == TableSummary("", 3, 2, "delimiter tab, encoding UTF-16", ["a | b", "1 | 2", "3 | 4"])


def test_samples_of_tables_are_short() -> None:
    wide = [["x" * 100] * 30] * 4
    tables = read(DocumentKind.WORKBOOK, documents.workbook(**{f"s{number}": wide for number in range(4)}))[
        0
    ].tables
    line = " | ".join([f"{'x' * (SAMPLE_CELL - 1)}…"] * SAMPLE_COLUMNS + ["…"])
    assert tables[0].sample == [line] * 4
    assert [bool(one.sample) for one in tables] == [True, False, False, False]
    assert all(one.columns == 30 for one in tables)


def test_rows_of_a_long_table_are_counted() -> None:
    content = b"n\n" + b"1\n\n" * (ROWS + 500)
    [summary] = read(DocumentKind.DELIMITED, content)[0].tables
    assert (summary.rows, summary.is_estimate) == (ROWS + 501, False)
    broken = content + b'"' + b"x" * (FIELD + 1) + b'"\n'
    [summary] = read(DocumentKind.DELIMITED, broken)[0].tables
    assert (summary.rows, summary.is_estimate) == (ROWS + 2, True)
    sparse = b"n\n" + b"1\n" * 10 + b"\n" * MAX_ROWS_READ + b"2\n" * 30
    report, text = read(DocumentKind.DELIMITED, sparse)
    assert (report.tables[0].rows, report.tables[0].is_estimate) == (41, False)
    assert "the file itself may contain more" in text
    sheet = documents.workbook(A=[["n"], *([[1]] * (ROWS + 500))])
    [summary] = read(DocumentKind.WORKBOOK, sheet)[0].tables
    assert (summary.rows, summary.is_estimate) == (ROWS + 501, True)


def test_pages_are_named_by_a_line_of_their_own() -> None:
    pages = [f"ACME Ltd.\n{number}\nChapter {'abcd'[number]}" for number in range(4)]
    report, text = read(DocumentKind.PDF, documents.pdf(*pages, "", "ACME Ltd.", bookmarks={"Start": 0}))
    titles = [heading.title for heading in report.headings]
    assert titles[0] == "Page 1: Start"
    assert titles[1:] == ["Page 2: Chapter b", "Page 3: Chapter c", "Page 4: Chapter d", "Page 5", "Page 6"]
    assert "## Page 2\n" in text
    long = read(DocumentKind.PDF, documents.pdf("word " * 40))[0].headings[0].title
    assert long == f"Page 1: {('word ' * 16).strip()}…"


def test_a_word_document() -> None:
    row = "<w:tr>{}</w:tr>".format(
        "".join(f"<w:tc>{documents.paragraph(text)}</w:tc>" for text in ("k", "v"))
    )
    body = "".join(
        [
            documents.paragraph("Contract", "Heading1"),
            documents.paragraph("Either party may leave."),
            documents.paragraph("Costs", "Heading2"),
            f"<w:tbl>{row}{row}</w:tbl>",
        ]
    )
    report, text = read(DocumentKind.WORD, documents.word(body))
    assert text.startswith("# Contract\n\nEither party may leave.\n\n## Costs\n\n| k | v |\n| --- | --- |\n")
    assert [heading.title for heading in report.headings] == ["Contract", "Costs"]


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
WORDS = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def test_formulas_headers_and_raised_characters_of_a_word_document() -> None:
    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    formula = (
        f"<m:oMath {MATH}><m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>{run('=')}"
        f"<m:f><m:num>{run('a')}</m:num><m:den>{run('b+1')}</m:den></m:f></m:oMath>"
    )
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r>'
    body = (
        f"<w:p><w:r><w:t>For </w:t></w:r>{formula}<w:r><w:t>, 10</w:t></w:r>{raised}</w:p>"
        f"<w:p><m:oMathPara {MATH}>{formula}</m:oMathPara></w:p>"
    )
    header = f"<w:hdr {WORDS}><w:p><w:r><w:t>Draft of May</w:t></w:r></w:p></w:hdr>"
    text = text_of(DocumentKind.WORD, documents.word(body))
    assert text == "For x²=a/(b+1), 10⁶\n\nx²=a/(b+1)\n"
    with_header = documents.rewritten(documents.word(body), {"word/header1.xml": header})
    assert text_of(DocumentKind.WORD, with_header).endswith("\nHeader: Draft of May\n\n")


def test_links_raised_characters_and_hidden_slides() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Costs"
    frame = slide.placeholders[1].text_frame
    for text in ("10", "6", " see ", "plan"):
        frame.paragraphs[0].add_run().text = text
    runs = frame.paragraphs[0].runs
    runs[1].font._element.set("baseline", "30000")
    runs[3].hyperlink.address = "https://x.test/plan"
    slide.element.set("show", "0")
    file = io.BytesIO()
    deck.save(file)
    text = text_of(DocumentKind.SLIDES, file.getvalue())
    assert text == "## Slide 1: Costs (hidden)\n\n- 10⁶ see [plan](https://x.test/plan)\n\n"


def test_macros_are_noted_and_nothing_else() -> None:
    content = documents.word(documents.paragraph("Hello"), word__vbaProject="x")
    assert read(DocumentKind.WORD, content)[0].notes == []
    macros = documents.rewritten(content, {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0"})
    report, text = read(DocumentKind.WORD, macros)
    assert (report.notes, text) == ([MACROS], "Hello\n")
    book = documents.rewritten(documents.workbook(A=[["x"]]), {"xl/vbaProject.bin": b"x"})
    assert read(DocumentKind.WORKBOOK, book)[0].notes == [MACROS]


def test_slides() -> None:
    report, text = read(DocumentKind.SLIDES, documents.slides())
    assert text.startswith(
        "## Slide 1: Plan for 2027\n\n- Grow\n  - in the North\n\nNotes: Say it slowly.\n\n"
    )
    assert "| who | what |\n| --- | --- |\n| Ada | a\\|b |\n" in text
    assert "Chart\n\n|  | Sales |\n| --- | --- |\n| Q1 | 1.5 |\n| Q2 | 2 |\n" in text
    assert "- in a group\n" in text
    assert [heading.title for heading in report.headings] == ["Slide 1: Plan for 2027", "Slide 2"]


def test_a_pdf_file() -> None:
    content = documents.pdf("First line\nsecond", "", "Third page", bookmarks={"The end": 2, "again": 2})
    report, text = read(DocumentKind.PDF, content)
    assert text == (
        "## Page 1\n\nFirst line\nsecond\n\n## Page 2\n\n(no text)\n\n## Page 3: The end\n\nThird page\n\n"
    )
    assert report.headings[-1] == DocumentHeading("Page 3: The end", 10)


def test_a_scan_says_that_it_has_no_text() -> None:
    assert read(DocumentKind.PDF, documents.pdf("", ""))[0].problem.startswith("It contains only pictures")


def test_a_web_page() -> None:
    page = b"""<html><head><title>News &amp; more</title><style>p {}</style></head>
    <body><script>alert(1)</script><h2>Today</h2>
    <p>Rain, <b>much</b> of it <img src="data:x" alt="(a cloud)">.</p>
    <table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table></body></html>"""
    report, text = read(DocumentKind.WEB, page)
    assert text.startswith("# News & more\n\n## Today\n\nRain, **much** of it (a cloud).\n\n| a | b |\n")
    assert "alert" not in text
    assert "data:" not in text
    assert [heading.line for heading in report.headings] == [1, 3]
    assert read(DocumentKind.WEB, b"<title>x</title><h1>Own</h1>")[1] == "# Own\n"
    assert read(DocumentKind.WEB, b"<head><title>x</title><body><p>no end")[1] == "# x\n\nno end\n"


@pytest.mark.parametrize("kind", [DocumentKind.WORD, DocumentKind.WEB, DocumentKind.PDF])
def test_nothing_at_all(kind: DocumentKind) -> None:
    content = {DocumentKind.WORD: documents.word(""), DocumentKind.WEB: b"<p></p>", DocumentKind.PDF: b""}[
        kind
    ]
    report, text = read(kind, content)
    assert report.problem == (DAMAGED if kind is DocumentKind.PDF else NO_TEXT)
    assert text == ""


@pytest.mark.parametrize("kind", list(DocumentKind))
def test_bytes_that_are_something_else(kind: DocumentKind) -> None:
    report, _ = read(kind, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 9)
    if kind not in {DocumentKind.WEB, DocumentKind.PICTURE}:
        assert report.problem in {DAMAGED, "It is not a text file, despite its name."}


def test_what_is_locked() -> None:
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600
    for kind in (DocumentKind.WORD, DocumentKind.SLIDES, DocumentKind.WORKBOOK):
        assert read(kind, container)[0].problem == LOCKED
    assert read(DocumentKind.PDF, documents.pdf("x", password="secret"))[0].problem == LOCKED
    flagged = bytearray(documents.workbook(A=[["x"]]))
    central = flagged.index(b"PK\x01\x02")
    flagged[central + 8] |= 1
    assert read(DocumentKind.WORKBOOK, bytes(flagged))[0].problem == LOCKED


def test_the_beginning_of_a_document_that_is_too_long() -> None:
    bounds = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=100)
    report, text = read(DocumentKind.PDF, documents.pdf("one " * 9, "two " * 9, "three"), bounds)
    assert report.notes == [CUT]
    assert len(text.encode()) <= 100
    assert text.startswith("## Page 1\n\none one")
    assert text.endswith("\n"), "no half line"


def test_the_beginning_of_a_document_that_takes_too_long() -> None:
    bounds = Bounds(seconds=60, soft_seconds=0, memory=0, markdown=1_000)
    ticks = iter(range(99))
    target = io.BytesIO()
    content = io.BytesIO(documents.pdf("one", "two", "three"))
    report = convert_document(DocumentKind.PDF, content, target, bounds, clock=lambda: next(ticks))
    assert report.notes == [SLOW]
    assert target.getvalue() == b"## Page 1\n\none\n\n"


def test_cells() -> None:
    values = [None, True, 1.0, 0.1, 1e21, date(2026, 3, 1), " a\n b | c ", "x" * (CELL + 1)]
    shown = ["", "TRUE", "1", "0.1", "1e+21", "2026-03-01", "a b \\| c", "x" * (CELL - 1) + "…"]
    assert [cell(value) for value in values] == shown
    assert table([]) == table([[None, ""]]) == ""
    assert table([["a", None], [None, None, 3]]) == "| a |  |  |\n| --- | --- | --- |\n|  |  | 3 |\n"


def test_headings_are_counted_up_to_a_number() -> None:
    writer = MarkdownWriter(io.BytesIO(), 100_000)
    assert writer.write("".join(f"# h{number}\n\n" for number in range(HEADINGS + 5)))
    assert writer.write("#hash\n####### seven\n   # indented\n\ud800\n")
    assert len(writer.headings) == HEADINGS
    assert writer.headings[-1] == DocumentHeading(f"h{HEADINGS - 1}", 2 * HEADINGS - 1)
    assert writer.lines == 2 * (HEADINGS + 5) + 4
