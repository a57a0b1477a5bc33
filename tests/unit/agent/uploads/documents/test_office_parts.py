"""Parts of Office files that their readers ignore, including damaged ones."""

from __future__ import annotations

import pytest

from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.office_parts import EMBEDDED, MEDIA, list_omissions, render_chart
from tests.harness import documents
from tests.unit.agent.uploads.documents.test_readers import read, text_of

pytestmark = pytest.mark.may_block


@pytest.mark.parametrize(
    ("names", "notes"),
    [
        (["ppt/embeddings/sheet1.xlsx", "ppt/charts/_rels/chart1.xml.rels"], []),
        (["word/embeddings/a.bin"], [EMBEDDED]),
        (["xl/embeddings/a.bin", "xl/embeddings/b.bin", "xl/charts/_rels/chart1.xml.rels"], [EMBEDDED]),
        (["ppt/media/media1.MP4", "ppt/media/image1.png"], [MEDIA]),
    ],
)
def test_embedded_files_and_media_are_noted(names: list[str], notes: list[str]) -> None:
    assert list_omissions(names) == notes
    content = documents.rewritten(documents.word(documents.paragraph("Hi")), dict.fromkeys(names, b"<x/>"))
    assert read(DocumentKind.WORD, content)[0].notes == notes


@pytest.mark.parametrize("part", ["", "<c", "<c><ser><val><pt idx='x'><v>1</v></pt></val></ser></c>"])
def test_a_damaged_part_keeps_the_text_readable(part: str) -> None:
    parts = {f"word/{name}.xml": part for name in ("charts/chart1", "header1", "diagrams/data1")}
    text = text_of(DocumentKind.WORD, documents.rewritten(documents.word(documents.paragraph("Hi")), parts))
    assert text.startswith("Hi\n")
    assert "Chart: (can't be read)" in text


def test_chart_values_are_in_their_display_format() -> None:
    def points(*values: str, code: str = "") -> str:
        entries = "".join(f"<pt idx='{number}'><v>{value}</v></pt>" for number, value in enumerate(values))
        return f"<x>{f'<formatCode>{code}</formatCode>' if code else ''}{entries}</x>"

    title = "<title><t>Sales</t></title><title><t>Month</t></title>"
    values = f"<val>{points('0.075', '0.5', code='0.0%')}</val>"
    series = f"<ser><tx>{points('North')}</tx><cat>{points('May', 'June')}</cat>{values}</ser>"
    bare = f"<ser><tx><v>South</v></tx><val>{points('7')}</val></ser>"
    chart = render_chart(f"<chart>{title}{series}{bare}</chart>".encode())
    assert chart == (
        "Chart: Sales; Month\n\n|  | North | South |\n| --- | --- | --- |\n"
        "| May | 7.5% | 7 |\n| June | 50.0% |  |\n"
    )
