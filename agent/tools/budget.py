"""Shortening of long tool outputs: the whole is written to a file, the model sees the beginning and end."""

from __future__ import annotations

import re
from hashlib import sha256

from agent.core.interfaces import Sandbox, SandboxError
from agent.sandbox.paths import WORKSPACE
from agent.sandbox.running import LOST

CHARACTERS = 20_000
BEGINNING, END = 6_000, 3_000
FOLDER = f"{WORKSPACE}/.tool-outputs"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_STORED_OUTPUT = """\
[{size} has {characters:,} characters in {lines:,} lines. {whole} is in {path}:
read parts of it with read_file (offset, limit), or search it with bash. It begins:]
{beginning}
[… {left:,} characters are omitted here. It ends:]
{end}"""
_LOST_OUTPUT = """\
[{size} has {characters:,} characters in {lines:,} lines; it could not be stored ({why}).
It begins:]
{beginning}
[… {left:,} characters are omitted here. It ends:]
{end}"""


async def limit_output(text: str, *, name: str, sandbox: Sandbox | None, limit: int = CHARACTERS) -> str:
    """Return the text, or its beginning and end if it is longer than `limit` characters.

    The whole text is then in a file in the sandbox, named after `name` and its content, since some providers
    use an id of a call again.
    """
    if len(text) <= limit:
        return text
    # A command's output may have lost its middle before.
    lost = LOST.search(text)
    fields = {
        "size": f"What was kept of this output ({lost['count']} bytes were not)" if lost else "This output",
        "whole": "That" if lost else "All of it",
        "characters": len(text),
        "lines": text.count("\n") + 1,
        "beginning": text[: min(BEGINNING, limit // 2)],
        "end": text[-min(END, limit // 4) :],
    }
    fields["left"] = len(text) - len(str(fields["beginning"])) - len(str(fields["end"]))
    content = text.encode(errors="replace")
    path = f"{FOLDER}/{_UNSAFE.sub('-', name)[:80]}-{sha256(content).hexdigest()[:8]}.txt"
    try:
        if sandbox is None:
            raise SandboxError("there is no sandbox")
        await sandbox.write_file(path, content)
    except SandboxError as error:
        return _LOST_OUTPUT.format(**fields, why=str(error).rstrip("."))
    return _STORED_OUTPUT.format(**fields, path=path)
