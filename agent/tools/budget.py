"""Long outputs of tools: kept in a file, and shown by their beginning and end."""

from __future__ import annotations

import re

from agent.core.interfaces import Sandbox, SandboxError
from agent.sandbox.paths import WORKSPACE

CHARACTERS = 20_000
BEGINNING, END = 6_000, 3_000
FOLDER = f"{WORKSPACE}/.tool-outputs"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_KEPT = """[This output has {characters:,} characters in {lines:,} lines. All of it is in {path}:
read parts of it with read_file (start_line, end_line), or search it with bash. It begins:]
{beginning}
[… {left:,} characters are left out here. It ends:]
{end}"""
_LOST = """[This output has {characters:,} characters in {lines:,} lines; it could not be kept ({why}).
It begins:]
{beginning}
[… {left:,} characters are left out here. It ends:]
{end}"""


async def within_budget(text: str, *, name: str, sandbox: Sandbox | None, limit: int = CHARACTERS) -> str:
    """The text, or a synopsis of one that is longer than `limit` characters.

    The whole is then in the sandbox, in a file called after `name`.
    """
    if len(text) <= limit:
        return text
    shown = {
        "characters": len(text),
        "lines": text.count("\n") + 1,
        "beginning": text[: min(BEGINNING, limit // 2)],
        "end": text[-min(END, limit // 4) :],
    }
    shown["left"] = len(text) - len(str(shown["beginning"])) - len(str(shown["end"]))
    path = f"{FOLDER}/{_UNSAFE.sub('-', name)[:80]}.txt"
    try:
        if sandbox is None:
            raise SandboxError("there is no sandbox")
        await sandbox.write_file(path, text.encode())
    except SandboxError as error:
        return _LOST.format(**shown, why=str(error).rstrip("."))
    return _KEPT.format(**shown, path=path)
