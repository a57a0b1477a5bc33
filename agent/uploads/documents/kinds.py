"""Which files are documents, told by the ending of their names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath


class Kind(StrEnum):
    """How a document is read."""

    PDF = "pdf"
    WORD = "word"
    SLIDES = "slides"
    WORKBOOK = "workbook"
    OLD_WORKBOOK = "old_workbook"
    DELIMITED = "delimited"
    WEB = "web"


_ENDINGS: Mapping[str, Kind] = {
    ".pdf": Kind.PDF,
    ".docx": Kind.WORD,
    ".docm": Kind.WORD,
    ".pptx": Kind.SLIDES,
    ".pptm": Kind.SLIDES,
    ".xlsx": Kind.WORKBOOK,
    ".xlsm": Kind.WORKBOOK,
    ".xls": Kind.OLD_WORKBOOK,
    ".csv": Kind.DELIMITED,
    ".tsv": Kind.DELIMITED,
    ".html": Kind.WEB,
    ".htm": Kind.WEB,
}
_INSTEAD = {
    ".doc": ".docx",
    ".dot": ".docx",
    ".rtf": ".docx",
    ".odt": ".docx",
    ".ppt": ".pptx",
    ".pps": ".pptx",
    ".odp": ".pptx",
    ".xlsb": ".xlsx",
    ".ods": ".xlsx",
}


def kind_of(name: str) -> Kind | None:
    """The kind of a document; None for any other file."""
    return _ENDINGS.get(_ending(name))


def unread(name: str) -> str | None:
    """Why a document of another format is not read, and what helps; None for any other file."""
    instead = _INSTEAD.get(_ending(name))
    if instead is None:
        return None
    return f"{_ending(name)} files can't be read here; save it as {instead} and send that."


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
