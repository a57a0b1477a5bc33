"""Conversion of tool result parts to text: files are stored in the sandbox, images shown to the model."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import PurePosixPath

from agent.core.interfaces import Sandbox, SandboxError
from agent.tools.budget import CHARACTERS, limit_output
from agent.tools.image_check import find_image_problem, image_type
from agent.tools.images import show_image
from agent.tools.result_content import FilePart, Part
from agent.tools.sandbox import OUTPUTS

# Reads the system's tables here instead of at the first use, on the event loop.
mimetypes.init()
MAX_FILES = 20
"""Files of one result that are stored; more are only counted."""
EMPTY = "(no output)"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_ENDINGS = {"image/jpeg": ".jpg", "audio/wav": ".wav", "audio/mpeg": ".mp3", "text/plain": ".txt"}
"""Where `mimetypes` knows several, or none."""


async def render_parts(
    parts: Sequence[Part],
    *,
    tool: str,
    call_id: str,
    sandbox: Sandbox | None,
    limit: int = CHARACTERS,
) -> str:
    """Return the result as text of about `limit` characters, with a note in place of each file."""
    texts: list[str] = []
    notes: list[str] = []
    lines: list[str] = []
    files = 0
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            lines.append(part)
            continue
        files += 1
        if files <= MAX_FILES:
            notes.append(await _store_file(part, tool, sandbox))
            lines.append(notes[-1])
    if files > MAX_FILES:
        notes.append(f"[{files - MAX_FILES} more files of this result are omitted]")
        lines.append(notes[-1])
    whole = "\n".join(lines)
    if len(whole) > limit:
        name = f"{tool}-{call_id}"
        shortened = await limit_output("\n".join(texts), name=name, sandbox=sandbox, limit=limit)
        whole = "\n".join([shortened, *notes])
    return whole if whole.strip() else EMPTY


async def _store_file(file: FilePart, tool: str, sandbox: Sandbox | None) -> str:
    """Store the file, show it if it is an image, and return the note about it."""
    mime_type = image_type(file.content) or file.mime_type
    path = f"{OUTPUTS}/{_file_name(file, mime_type, tool)}"
    try:
        if sandbox is None:
            raise SandboxError("there is no sandbox")
        await sandbox.write_file(path, file.content)
        place = f"stored in {path}"
    except SandboxError as error:
        place = f"not stored ({str(error).rstrip('.')})"
    kind = mime_type[:100] or "file of unknown type"
    return f"[{kind}, {len(file.content):,} bytes, {place}{_show(file, mime_type, path)}]"


def _show(file: FilePart, mime_type: str, path: str) -> str:
    """Show the file if it is an image, and return an addition to its note."""
    if not mime_type.startswith("image/"):
        return ""
    problem = find_image_problem(file.content)
    if problem is not None:
        return f"; you can't see it, because {problem}"
    return "; you see it in your next step" if show_image(path, file.content) else "; you can't see images"


def _file_name(file: FilePart, mime_type: str, tool: str) -> str:
    """Return a name that depends on the content, so that no other file is overwritten."""
    given = PurePosixPath(file.name.replace("\\", "/")).name
    stem, dot, ending = given.rpartition(".")
    if not dot or not ending.isalnum() or not ending.isascii() or len(ending) > 8:
        stem, ending = given, _guess_ending(mime_type)
    else:
        ending = f".{ending.lower()}"
    safe = _UNSAFE.sub("-", stem).strip("-")[:60] or _UNSAFE.sub("-", tool)[:60]
    return f"{safe}-{sha256(file.content).hexdigest()[:8]}{ending}"


def _guess_ending(mime_type: str) -> str:
    kind = mime_type.partition(";")[0].strip().lower()
    return _ENDINGS.get(kind) or mimetypes.guess_extension(kind) or ".bin"
