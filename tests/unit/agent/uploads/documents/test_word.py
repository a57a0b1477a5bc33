"""Text of Word documents that mammoth ignores: automatic numbers, text boxes, fields, ruby text."""

from __future__ import annotations

import io
import zipfile

import pytest

from agent.uploads.documents.kinds import DocumentKind
from tests.harness import documents
from tests.unit.agent.uploads.documents.test_readers import read, text_of

pytestmark = pytest.mark.may_block
SPACE = f'xmlns:w="{documents.MAIN}"'
DRAWN = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
)

BOX = f"<w:txbxContent>{documents.paragraph('Ada')}</w:txbxContent>"


def numbered(text: str, level: int = 0, instance: int = 1) -> str:
    place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{instance}"/></w:numPr>'
    return f"<w:p><w:pPr>{place}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def word(body: str, *levels: tuple[str, str, int], instances: str = "", styles: str = "") -> bytes:
    """A Word document with a list of these levels (format, text, start)."""
    entries = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for at, (form, text, start) in enumerate(levels)
    )
    numbering = (
        f'<w:numbering {SPACE}><w:abstractNum w:abstractNumId="7">{entries}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>{instances}</w:numbering>'
    )
    parts = {"word/numbering.xml": numbering, "word/styles.xml": f"<w:styles {SPACE}>{styles}</w:styles>"}
    return documents.rewritten(documents.word(body), parts)


def lines_of(content: bytes) -> list[str]:
    return [line for line in text_of(DocumentKind.WORD, content).splitlines() if line]


def test_a_list_continues_after_a_paragraph() -> None:
    body = numbered("a") + numbered("b") + documents.paragraph("between") + numbered("c")
    assert lines_of(word(body, ("decimal", "%1.", 1))) == ["1. a", "2. b", "between", "3. c"]


def test_levels_count_separately() -> None:
    levels = [("upperRoman", "Part %1", 1), ("decimal", "%1.%2", 3), ("lowerLetter", "(%3)", 1)]
    steps = [0, 1, 2, 2, 1, 2, 0, 1]
    lines = lines_of(word("".join(numbered("x", level) for level in steps), *levels))
    assert lines == ["Part I x", "I.3 x", "(a) x", "(b) x", "I.4 x", "(a) x", "Part II x", "II.3 x"]


@pytest.mark.parametrize(
    ("form", "start", "number"),
    [
        ("decimalZero", 7, "07"),
        ("lowerLetter", 27, "aa"),
        ("upperLetter", 26, "Z"),
        ("lowerRoman", 1994, "mcmxciv"),
        ("chineseCounting", 3, "3"),
    ],
)
def test_number_formats(form: str, start: int, number: str) -> None:
    assert lines_of(word(numbered("x"), (form, "%1.", start))) == [f"{number}. x"]


def test_an_instance_can_override_the_start() -> None:
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    instance = f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{override}</w:num>'
    body = numbered("a") + numbered("b", instance=2) + numbered("c", instance=2)
    assert lines_of(word(body, ("decimal", "%1.", 1), instances=instance)) == ["1. a", "5. b", "6. c"]


def test_headings_are_numbered_by_their_styles() -> None:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{at + 1}"><w:name w:val="heading {at + 1}"/><w:pPr>'
        f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        for at in range(2)
    )
    body = documents.paragraph("Costs", "Heading1") + documents.paragraph("Rent", "Heading2")
    content = word(body, ("decimal", "%1.", 2), ("decimal", "%1.%2", 1), styles=styles)
    assert lines_of(content) == ["# 2. Costs", "## 2.1 Rent"]
    assert read(DocumentKind.WORD, content)[0].notes == []


def test_parts_in_reverse_order_without_compression() -> None:
    plain = word(numbered("a") * 9, ("decimal", "%1.", 1), styles=" " * 9_000)
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        parts = sorted(((name, archive.read(name)) for name in archive.namelist()), reverse=True)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts:
            archive.writestr(name, content)
    assert lines_of(file.getvalue())[-1] == "9. a"


def test_bullets_stay_bullets() -> None:
    assert lines_of(word(numbered("a") + numbered("b"), ("bullet", "•", 1))) == ["- a", "- b"]


@pytest.mark.parametrize(
    "inner",
    [
        '<w:fldSimple w:instr="AUTHOR"><w:r><w:t>Ada</w:t></w:r></w:fldSimple>',
        '<w:bdo w:val="ltr"><w:r><w:t>Ada</w:t></w:r></w:bdo>',
        f"<w:r><w:drawing {DRAWN}><wp:inline>{BOX}</wp:inline></w:drawing></w:r>",
        f"<w:r><mc:AlternateContent {DRAWN}><mc:Choice><w:drawing>{BOX}</w:drawing></mc:Choice><mc:Fallback/>"
        "</mc:AlternateContent></w:r>",
        f"<w:r><mc:AlternateContent {DRAWN}><mc:Choice>{BOX}</mc:Choice><mc:Fallback><w:pict>{BOX}</w:pict>"
        "</mc:Fallback></mc:AlternateContent></w:r>",
    ],
    ids=["field", "direction", "drawing", "alternative", "both alternatives"],
)
def test_text_inside_unsupported_elements(inner: str) -> None:
    body = f"<w:p><w:r><w:t>By</w:t></w:r></w:p><w:p>{inner}</w:p>"
    assert lines_of(documents.word(body)) == ["By", "Ada"]


def test_line_breaks_of_both_kinds_separate_lines() -> None:
    body = "<w:p><w:r><w:t>stop</w:t><w:cr/><w:t>start</w:t><w:br/><w:t>end</w:t></w:r></w:p>"
    assert lines_of(documents.word(body)) == ["stop  ", "start  ", "end"]


def test_ruby_text_follows_its_base() -> None:
    def run(text: str) -> str:
        return f"<w:r><w:t>{text}</w:t></w:r>"

    ruby = f"<w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby>"
    assert lines_of(documents.word(f"<w:p><w:r>{ruby}</w:r></w:p>")) == ["漢字(かんじ)"]
