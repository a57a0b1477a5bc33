"""Read the files of multipart bodies as they arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from agent.errors import FileRefused

MAX_HEADER_BYTES = 8_192
_MALFORMED = "The multipart body is malformed."
FILES_SCHEMA: Final = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
}
"""Multipart form with files, for the OpenAPI document."""


@dataclass(frozen=True, slots=True)
class FileStart:
    """Start of a file, with the client's name for it."""

    filename: str


@dataclass(frozen=True, slots=True)
class FileData:
    """Next bytes of the file."""

    data: bytes


@dataclass(slots=True)
class _Reader:
    events: deque[FileStart | FileData] = field(default_factory=deque)
    finished: bool = False
    _headers: dict[bytes, bytes] = field(default_factory=dict)
    _name: bytes = b""
    _value: bytes = b""
    _in_file: bool = False

    def on_part_begin(self) -> None:
        self._headers, self._in_file = {}, False

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]
        self._check()

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._check()

    def on_header_end(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def on_headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        filename = options.get(b"filename")
        self._in_file = filename is not None
        if filename is not None:
            self.events.append(FileStart(filename.decode(errors="replace")))

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.events.append(FileData(data[start:end]))

    def on_end(self) -> None:
        self.finished = True

    def _check(self) -> None:
        if len(self._name) + len(self._value) > MAX_HEADER_BYTES:
            raise FileRefused(_MALFORMED)


async def read_files(content_type: str, body: AsyncIterator[bytes]) -> AsyncIterator[FileStart | FileData]:
    """Yield the files of a `multipart/form-data` body; other fields are ignored.

    Raises FileRefused for another content type (415) and for a malformed or incomplete body (400).
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise FileRefused("Send files as multipart/form-data.", status=415)
    reader = _Reader()
    callbacks = {name: getattr(reader, name) for name in dir(reader) if name.startswith("on_")}
    try:
        parser = MultipartParser(boundary, callbacks)  # type: ignore[arg-type]
        async for chunk in body:
            parser.write(chunk)
            while reader.events:
                yield reader.events.popleft()
    except MultipartParseError:
        raise FileRefused(_MALFORMED) from None
    if not reader.finished:
        raise FileRefused(_MALFORMED)
