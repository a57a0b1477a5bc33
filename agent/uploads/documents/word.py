"""Word documents, by way of HTML."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from agent.uploads.documents.archive import check_office
from agent.uploads.documents.web import render_fragment


def read(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """The Markdown; pictures are counted in a note."""
    check_office(file, notes)
    import mammoth  # type: ignore[import-untyped]

    pictures: list[str] = []

    def left_out(picture: Any) -> list[Any]:
        pictures.append(picture.alt_text or "")
        return []

    # It would take a file's own name, which here is a number, for the folder of linked pictures.
    whole = io.BytesIO(file.read())
    yield render_fragment(mammoth.convert_to_html(whole, convert_image=left_out).value)
    if pictures:
        notes.append(f"Its pictures ({len(pictures)}) are not in it.")
