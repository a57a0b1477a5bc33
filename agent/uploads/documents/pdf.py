"""PDF files: the text and pictures of each page, with pages without text as images."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from agent.uploads.documents.pdf_pages import PageRenderer
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import DAMAGED, LOCKED, Unreadable
from agent.uploads.documents.tables import cell

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGES = 1_000
BOOKMARKS = 500
NO_TEXT = "It contains only pictures of pages (possibly a scan) and no text, so nothing can be read from it."
SCAN = "Its pages are pictures without text (possibly a scan)."
_MAGIC_WITHIN = 1_024
# Exceptions of pypdf on malformed input, in addition to its own.
_PARSER_ERRORS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    NotImplementedError,
    zlib.error,
)


def read_pdf(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown, one block per page, with notes about unreadable pages. Raises Unreadable."""
    if b"%PDF-" not in file.read(_MAGIC_WITHIN):
        raise Unreadable(DAMAGED)
    file.seek(0)
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    reader = PdfReader(file)
    try:
        locked = reader.is_encrypted and not reader.decrypt("")
    except (DependencyError, NotImplementedError):
        locked = True
    if locked:
        raise Unreadable(LOCKED)
    count = len(reader.pages)
    titles, renderer = _titles(reader), PageRenderer(file)
    empty = broken = 0
    for index in range(min(count, PAGES)):
        try:
            text = reader.pages[index].extract_text().strip()
        except (PyPdfError, *_PARSER_ERRORS):
            text, broken = "", broken + 1
        empty += not text
        shown = "" if text else _add_page(renderer, index, pictures)
        shown = shown or _add_pictures(reader, index, pictures)
        if index + 1 == min(count, PAGES) and empty == index + 1:
            if not pictures.kept:
                raise Unreadable(DAMAGED if broken == empty else NO_TEXT)
            notes.append(SCAN)
        title = f": {titles[index]}" if index in titles else ""
        yield f"## Page {index + 1}{title}\n\n{text or '(no text)'}\n\n{shown}"
    _note(notes, count, broken)


def _add_page(renderer: PageRenderer, index: int, pictures: PictureWriter) -> str:
    """Store the image of a page without text, and return its label line; "" if there is none."""
    if not pictures.has_room:
        return ""
    try:
        image = renderer.render(index)
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - as for pictures; those of the page are tried next
        return ""
    label = pictures.add(image, f"page-{index + 1}") if image else ""
    return f"(picture {label})\n\n" if label else ""


def _add_pictures(reader: PdfReader, index: int, pictures: PictureWriter) -> str:
    """Store a page's pictures, and return their label lines."""
    labels: dict[str, None] = {}
    try:
        images = reader.pages[index].images
        for key in images.keys() if pictures.has_room else ():
            if not pictures.has_room:
                pictures.skip()
                break
            number = f"-{len(labels) + 1}" if labels else ""
            if label := pictures.add(images[key].data, f"page-{index + 1}{number}"):
                labels[label] = None
    except Exception:  # noqa: BLE001 - parsers raise anything on hostile input; the text is more important
        pictures.skip()
    return "".join(f"(picture {label})\n\n" for label in labels)


def _note(notes: list[str], count: int, broken: int) -> None:
    if count > PAGES:
        notes.append(f"Only the first {PAGES:,} of {count:,} pages are included.")
    if broken:
        notes.append(f"{broken} page{'s' if broken > 1 else ''} could not be read.")


def _titles(reader: PdfReader) -> Mapping[int, str]:
    """Return the first bookmark of each page by page index, {} if they can't be read."""
    from pypdf.errors import PyPdfError

    titles: dict[int, str] = {}
    try:
        for mark in _marks(reader.outline):
            page = reader.get_destination_page_number(mark)
            if page is not None and len(titles) < BOOKMARKS:
                titles.setdefault(page, cell(mark.title))
    except (PyPdfError, *_PARSER_ERRORS):
        return {}
    return titles


def _marks(outline: Any) -> Iterator[Any]:
    for one in outline:
        if isinstance(one, list):
            yield from _marks(one)
        else:
            yield one
