"""Text files of the sandbox, which keep their encoding."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import asdict
from hashlib import sha256
from typing import BinaryIO

from agent.core.interfaces import Sandbox, SandboxError, SandboxGone, SandboxUnavailable
from agent.sandbox.options import MEGABYTE
from agent.shared.recent_items import RecentItems
from agent.tools.missing_files import read_existing
from agent.uploads.documents.child import Bounds
from agent.uploads.documents.limited_child import ChildRoom, run_child
from agent.uploads.documents.text_encoding import UTF_8, TextEncoding, find_unicode

MODULE = "agent.uploads.documents.encoding_child"
_BOUNDS = Bounds(seconds=5.0, soft_seconds=5.0, memory=1_000 * MEGABYTE, markdown=MEGABYTE)
SECONDS = 30.0
"""Limit by the clock, for a busy machine."""
NOT_FOUND = "The encoding of this file could not be detected in time; try again."
_room = ChildRoom(2)
MAX_DETECTED = 64
_detected = RecentItems[bytes, TextEncoding](MAX_DETECTED)
"""Encodings by the digest of the content, since a file is usually read before it is changed; oldest first."""


async def read_text(sandbox: Sandbox, path: str) -> tuple[TextEncoding, str]:
    """Return a text file's encoding and text. Raises SandboxError."""
    content = await read_existing(sandbox, path)
    encoding = await find_encoding(content)
    if encoding is None:
        raise SandboxError("This is not a text file; inspect it with a command.")
    return encoding, encoding.decode(content)


async def find_existing_encoding(sandbox: Sandbox, path: str) -> TextEncoding:
    """Return the encoding in which to write a file: its own, or UTF-8 for a new or binary one."""
    try:
        content = await sandbox.read_file(path)
    except (SandboxGone, SandboxUnavailable):
        raise
    except SandboxError:
        return UTF_8
    return await find_encoding(content) or UTF_8


def encode_text(encoding: TextEncoding, text: str, path: str) -> bytes:
    """Return the bytes of a text. Raises SandboxError for a character that the encoding lacks."""
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise SandboxError(
            f"{path} is encoded in {encoding.name}, which has no character {character!r}; nothing was "
            "written. Use other characters, or convert the file with iconv first, if its reader allows that."
        ) from None


async def find_encoding(content: bytes) -> TextEncoding | None:
    """Return the encoding of text, None for binary content. Legacy encodings are detected in a child.

    Raises SandboxError.
    """
    found = await asyncio.to_thread(find_unicode, content)
    if found is not None or b"\x00" in content:
        return found
    digest = (await asyncio.to_thread(sha256, content)).digest()
    if digest not in _detected:
        _detected[digest] = await _detect_encoding(content)
    return _detected[digest]


async def _detect_encoding(content: bytes) -> TextEncoding:
    with await asyncio.to_thread(_as_file, content) as source:
        try:
            async with _room.enter(SECONDS):
                arguments = [json.dumps(asdict(_BOUNDS))]
                result = await run_child(MODULE, arguments, [source.fileno()], SECONDS)
        except (TimeoutError, OSError) as error:
            raise SandboxError(NOT_FOUND) from error
    if result.exit_code != 0:
        raise SandboxError(NOT_FOUND)
    return TextEncoding(**json.loads(result.output))


def _as_file(content: bytes) -> BinaryIO:
    source = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    source.write(content)
    source.seek(0)
    return source
