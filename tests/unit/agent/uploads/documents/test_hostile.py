"""Documents that were made to do harm end in a clear line, within their limits."""

from __future__ import annotations

import asyncio
import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from agent.uploads.documents import limited_child
from agent.uploads.documents.child import CUT, NESTED, TOO_LARGE
from agent.uploads.documents.converter import BUSY, NOT_STARTED, TOO_SLOW, Converter, ConvertLimits
from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.office import PARTS
from agent.uploads.documents.report import DAMAGED, Report
from tests.harness import documents
from tests.unit.agent.uploads.documents.test_readers import read

BOMB = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&a;&a;&a;&a;&a;&a;&a;&a;"> {}]>'
OUTSIDE = '<!DOCTYPE b [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
SLOW = b"<table>" + (b"<tr>" + b"<td>x" * 50) * 16_000


def without_head(xml: str) -> str:
    """The XML without the line that says what it is."""
    return xml.partition("?>")[2] if xml.startswith("<?xml") else xml


def reading() -> list[psutil.Process]:
    """The processes of ours that read documents."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "agent.uploads.documents.child" in child.cmdline():
                found.append(child)
    return found


def entity(declaration: str, encoding: str = "utf-8") -> bytes:
    """A Word document whose text is an entity."""
    head, _, rest = documents.part(documents.word(documents.paragraph("&a;")), "word/document.xml").partition(
        "?>"
    )
    text = f'{head} encoding="{encoding}"?><!-- {"x" * 100_000} -->{declaration}{rest}'
    return documents.rewritten(documents.word(""), {"word/document.xml": text.encode(encoding)})


@pytest.mark.may_block
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("declaration", [BOMB.format('<!ENTITY d "&c;&c;&c;">'), OUTSIDE])
def test_entities_are_refused_wherever_they_hide(declaration: str, encoding: str) -> None:
    report, text = read(DocumentKind.WORD, entity(declaration, encoding))
    assert report.problem == "It declares XML entities, which no legitimate document does."
    assert text == ""
    for kind, document, name in (
        (DocumentKind.WORKBOOK, documents.workbook(A=[["x"]]), "xl/worksheets/sheet1.xml"),
        (DocumentKind.SLIDES, documents.slides(), "ppt/slides/slide1.xml"),
    ):
        changed = declaration + without_head(documents.part(document, name))
        hostile = documents.rewritten(document, {name: changed})
        assert read(kind, hostile)[0].problem == report.problem


@pytest.mark.may_block
@pytest.mark.parametrize("content", ["", "<!-- nothing -->"])
def test_a_part_without_an_element_is_no_reason_to_refuse(content: str) -> None:
    document = documents.rewritten(documents.word(documents.paragraph("Hello.")), {"word/more.xml": content})
    report, text = read(DocumentKind.WORD, document)
    assert (report.problem, text.strip()) == ("", "Hello.")


@pytest.mark.may_block
def test_a_zip_bomb_is_not_unpacked() -> None:
    honest = documents.workbook(A=[["x"]])
    told = read(DocumentKind.WORKBOOK, documents.declaring(honest, 400_000_000))[0].problem
    assert told == "Its unpacked size is more than 300 MB."


@pytest.mark.may_block
def test_a_zip_bomb_that_says_less_is_not_unpacked_either() -> None:
    zeros = documents.office({"a.xml": b"<a>" + b" " * 30_000_000})
    assert len(zeros) < 100_000
    lying = documents.declaring(zeros, 1_000)
    assert read(DocumentKind.WORKBOOK, lying)[0].problem == DAMAGED


@pytest.mark.may_block
def test_an_archive_of_very_many_parts() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(PARTS + 1):
            archive.writestr(f"{number}.bin", b"")
    assert read(DocumentKind.SLIDES, file.getvalue())[0].problem == "It contains more than 10,000 parts."


@pytest.mark.may_block
def test_a_sheet_of_huge_dimensions() -> None:
    honest = documents.workbook(A=[["name", "count"], ["a", 1]])
    name = "xl/worksheets/sheet1.xml"
    sheet = documents.part(honest, name)
    far = '<row r="1048576"><c r="XFD1048576"><v>9</v></c></row></sheetData>'
    huge = sheet.replace('ref="A1:B2"', 'ref="A1:XFD1048576"').replace("</sheetData>", far)
    assert huge.count("XFD1048576") == 2
    report, text = read(DocumentKind.WORKBOOK, documents.rewritten(honest, {name: huge}))
    assert "| name | count |\n| --- | --- |\n| a | 1 |" in text
    assert report.problem == ""


@pytest.mark.may_block
def test_endless_formulas_are_not_computed() -> None:
    nested = "=" + "SUM(" * 2_000 + "A1" + ")" * 2_000
    circle = [["=B1", "=A1"], [nested, '=REPT("x",32767)'], ['=HYPERLINK("http://127.0.0.1:1","x")', 1]]
    report, text = read(DocumentKind.WORKBOOK, documents.workbook(A=circle))
    assert report.problem == ""
    assert "| =B1 | =A1 |" in text
    assert '| =HYPERLINK("http://127.0.0.1:1","x") | 1 |' in text
    assert max(map(len, text.splitlines())) < 1_200


@pytest.mark.may_block
@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.7",
        b"%PDF-1.7\n" + b"\x00\xff<<>>[[[(((" * 500,
        documents.pdf("text")[:120],
        documents.pdf("text").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
        documents.pdf("text").replace(b"/Pages 2 0 R", b"/Pages 9 0 R"),
        documents.pdf("text").replace(b"/Count 1", b"/Count 99999999"),
        documents.pdf("text").replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev 9"),
        documents.pdf("text").replace(b"/Length ", b"/Filter /FlateDecode /Length "),
    ],
)
def test_malformed_pdf_files(content: bytes) -> None:
    """They give what can be read of them, or a line; none raises."""
    report, text = read(DocumentKind.PDF, content)
    assert report.problem or "text" in text or report.notes
    assert report.problem == "" or report.problem.endswith(".")


@pytest.mark.may_block
def test_a_page_that_unpacks_to_very_much() -> None:
    import zlib

    stream = zlib.compress(b"BT (x) Tj ET " * 8_000_000, 9)
    honest = documents.pdf("text", "fine")
    begin = honest.index(b"<< /Length")
    end = honest.index(b"endstream")
    bomb = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\n" % (len(stream), stream)
    report, text = read(DocumentKind.PDF, honest[:begin] + bomb + honest[end:])
    assert "fine" in text
    assert report.notes == ["1 page could not be read."]


async def converted(
    tmp_path: Path, kind: DocumentKind, content: bytes | None, limits: ConvertLimits
) -> Report:
    """A document that is read as the service has it read; without content it is 400 MB of nothing."""
    source = tmp_path / "source"

    def write() -> None:
        source.write_bytes(content or b"")
        if content is None:
            os.truncate(source, 400_000_000)

    await asyncio.to_thread(write)
    report = await Converter(limits).convert(source, kind, tmp_path / "made.md")
    assert (tmp_path / "made.md").exists() is (report.problem == ""), "there only if all went well"
    assert not reading(), "nothing is left running"
    return report


async def test_a_document_that_takes_for_ever(tmp_path: Path) -> None:
    report = await converted(tmp_path, DocumentKind.WEB, SLOW, ConvertLimits(seconds=1.5))
    assert report.problem == TOO_SLOW


async def test_a_document_that_takes_all_the_memory(tmp_path: Path) -> None:
    report = await converted(tmp_path, DocumentKind.WEB, None, ConvertLimits(memory_mb=300))
    assert report.problem == TOO_LARGE


async def test_a_page_that_is_nested_without_end(tmp_path: Path) -> None:
    report = await converted(tmp_path, DocumentKind.WEB, b"<div>" * 20_000 + b"x", ConvertLimits())
    assert report.problem == NESTED


async def test_a_document_that_floods(tmp_path: Path) -> None:
    page = b"<p>word</p>" * 20_000
    report = await converted(tmp_path, DocumentKind.WEB, page, ConvertLimits(markdown_bytes=9_000))
    assert report.notes == [CUT]
    assert 8_000 < (tmp_path / "made.md").stat().st_size <= 9_000


async def test_it_waits_for_its_turn_and_not_for_ever(tmp_path: Path) -> None:
    async def one(number: int, limits: ConvertLimits) -> Report:
        folder = tmp_path / str(number)
        await asyncio.to_thread(folder.mkdir)
        return await converted_beside(folder, limits)

    async def converted_beside(folder: Path, limits: ConvertLimits) -> Report:
        source = folder / "source"
        await asyncio.to_thread(source.write_bytes, b"a,b\n1,2\n")
        return await Converter(limits).convert(source, DocumentKind.DELIMITED, folder / "made.md")

    reports = await asyncio.gather(*(one(number, ConvertLimits()) for number in range(4)))
    assert [report.problem for report in reports] == [""] * 4
    impatient = [one(4 + number, ConvertLimits(waiting_seconds=0.001)) for number in range(4)]
    told = sorted(report.problem for report in await asyncio.gather(*impatient))
    assert told == ["", "", BUSY, BUSY]


async def test_who_does_not_wait_leaves_no_process_behind(tmp_path: Path) -> None:
    task = asyncio.create_task(converted(tmp_path, DocumentKind.WEB, SLOW, ConvertLimits()))
    while not reading():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not reading()


async def test_what_reads_can_not_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited_child.sys, "executable", str(tmp_path / "no-python"))
    report = await converted(tmp_path, DocumentKind.WEB, b"<p>x", ConvertLimits())
    assert report.problem == NOT_STARTED


async def test_what_reads_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"

    def write(script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setattr(limited_child.sys, "executable", str(program))
    for script, problem in (
        ("kill -SEGV $$", TOO_LARGE),
        ("echo garbage", DAMAGED),
        ("exit 3", DAMAGED),
        ("yes", DAMAGED),
    ):
        await asyncio.to_thread(write, script)
        assert (await converted(tmp_path, DocumentKind.WEB, b"<p>x", ConvertLimits())).problem == problem, (
            script
        )


async def test_it_knows_nothing_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"

    def write() -> None:
        program.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
        program.chmod(0o755)

    await asyncio.to_thread(write)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(limited_child.sys, "executable", str(program))
    await converted(tmp_path, DocumentKind.WEB, b"<p>x", ConvertLimits())
    seen = await asyncio.to_thread((tmp_path / "seen").read_text)
    assert "PATH=" in seen
    assert "sk-secret" not in seen
