"""PDF files: the text, form fields, links, comments and pictures of each page; pages without text as images.

PDFium returns the words with their positions; pypdf reads the structure of the file, and rejects pages that
unpack to excessive sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from agent.uploads.documents.pdf_annotations import list_annotations
from agent.uploads.documents.pdf_layout import lay_out
from agent.uploads.documents.pdf_pages import PdfPages
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import DAMAGED, LOCKED, Unreadable
from agent.uploads.documents.tables import cell

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGES = 1_000
BOOKMARKS = 500
NO_TEXT = "It contains only pictures of pages (possibly a scan) and no text, so nothing can be read from it."
SCAN = "Its pages are pictures without text (possibly a scan)."
UNREAD = "A page could not be read."
ANNOTATIONS = "The form fields, links and comments of some pages could not be read."
LONG_PAGE = "Only the beginning of very long pages is included."
ATTACHED = "Its attachments are not included: {}. Save and send them separately."
XFA = "It has an XFA form, whose fields may not be included."
_MAGIC_WITHIN = 1_024


def read_pdf(file: BinaryIO, notes: list[str], pictures: PictureWriter) -> Iterator[str]:
    """Yield the Markdown, one block per page, with notes about unreadable pages. Raises Unreadable."""
    if b"%PDF-" not in file.read(_MAGIC_WITHIN):
        raise Unreadable(DAMAGED)
    file.seek(0)
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(file)
    try:
        locked = reader.is_encrypted and not reader.decrypt("")
    except (DependencyError, NotImplementedError):
        locked = True
    if locked:
        raise Unreadable(LOCKED)
    count = len(reader.pages)
    titles, pages = _titles(reader), PdfPages(file)
    notes += _list_omissions(reader)
    empty, broken, has_more = 0, 0, False
    for index in range(min(count, PAGES)):
        text, more, problem = _read_page(reader, pages, index)
        broken += problem == UNREAD
        if problem not in {"", UNREAD, *notes}:
            notes.append(problem)
        empty, has_more = empty + (not text), has_more or bool(more)
        shown = "" if text else _add_page(pages, index, pictures)
        shown = shown or _add_pictures(reader, index, pictures)
        if index + 1 == min(count, PAGES) and empty == index + 1:
            if not (pictures.kept or has_more):
                raise Unreadable(DAMAGED if broken == empty else NO_TEXT)
            notes += [SCAN] if pictures.kept else []
        title = f": {titles[index]}" if index in titles else ""
        yield f"## Page {index + 1}{title}\n\n{text or '(no text)'}\n\n{more}{shown}"
    _note(notes, count, broken)


def _read_page(reader: PdfReader, pages: PdfPages, index: int) -> tuple[str, str, str]:
    """Return the text of a page, its annotations, and a note about what is missing ("": nothing)."""
    try:
        page = reader.pages[index]
        if (content := page.get_contents()) is not None:
            content.get_data()
        words, is_whole = pages.read(index)
        text = "\n\n".join("\n".join(lay_out(words[turns])) for turns in sorted(words))
    except (ImportError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - parsers raise anything on malformed input, here and below
        return "", "", UNREAD
    try:
        more = list_annotations(page, words.get(0, ()))
    except Exception:  # noqa: BLE001
        return text, "", ANNOTATIONS
    return text, more, "" if is_whole else LONG_PAGE


def _list_omissions(reader: PdfReader) -> list[str]:
    """Return notes about attachments and XFA forms."""
    try:
        form = reader.root_object.get("/AcroForm")
        names = [cell(one) for one in reader.attachments]
    except Exception:  # noqa: BLE001
        return []
    notes = [ATTACHED.format(", ".join(names))] if names else []
    return [*notes, XFA] if form is not None and "/XFA" in form.get_object() else notes


def _add_page(pages: PdfPages, index: int, pictures: PictureWriter) -> str:
    """Store the image of a page without text, and return its label line; "" if there is none."""
    if not pictures.has_room:
        return ""
    try:
        image = pages.render(index)
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - those of the page are tried next
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
    except Exception:  # noqa: BLE001
        pictures.skip()
    return "".join(f"(picture {label})\n\n" for label in labels)


def _note(notes: list[str], count: int, broken: int) -> None:
    if count > PAGES:
        notes.append(f"Only the first {PAGES:,} of {count:,} pages are included.")
    if broken:
        notes.append(f"{broken} page{'s' if broken > 1 else ''} could not be read.")


def _titles(reader: PdfReader) -> Mapping[int, str]:
    """Return the first bookmark of each page by page index, {} if they can't be read."""
    titles: dict[int, str] = {}
    try:
        for mark in _marks(reader.outline):
            page = reader.get_destination_page_number(mark)
            if page is not None and len(titles) < BOOKMARKS:
                titles.setdefault(page, cell(mark.title))
    except Exception:  # noqa: BLE001
        return {}
    return titles


def _marks(outline: Any) -> Iterator[Any]:
    for one in outline:
        if isinstance(one, list):
            yield from _marks(one)
        else:
            yield one
