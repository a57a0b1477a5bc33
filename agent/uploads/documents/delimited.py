"""Tables as text: CSV and its relatives."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from agent.uploads.documents.report import Unreadable
from agent.uploads.documents.tables import cut_table

FIELD = 1_000_000
_SAMPLE = 65_536
_LINES = 20
# Those that stand for nothing else come first; a comma may be of a number.
_DELIMITERS = ("\t", ";", "|", ",")


def read(file: BinaryIO, notes: list[str]) -> Iterator[str]:
    """The table. Raises Unreadable for what is no text."""
    sample = file.read(_SAMPLE)
    file.seek(0)
    encoding = encoding_of(sample)
    text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
    lines = sample.decode(encoding, errors="replace").splitlines()[:_LINES]
    csv.field_size_limit(FIELD)
    yield from cut_table(csv.reader(text, delimiter=delimiter_of(lines)), notes)


def encoding_of(sample: bytes) -> str:
    """UTF-8 and UTF-16 as they say, Western European for what is neither. Raises Unreadable."""
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\x00" in sample:
        raise Unreadable("It is no text, whatever its name says.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def delimiter_of(lines: Sequence[str]) -> str:
    """What splits these lines into equally many fields, the most of them."""
    best, most = ",", 0
    for delimiter in _DELIMITERS:
        counts = {line.count(delimiter) for line in lines if line.strip()}
        if len(counts) == 1 and (count := counts.pop()) > most:
            best, most = delimiter, count
    if most:
        return best
    return max(_DELIMITERS, key=lambda one: sum(line.count(one) for line in lines)) if lines else ","
