"""Pages of a PDF file in PDFium: their words, and images of scans and other pages without text.

Many scanners split a page into strips or layers, which are useless as separate pictures.
"""

from __future__ import annotations

import io
from functools import cached_property
from typing import Any, BinaryIO

from agent.uploads.documents.pdf_layout import PageWords, read_words
from agent.uploads.documents.pictures import SIDE

_LEAST_SCALE, _MOST_SCALE = 0.05, 8.0


class PdfPages:
    """The file's pages in PDFium, which also composes scans that consist of several pictures."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @cached_property
    def _document(self) -> Any:
        import pypdfium2  # type: ignore[import-untyped]

        self._file.seek(0)
        return pypdfium2.PdfDocument(self._file.read())

    def read(self, index: int) -> tuple[PageWords, bool]:
        """Return a page's words, and False if some were omitted. Raises PDFium errors."""
        page = self._document[index]
        try:
            text = page.get_textpage()
            try:
                return read_words(text)
            finally:
                text.close()
        finally:
            page.close()

    def render(self, index: int) -> bytes | None:
        """Return a page as PNG, at most `SIDE` pixels long; None if it is blank. Raises PDFium errors."""
        page = self._document[index]
        try:
            longest = max(page.get_size())
            scale = min(max(SIDE / max(longest, 1.0), _LEAST_SCALE), _MOST_SCALE)
            image = page.render(scale=scale).to_pil().convert("RGB")
        finally:
            page.close()
        if all(least == most for least, most in image.getextrema()):
            return None
        image.thumbnail((SIDE, SIDE))
        target = io.BytesIO()
        image.save(target, "PNG", compress_level=1)
        return target.getvalue()
