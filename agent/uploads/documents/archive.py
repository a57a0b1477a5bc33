"""Office files are zip archives: judged before anything of them is unpacked."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from typing import IO, BinaryIO
from xml.parsers import expat

from agent.uploads.documents.report import DAMAGED, LOCKED, MACROS, Unreadable

PARTS = 10_000
UNPACKED = 300_000_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CHUNK = 65_536
_ENCRYPTED = 0x1


def check_office(file: BinaryIO, notes: list[str]) -> None:
    """Note macros. Raises Unreadable for what no honest document has.

    zipfile hands out no more of a part than the archive declares, so declared sizes can be relied on; what it
    may unpack for that is bounded by the memory of the process.
    """
    begin = file.read(len(_OLE))
    file.seek(0)
    if begin == _OLE:
        # How Office encrypts: the archive is inside of an old container.
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
    if any(info.filename.endswith("vbaProject.bin") for info in infos):
        notes.append(MACROS)


def _check_sizes(infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > PARTS:
        raise Unreadable(f"It is packed from more than {PARTS:,} parts.")
    if sum(info.file_size for info in infos) > UNPACKED:
        raise Unreadable(f"It would unpack to more than {UNPACKED // 1_000_000} MB.")
    if any(info.flag_bits & _ENCRYPTED for info in infos):
        raise Unreadable(LOCKED)


def _check_beginning(part: IO[bytes]) -> None:
    """Read up to the first element: before it would stand what declares entities."""
    begun = False

    def element(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal begun
        begun = True

    def declaration(*_given: object) -> None:
        raise Unreadable("It declares XML entities, which no honest document does.")

    parser = expat.ParserCreate()
    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = declaration
    while not begun and (chunk := part.read(_CHUNK)):
        parser.Parse(chunk, False)
    if not begun:
        # Newer versions of expat put off what a chunk ends in the middle of, until they hear of the end. A
        # part without an element is for the reader to judge.
        with suppress(expat.ExpatError):
            parser.Parse(b"", True)
