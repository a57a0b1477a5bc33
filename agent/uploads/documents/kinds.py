"""Kinds of documents, by the extension of the file name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath


class DocumentKind(StrEnum):
    """A supported kind of document."""

    PDF = "pdf"
    WORD = "word"
    SLIDES = "slides"
    WORKBOOK = "workbook"
    OLD_WORKBOOK = "old_workbook"
    DELIMITED = "delimited"
    WEB = "web"
    EMAIL = "email"
    NOTEBOOK = "notebook"
    PICTURE = "picture"


_ENDINGS: Mapping[str, DocumentKind] = {
    ".pdf": DocumentKind.PDF,
    ".docx": DocumentKind.WORD,
    ".docm": DocumentKind.WORD,
    ".pptx": DocumentKind.SLIDES,
    ".pptm": DocumentKind.SLIDES,
    ".xlsx": DocumentKind.WORKBOOK,
    ".xlsm": DocumentKind.WORKBOOK,
    ".xls": DocumentKind.OLD_WORKBOOK,
    ".csv": DocumentKind.DELIMITED,
    ".tsv": DocumentKind.DELIMITED,
    ".html": DocumentKind.WEB,
    ".htm": DocumentKind.WEB,
    ".eml": DocumentKind.EMAIL,
    ".ipynb": DocumentKind.NOTEBOOK,
    ".bmp": DocumentKind.PICTURE,
    ".tif": DocumentKind.PICTURE,
    ".tiff": DocumentKind.PICTURE,
}
_ALTERNATIVES = {
    ".doc": ".docx",
    ".dot": ".docx",
    ".rtf": ".docx",
    ".odt": ".docx",
    ".ppt": ".pptx",
    ".pps": ".pptx",
    ".odp": ".pptx",
    ".xlsb": ".xlsx",
    ".ods": ".xlsx",
    ".msg": ".eml",
    ".heic": ".jpg",
    ".heif": ".jpg",
}


def kind_of(name: str) -> DocumentKind | None:
    """Return the kind of a document, or None for any other file."""
    return _ENDINGS.get(_ending(name))


def explain_unsupported(name: str) -> str | None:
    """Return why a document with this name is not supported and what to do, or None for any other file."""
    instead = _ALTERNATIVES.get(_ending(name))
    if instead is None:
        return None
    return f"{_ending(name)} files can't be read here; save the document as {instead} and send it again."


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
