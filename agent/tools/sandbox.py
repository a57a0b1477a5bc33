"""Tools for commands and files in the sandbox.

The sandbox middleware adds them and sets their sandbox; `tools` of the configuration may name single ones
(`use: agent.tools.sandbox:bash`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.types import Command

from agent.config.models import BASH, READ, WRITE
from agent.core.interfaces import CommandResult, DirEntry, Sandbox, SandboxError
from agent.core.paths import AREAS, VIRTUAL_ROOT
from agent.sandbox.paths import WORKSPACE

OUTPUTS = f"{VIRTUAL_ROOT}/outputs"
READ_CHARACTERS = 16_000
MAX_LISTED = 300
LEVELS = 2
_current: ContextVar[Sandbox | None] = ContextVar("roebot_sandbox", default=None)
_change_locks: WeakKeyDictionary[Sandbox, asyncio.Lock] = WeakKeyDictionary()

PROMPT = f"""You work in a sandbox of this conversation, with its own files:
- {WORKSPACE}: your own files; commands start here, and relative paths begin here.
- {VIRTUAL_ROOT}/uploads: what people sent.
- {OUTPUTS}: what you make for people; they see it when you call present_files.
Nothing but files lasts from one command to the next: no process, no variable. For work with data write a
Python script and run it."""


@contextmanager
def use_sandbox(sandbox: Sandbox | None) -> Iterator[None]:
    """Use this sandbox in tools that are called in the context."""
    token = _current.set(sandbox)
    try:
        yield
    finally:
        _current.reset(token)


def current_sandbox() -> Sandbox:
    """Return the sandbox of the current tool call. Raises SandboxError."""
    sandbox = _current.get()
    if sandbox is None:
        raise SandboxError("This agent has no sandbox; switch the feature sandbox on.")
    return sandbox


@tool
async def bash(command: str, seconds: float | None = None) -> str:
    """Run a shell command in the sandbox. Its folder is the workspace.

    It sees no network unless the configuration allows it, and what it leaves running ends with it.

    Args:
        command: The command, or several lines of a script.
        seconds: How long it may take; less than the sandbox's own limit.
    """
    return format_result(await current_sandbox().execute_command(command, seconds=seconds))


@tool
async def ls(path: str = WORKSPACE) -> str:
    """List a folder and the folders in it, two levels deep. Names that begin with a dot are left out.

    Args:
        path: The folder; the workspace where it is absent.
    """
    if path.rstrip("/") in {"", "/mnt", VIRTUAL_ROOT}:
        return "\n".join(f"{VIRTUAL_ROOT}/{area}/" for area in AREAS)
    lines = await _list_tree(current_sandbox(), path.rstrip("/"), LEVELS, "")
    shown = lines[:MAX_LISTED]
    more = [f"[{len(lines) - MAX_LISTED} more; list a folder inside]"] if len(lines) > MAX_LISTED else []
    return "\n".join([*shown, *more]) or "(empty)"


@tool
async def read_file(path: str, start_line: int | None = None, end_line: int | None = None) -> str:
    """Read a text file, or some lines of it.

    Args:
        path: The file.
        start_line: The first line to show, from 1 on.
        end_line: The last line to show.
    """
    text = _decode_text(await current_sandbox().read_file(path))
    lines = text.splitlines(keepends=True)
    first = max(1, start_line or 1)
    last = min(len(lines), end_line or len(lines))
    if lines and first > max(last, 1):
        raise SandboxError(f"The file has {len(lines)} lines; ask for lines from 1 to {len(lines)}.")
    return _join_lines(lines, first, last) or "(empty)"


@tool
async def write_file(path: str, content: str, append: bool = False) -> str:
    """Write a text file, making the folders that are missing.

    Args:
        path: The file.
        content: All of its text, or what is appended.
        append: Whether the text comes after what the file holds instead of in its place.
    """
    sandbox = current_sandbox()
    async with _change_lock(sandbox):
        await sandbox.write_file(path, content.encode(), append=append)
    return f"{'Appended to' if append else 'Wrote'} {path} ({len(content):,} characters)."


@tool
async def str_replace(path: str, old_str: str, new_str: str, replace_all: bool = False) -> str:
    """Replace a text in a file.

    Args:
        path: The file.
        old_str: The text as it stands there, with its white space; it has to be there once.
        new_str: What comes in its place.
        replace_all: Whether every place is replaced, where there are several.
    """
    if not old_str:
        raise SandboxError("old_str is empty; give the text that is to be replaced.")
    sandbox = current_sandbox()
    async with _change_lock(sandbox):
        text = _decode_text(await sandbox.read_file(path))
        count = text.count(old_str)
        if not count:
            raise SandboxError(f"{path} does not hold this text; read the file and give it exactly.")
        if count > 1 and not replace_all:
            raise SandboxError(f"{path} holds this text {count} times; give more of it, or set replace_all.")
        await sandbox.write_file(path, text.replace(old_str, new_str).encode())
    return f"Replaced {count} place{'s' if count > 1 else ''} in {path}."


@tool
async def present_files(paths: list[str], tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Show files to the people in the chat, who see nothing of the sandbox otherwise.

    Args:
        paths: Files in /mnt/user-data/outputs.
    """
    sandbox = current_sandbox()
    if not paths:
        raise SandboxError("No file is named; give paths of files.")
    shown = [await _check_presentable(sandbox, path) for path in paths]
    message = ToolMessage(f"Presented: {', '.join(shown)}.", tool_call_id=tool_call_id, name="present_files")
    return Command(update={"messages": [message], "artifacts": shown})


GROUPS: Mapping[str, Sequence[BaseTool]] = {
    BASH: (bash,),
    READ: (ls, read_file),
    WRITE: (write_file, str_replace, present_files),
}
"""Tools by the name of their group, for custom agents."""
for _read_only in (ls, read_file, present_files):
    _read_only.metadata = {"idempotent": True}


def sandbox_tools(groups: Collection[str] | None = None, without: Collection[str] = ()) -> list[BaseTool]:
    """Return the tools of these groups (None: all groups), without those named in `without`."""
    wanted = [tool for group, tools in GROUPS.items() if groups is None or group in groups for tool in tools]
    return [tool for tool in wanted if tool.name not in without]


def format_result(result: CommandResult) -> str:
    """Format the result of a command for the model."""
    output = result.output.rstrip("\n")
    if result.stopped:
        note = f"[stopped: {result.stopped}]"
    elif result.timed_out:
        note = "[stopped: it took too long; ask for less at once, or for more seconds]"
    elif result.exit_code:
        note = f"[exit code {result.exit_code}]"
    else:
        note = "" if output else "(no output)"
    return "\n".join(filter(None, [output, note]))


async def _check_presentable(sandbox: Sandbox, path: str) -> str:
    """Check that a file may be presented, and return its path. Raises SandboxError."""
    folder, _, name = path.rpartition("/")
    if not (f"{folder}/").startswith(f"{OUTPUTS}/") or not name:
        raise SandboxError(f"{path} is not in {OUTPUTS}; copy it there first.")
    found = [entry for entry in await sandbox.list_dir(folder) if entry.name == name]
    if not found or found[0].is_dir:
        raise SandboxError(f"There is no file {path}.")
    return path


async def _list_tree(sandbox: Sandbox, path: str, levels: int, indent: str) -> list[str]:
    lines: list[str] = []
    for entry in await sandbox.list_dir(path):
        if entry.name.startswith("."):
            continue
        lines.append(f"{indent}{_format_entry(entry)}")
        if entry.is_dir and levels > 1:
            lines += await _list_tree(sandbox, f"{path}/{entry.name}", levels - 1, f"{indent}  ")
    return lines


def _format_entry(entry: DirEntry) -> str:
    return f"{entry.name}/" if entry.is_dir else f"{entry.name} ({entry.size:,} bytes)"


def _decode_text(content: bytes) -> str:
    if b"\x00" in content[:8_192]:
        raise SandboxError("This is not a text file; inspect it with a command.")
    return content.decode(errors="replace")


def _join_lines(lines: Sequence[str], first: int, last: int) -> str:
    """Join as many lines as fit, followed by a note where to continue."""
    shown: list[str] = []
    size, at = 0, first
    while at <= last and (size + len(lines[at - 1]) <= READ_CHARACTERS or not shown):
        shown.append(lines[at - 1][:READ_CHARACTERS])
        size += len(shown[-1])
        at += 1
    text = "".join(shown)
    if at <= last:
        text += f"\n[lines {first} to {at - 1} of {len(lines)}; go on with start_line={at}]"
    return text


def _change_lock(sandbox: Sandbox) -> asyncio.Lock:
    """Return the lock for changes of files, since calls of one message run in parallel."""
    return _change_locks.setdefault(sandbox, asyncio.Lock())
