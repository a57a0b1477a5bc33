"""Word documents and PowerPoint presentations, and checks of Office files before they are unpacked."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import IO, Any, BinaryIO
from xml.parsers import expat

from agent.uploads.documents.office_parts import list_omissions, list_texts, render_chart
from agent.uploads.documents.office_text import find_target, list_formulas, prepare_word, read_paragraph
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import DAMAGED, LOCKED, MACROS, Unreadable
from agent.uploads.documents.tables import cell, table
from agent.uploads.documents.web import render_fragment

PARTS = 10_000
UNPACKED = 300_000_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CHUNK = 65_536
_ENCRYPTED = 0x1
_PARTS = {"comments": "Comment", "diagramData": "Diagram"}
"""Labels of a slide's parts whose text is included, by the type of their relation."""
_FILE_NAME = re.compile(r"\S+\.\w{3,4}")
"""Descriptions that only repeat the name of the picture's file."""


def check_office(file: BinaryIO, notes: list[str]) -> None:
    """Check an Office file before it is unpacked, and note macros. Raises Unreadable.

    zipfile returns no more of a part than the archive declares, so the declared sizes are reliable; the
    memory limit of the process bounds what it unpacks.
    """
    begin = file.read(len(_OLE))
    file.seek(0)
    if begin == _OLE:
        # An encrypted Office file is inside an OLE container.
        raise Unreadable(LOCKED)
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_sizes(infos)
            for info in infos:
                if info.filename.endswith((".xml", ".rels")):
                    with archive.open(info) as part:
                        _check_beginning(part)
    except (zipfile.BadZipFile, NotImplementedError, expat.ExpatError, EOFError):
        raise Unreadable(DAMAGED) from None
    file.seek(0)
    notes += list_omissions(info.filename for info in infos)
    if any(info.filename.endswith("vbaProject.bin") for info in infos):
        notes.append(MACROS)


def _check_sizes(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > PARTS:
        raise Unreadable(f"It contains more than {PARTS:,} parts.")
    if sum(info.file_size for info in infos) > UNPACKED:
        raise Unreadable(f"Its unpacked size is more than {UNPACKED // 1_000_000} MB.")
    if any(info.flag_bits & _ENCRYPTED for info in infos):
        raise Unreadable(LOCKED)


def _check_beginning(part: IO[bytes]) -> None:
    """Reject a document type declaration, which precedes the first element."""
    begun = False

    def element(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal begun
        begun = True

    def declaration(*_arguments: object) -> None:
        raise Unreadable("It declares XML entities, which no legitimate document does.")

    parser = expat.ParserCreate()
    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = declaration
    while not begun and (chunk := part.read(_CHUNK)):
        parser.Parse(chunk, False)
    if not begun:
        # Newer versions of expat parse a token at the end of a chunk only after the final call. A part
        # without an element is for the reader to judge.
        with suppress(expat.ExpatError):
            parser.Parse(b"", True)


def read_word(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown of a Word document, with labels of its pictures."""
    check_office(file, notes)
    import mammoth  # type: ignore[import-untyped]

    numbers = count(1)

    def name_picture(picture: Any) -> list[Any]:
        try:
            with picture.open() as opened:
                content = opened.read()
        except (ValueError, LookupError, OSError, zipfile.BadZipFile):
            # It is only linked, or missing in the archive.
            pictures.skip()
            return []
        label = pictures.add(content, f"picture-{next(numbers)}")
        about = f": {picture.alt_text}" if picture.alt_text else ""
        return [mammoth.html.text(f"(picture {label}{about})")] if label else []

    # mammoth would use the name of a file, here a number, as the folder of linked pictures.
    whole, around = prepare_word(file.read())
    result = mammoth.convert_to_html(
        io.BytesIO(whole),
        convert_image=name_picture,
        external_file_access=False,
        style_map="comment-reference => sup",
    )
    yield render_fragment(result.value)
    yield from around


def read_slides(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown of a presentation, one block per slide, with labels of its pictures."""
    check_office(file, notes)
    from pptx import Presentation

    deck: Any = Presentation(file)
    layouts: dict[str, Any] = {}
    for number, slide in enumerate(deck.slides, 1):
        shapes = list(_flatten(slide.shapes))
        title = slide.shapes.title
        name = (
            f": {cell(_join_paragraphs(title.text_frame))}"
            if title is not None and title.has_text_frame
            else ""
        )
        hidden = " (hidden)" if slide.element.get("show") in {"0", "false"} else ""
        blocks = [f"## Slide {number}{name}{hidden}\n"]
        blocks += [text for shape in shapes if shape != title and (text := _text_of(shape))]
        blocks += list_formulas(slide.shapes.element)
        if slide.has_notes_slide and (speaker_notes := slide.notes_slide.notes_text_frame):
            blocks += [f"Notes: {speaker_notes.text.strip()}\n"] if speaker_notes.text.strip() else []
        blocks += [f"({label})\n" for label in _add_pictures(shapes, number, pictures)]
        for relation in slide.part.rels.values():
            if (label := _PARTS.get(relation.reltype.rpartition("/")[2])) and not relation.is_external:
                blocks += list_texts(relation.target_part.blob, label)
        layouts |= {one.part.partname: one for one in (slide.slide_layout, slide.slide_layout.slide_master)}
        yield "".join(f"{block}\n" for block in blocks)
    for layout in layouts.values():
        shapes = [one for one in _flatten(layout.shapes) if not one.is_placeholder]
        texts = {text: None for shape in shapes if (text := _text_of(shape))}
        if texts:
            yield f"Text on slide backgrounds:\n\n{''.join(texts)}\n"


def _add_pictures(shapes: Iterable[Any], slide: int, pictures: PictureWriter) -> Iterable[str]:
    """Store a slide's pictures, and return their labels with their descriptions."""
    labels: dict[str, None] = {}
    stored = 0
    for shape in shapes:
        if not str(shape.element.tag).endswith("}pic"):
            continue
        about = cell(next(shape.element.iter("{*}cNvPr")).get("descr"))
        about = "" if _FILE_NAME.fullmatch(about) else about
        try:
            label = pictures.add(shape.image.blob, f"slide-{slide}{f'-{stored + 1}' if stored else ''}")
        except (ValueError, LookupError, AttributeError):
            # It is only linked.
            pictures.skip()
            label = ""
        stored += bool(label)
        if label or about:
            labels[f"picture {label}".strip() + (f": {about}" if about else "")] = None
    return labels


def _flatten(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield all shapes, including those in groups."""
    from pptx.shapes.group import GroupShape

    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _flatten(shape.shapes)
        else:
            yield shape


def _text_of(shape: Any) -> str:
    if shape.has_table:
        return table([[_join_paragraphs(one.text_frame) for one in row.cells] for row in shape.table.rows])
    if shape.has_chart:
        return render_chart(shape.chart.part.blob)
    lines = shape.text_frame.paragraphs if shape.has_text_frame else ()
    texts = [(one.level, text) for one in lines if (text := cell(read_paragraph(one)))]
    link = next((one.find("{*}hlinkClick") for one in shape.element.iter("{*}cNvPr")), None)
    texts += [(0, f"Link: {target}")] if link is not None and (target := find_target(link, shape)) else []
    return "".join(f"{'  ' * level}- {text}\n" for level, text in texts)


def _join_paragraphs(frame: Any) -> str:
    return " ".join(map(read_paragraph, frame.paragraphs))
