"""Documents saved by LibreOffice, with unique words in every place where a format stores text."""

from __future__ import annotations

import io
import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.uploads.documents.kinds import DocumentKind
from tests.harness.document_corpus import (
    Facts,
    Sample,
    Writer,
    write_docx,
    write_pptx,
    write_xlsx_openpyxl,
    write_xlsx_xlsxwriter,
)


def write_fodt(facts: Facts) -> bytes:
    """An OpenDocument text in a single file, with notes, headings, frames and comments."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
        for name, place in (
            ("office", "office"),
            ("text", "text"),
            ("table", "table"),
            ("style", "style"),
            ("draw", "drawing"),
            ("svg", "svg-compatible"),
        )
    )

    def paragraph(place: str) -> str:
        return f"<text:p>{facts.words(place, 4)}</text:p>"

    def note(kind: str) -> str:
        body = f"<text:note-citation>1</text:note-citation><text:note-body>{paragraph(kind)}</text:note-body>"
        return f'<text:note text:note-class="{kind}">{body}</text:note>'

    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
    rows = "".join(
        f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in facts.rows("table")
    )
    items = "".join(f"<text:list-item>{paragraph('list')}</text:list-item>" for _ in range(3))
    comment = (
        '<office:annotation><dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"{facts.word('author of a comment')}</dc:creator>{paragraph('comment')}</office:annotation>"
    )
    frame = f"<draw:frame svg:width='5cm'><draw:text-box>{paragraph('text box')}</draw:text-box></draw:frame>"
    address = f"https://x.test/{facts.word('address of a link')}"
    space = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
    link = f'<text:a {space} xlink:href="{address}">{facts.word("link")}</text:a>'
    return f"""<?xml version="1.0"?><office:document {spaces} office:version="1.2"
        office:mimetype="application/vnd.oasis.opendocument.text">
    <office:automatic-styles><style:page-layout style:name="L"><style:header-style/><style:footer-style/>
    </style:page-layout></office:automatic-styles>
    <office:master-styles><style:master-page style:name="Standard" style:page-layout-name="L">
    <style:header>{paragraph("header")}</style:header><style:footer>{paragraph("footer")}</style:footer>
    </style:master-page></office:master-styles>
    <office:body><office:text>
    <text:h text:outline-level="1">{facts.words("heading", 3)}</text:h>
    <text:p>{facts.words("paragraph", 40)}{note("footnote")}{note("endnote")}{comment}</text:p>
    <text:p>{frame}{facts.word("after a frame")} {link}</text:p>
    <text:list>{items}</text:list>
    <table:table><table:table-column table:number-columns-repeated="3"/>{rows}</table:table>
    <text:p>Figure <text:sequence text:name="F" text:formula="ooow:F+1">{facts.number + 7}</text:sequence>
    {facts.word("caption")}</text:p></office:text></office:body></office:document>""".encode()


_SAVED: Sequence[tuple[Writer, str, str, DocumentKind]] = (
    (write_fodt, "fodt", "docx", DocumentKind.WORD),
    (write_docx, "docx", "docx", DocumentKind.WORD),
    (write_xlsx_openpyxl, "xlsx", "xlsx", DocumentKind.WORKBOOK),
    (write_xlsx_xlsxwriter, "xlsx", "xlsx", DocumentKind.WORKBOOK),
    (write_xlsx_openpyxl, "xlsx", "xls", DocumentKind.OLD_WORKBOOK),
    (write_xlsx_xlsxwriter, "xlsx", "xls", DocumentKind.OLD_WORKBOOK),
    (write_pptx, "pptx", "pptx", DocumentKind.SLIDES),
    (write_fodt, "fodt", "pdf", DocumentKind.PDF),
    (write_docx, "docx", "pdf", DocumentKind.PDF),
    (write_xlsx_openpyxl, "xlsx", "pdf", DocumentKind.PDF),
)


def make_office_samples(count: int, folder: Path) -> Iterator[Sample]:
    """`count` documents saved by LibreOffice for each entry of `_SAVED`, with the facts that it preserved."""
    for write, source, target, kind in _SAVED:
        sources, saved = folder / f"{write.__name__}-{target}", folder / f"{write.__name__}-{target}-saved"
        sources.mkdir()
        facts = [Facts(number) for number in range(count)]
        for one in facts:
            (sources / f"{one.number}.{source}").write_bytes(write(one))
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless"]
        command += ["--convert-to", target, "--outdir", str(saved)]
        files = sorted(map(str, sources.iterdir()))
        subprocess.run([*command, *files], check=True, capture_output=True)
        for one in facts:
            content = (saved / f"{one.number}.{target}").read_bytes()
            raw = _read_raw(content)
            facts_in_file = [
                (place, text) for place, text in one.entries if all(word in raw for word in text.split())
            ]
            yield Sample(
                kind, f"LibreOffice, of {write.__name__.removeprefix('write_')}", content, facts_in_file
            )


def _read_raw(content: bytes) -> str:
    """All text and web addresses in the parts of an Office file, or the text of a PDF or .xls file."""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
            raw = "".join(archive.read(name).decode() for name in names)
        return re.sub("<[^>]*>", "", raw) + " ".join(re.findall('"(https?:[^"]*)"', raw))
    if content.startswith(b"%PDF"):
        import pypdfium2  # type: ignore[import-untyped]

        document = pypdfium2.PdfDocument(content)
        return " ".join(page.get_textpage().get_text_bounded() for page in document)
    return content.decode("latin-1") + content.decode("utf-16-le", "ignore")
