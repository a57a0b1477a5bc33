"""Tools for commands and files in the sandbox.

The sandbox middleware adds them and sets their sandbox; `tools` of the configuration may name single ones
(`use: agent.tools.sandbox:bash`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from langgraph.types import Command
from pydantic.json_schema import SkipJsonSchema

from agent.config.models import BASH, READ, WRITE
from agent.core.argument_coercion import ALIASES
from agent.core.interfaces import (
    CommandResult,
    DirEntry,
    Sandbox,
    SandboxError,
    SandboxGone,
    SandboxUnavailable,
)
from agent.core.paths import AREAS, VIRTUAL_ROOT
from agent.core.tool_order import ORDER, Order
from agent.sandbox.paths import WORKSPACE
from agent.sandbox.running import LOST
from agent.shared.run_identity import PRESENTED_FILES
from agent.tools.documented_tool import documented_tool
from agent.tools.missing_files import list_existing, no_such_file
from agent.tools.network_failure import describe_network_failure
from agent.tools.text_files import encode_text, find_existing_encoding, read_text
from agent.uploads.documents.text_encoding import UTF_8

Attempt = Callable[[str], Awaitable[CommandResult | None]]
OUTPUTS = f"{VIRTUAL_ROOT}/outputs"
READ_CHARACTERS = 16_000
CUT = (
    "[{lost} bytes in the middle of the output were not kept anywhere. To keep all of it, run the command "
    "again with its output in a file: command > output.txt]"
)
_DAMAGED = re.compile(r"[\ud800-\udfff]")
"""Stands for an invalid byte, which stays in the file."""
MAX_LISTED = 300
LEVELS = 2
_current: ContextVar[Sandbox | None] = ContextVar("roebot_sandbox", default=None)
_network: ContextVar[str | None] = ContextVar("roebot_sandbox_network", default=None)
_attempt: ContextVar[Attempt | None] = ContextVar("roebot_sandbox_attempt", default=None)
_change_locks: WeakKeyDictionary[Sandbox, asyncio.Lock] = WeakKeyDictionary()


@contextmanager
def use_sandbox(
    sandbox: Sandbox | None, *, network: str | None = None, attempt: Attempt | None = None
) -> Iterator[None]:
    """Use this sandbox in the context. `network` is the network its commands can reach ("": none; None:
    unknown); `attempt` runs a command for `try_command`.
    """
    token, reached, tried = _current.set(sandbox), _network.set(network), _attempt.set(attempt)
    try:
        yield
    finally:
        _attempt.reset(tried)
        _network.reset(reached)
        _current.reset(token)


async def try_command(command: str) -> CommandResult | None:
    """Run a command of our own in the sandbox of the current model call; None if there is none.

    Nobody is asked for an approval, so it must not come from a model. Raises SandboxUnavailable.
    """
    attempt = _attempt.get()
    return await attempt(command) if attempt else None


def find_sandbox() -> Sandbox | None:
    """Return the sandbox of the current tool call, or None for an agent without one."""
    return _current.get()


def current_sandbox() -> Sandbox:
    """Return the sandbox of the current tool call. Raises SandboxError."""
    sandbox = _current.get()
    if sandbox is None:
        raise SandboxError("This agent has no sandbox; turn on the sandbox feature.")
    return sandbox


@documented_tool
async def bash(command: str, description: str | None = None, timeout_seconds: float | None = None) -> str:
    """Run a bash script in the workspace. Background processes end with it; output of more than 20,000
    characters goes to a file.

    Args:
        command: A command, or a script of several lines.
        description: What it does, in 3 to 8 words and in the person's language; shown to people.
        timeout_seconds: Time limit in seconds, lower than the sandbox's own limit.
    """
    result = await current_sandbox().execute_command(command, seconds=timeout_seconds)
    note = describe_network_failure(result.output, result.exit_code, _network.get())
    return "\n".join(filter(None, [format_result(result), note]))


@documented_tool
async def ls(path: str = WORKSPACE) -> str:
    """List a folder and its subfolders, two levels deep. Names that start with a dot are omitted.

    Args:
        path: The folder; by default, the workspace.
    """
    if path.rstrip("/") in {"", "/mnt", VIRTUAL_ROOT}:
        return "\n".join(f"{VIRTUAL_ROOT}/{area}/" for area in AREAS)
    lines = await _list_tree(current_sandbox(), path.rstrip("/"), LEVELS, "")
    shown = lines[:MAX_LISTED]
    more = (
        [f"[{len(lines) - MAX_LISTED} more; list a subfolder to see them]"] if len(lines) > MAX_LISTED else []
    )
    return "\n".join([*shown, *more]) or "(empty)"


@documented_tool
async def read_file(
    path: str,
    offset: int | None = None,
    limit: int | None = None,
    skip_characters: int = 0,
    end_line: SkipJsonSchema[int | None] = None,
) -> str:
    """Read a text file, at most 16,000 characters at once. Of a PDF or an office document, read the .md
    file beside it.

    Args:
        path: The file.
        offset: Number of the first line to show; the first line of the file is 1.
        limit: How many lines to show; by default, as many as fit.
        skip_characters: Number of characters of the first line to skip, to read on in a long line.
    """
    encoding, text = await read_text(current_sandbox(), path)
    lines = _DAMAGED.sub("\ufffd", text).splitlines(keepends=True)
    first = max(1, offset or 1)
    last = min(len(lines), end_line or len(lines))
    if limit is not None and limit > 0:
        last = min(last, first + limit - 1)
    if lines and first > max(last, 1):
        raise SandboxError(f"Invalid line numbers: the file has lines 1 to {len(lines)}.")
    shown = _join_lines(lines, first, last, max(0, skip_characters)) or "(empty)"
    return shown if encoding.codec == UTF_8.codec else f"{shown}\n[encoding: {encoding.name}]"


@documented_tool
async def write_file(path: str, content: str, append: bool = False) -> str:
    """Write a text file. Missing folders are created.

    Args:
        path: The file.
        content: The full text of the file, or the text to append.
        append: True: append to the file; false: replace its content.
    """
    sandbox = current_sandbox()
    async with _change_lock(sandbox):
        encoding = await find_existing_encoding(sandbox, path)
        data = encode_text(encoding, content, path)
        await sandbox.write_file(path, data.removeprefix(encoding.bom) if append else data, append=append)
    kept = "" if encoding.codec == UTF_8.codec else f", in the file's encoding {encoding.name}"
    return f"{'Appended to' if append else 'Wrote'} {path} ({len(content):,} characters{kept})."


@documented_tool
async def str_replace(path: str, old_str: str, new_str: str, replace_all: bool = False) -> str:
    """Replace text in a file.

    Args:
        path: The file.
        old_str: The exact text to replace, including whitespace. It must occur only once.
        new_str: The text to insert instead.
        replace_all: True: replace every occurrence, if there are several.
    """
    if not old_str:
        raise SandboxError("old_str is empty; give the text to replace.")
    sandbox = current_sandbox()
    async with _change_lock(sandbox):
        encoding, text = await read_text(sandbox, path)
        count = text.count(old_str)
        if not count:
            raise SandboxError(f"{path} does not contain this text; read the file and copy the text exactly.")
        if count > 1 and not replace_all:
            raise SandboxError(
                f"{path} contains this text {count} times; include more of it, or set replace_all."
            )
        await sandbox.write_file(path, encode_text(encoding, text.replace(old_str, new_str), path))
    return f"Replaced {count} occurrence{'s' if count > 1 else ''} in {path}."


NOT_SHOWN = "Not presented:"
"""Begins the list of refused files in a result of `present_files`."""


@documented_tool
async def present_files(paths: list[str], tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Attach files to your answer, once they are written. People never get a file that is not presented.

    Args:
        paths: Files in /mnt/user-data/outputs, by path or name.
    """
    sandbox = current_sandbox()
    if not paths:
        raise SandboxError("paths is empty; give the path of at least one file.")
    shown: list[str] = []
    refused: list[str] = []
    for path in dict.fromkeys(map(outputs_path, paths)):
        try:
            await _check_presentable(sandbox, path)
            shown.append(path)
        except (SandboxGone, SandboxUnavailable):
            raise
        except SandboxError as error:
            refused.append(str(error).rstrip("."))
    if not shown:
        raise SandboxError(f"Nothing was presented: {'; '.join(refused)}.")
    text = f"Presented: {', '.join(shown)}."
    if refused:
        text += f" {NOT_SHOWN} {'; '.join(refused)}."
    presented = {PRESENTED_FILES: shown}
    message = ToolMessage(text, artifact=presented, tool_call_id=tool_call_id, name="present_files")
    return Command(update={"messages": [message], "artifacts": shown})


GROUPS: Mapping[str, Sequence[BaseTool]] = {
    BASH: (bash,),
    READ: (ls, read_file),
    WRITE: (write_file, str_replace, present_files),
}
"""Tools by the name of their group, for custom agents."""
# The alternatives are the names of the same arguments in Claude Code, Codex and Gemini CLI (November 2026).
bash.metadata = {ALIASES: {"timeout_seconds": ["timeout", "seconds"]}}
ls.metadata = {
    "idempotent": True,
    ALIASES: {"path": ["directory", "dir", "dir_path", "folder", "file_path"]},
}
read_file.metadata = {"idempotent": True, ALIASES: {"offset": ["start_line", "line", "start"]}}
present_files.metadata = {"idempotent": True, ORDER: Order.LAST}


def sandbox_tools(groups: Collection[str] | None = None, without: Collection[str] = ()) -> list[BaseTool]:
    """Return the tools of these groups (None: all groups), except those in `without`."""
    wanted = [tool for group, tools in GROUPS.items() if groups is None or group in groups for tool in tools]
    return [tool for tool in wanted if tool.name not in without]


def format_result(result: CommandResult) -> str:
    output = result.output.rstrip("\n")
    if result.stopped:
        note = f"[stopped: {result.stopped}]"
    elif result.timed_out:
        note = "[stopped: it took too long; do less in one command, or set a higher time limit]"
    elif result.exit_code:
        note = f"[exit code {result.exit_code}]"
    else:
        note = "" if output else "(no output)"
    cut = CUT.format(lost=count_lost_bytes(output)) if result.truncated else ""
    return "\n".join(filter(None, [output, cut, note]))


def count_lost_bytes(output: str) -> str:
    """Return the number of bytes missing from a truncated output; "Some" if unspecified."""
    found = LOST.search(output)
    return found["count"] if found else "Some"


def outputs_path(path: str) -> str:
    """Return the path of a file to present; a bare name, or a path that starts with outputs, is in that
    folder.
    """
    path = path.strip().removeprefix("sandbox:").removeprefix("./")
    return path if path.startswith("/") else f"{OUTPUTS}/{path.removeprefix('outputs/')}"


async def _check_presentable(sandbox: Sandbox, path: str) -> None:
    """Check that a file may be presented. Raises SandboxError with the remedy."""
    folder, _, name = path.rpartition("/")
    if not f"{folder}/".startswith(f"{OUTPUTS}/") or not name:
        raise SandboxError(f"{path} is not in {OUTPUTS}; copy it there, then present the copy")
    entries = await list_existing(sandbox, folder)
    if any(entry.name == name and not entry.is_dir for entry in entries):
        return
    beside: Sequence[DirEntry] = ()
    own = f"{WORKSPACE}/{path.removeprefix(f'{OUTPUTS}/')}"
    with suppress(SandboxError):
        beside = await sandbox.list_dir(own.rpartition("/")[0])
    if any(entry.name == name and not entry.is_dir for entry in beside):
        raise SandboxError(f"{own} is not in {OUTPUTS}; copy it there, then present the copy")
    raise no_such_file(path, entries)


async def _list_tree(sandbox: Sandbox, path: str, levels: int, indent: str) -> list[str]:
    lines: list[str] = []
    for entry in await list_existing(sandbox, path):
        if entry.name.startswith("."):
            continue
        lines.append(f"{indent}{_format_entry(entry)}")
        if entry.is_dir and levels > 1:
            lines += await _list_tree(sandbox, f"{path}/{entry.name}", levels - 1, f"{indent}  ")
    return lines


def _format_entry(entry: DirEntry) -> str:
    return f"{entry.name}/" if entry.is_dir else f"{entry.name} ({entry.size:,} bytes)"


def _join_lines(lines: Sequence[str], first: int, last: int, skip: int) -> str:
    """Join as many lines as fit, without `skip` characters of the first one, followed by a note about what
    they are unless they are the whole file.
    """
    shown: list[str] = []
    size, at = 0, first
    while at <= last and (size + len(lines[at - 1]) <= READ_CHARACTERS or not shown):
        begin = skip if at == first else 0
        part = lines[at - 1][begin : begin + READ_CHARACTERS]
        shown.append(part)
        size += len(part)
        if (end := begin + len(part)) < len(lines[at - 1]):
            more = (
                f"characters {begin + 1:,} to {end:,} of {len(lines[at - 1]):,} in line {at} of {len(lines)}"
            )
            return f"{''.join(shown)}\n[{more}; continue with offset={at}, skip_characters={end}]"
        at += 1
    text = "".join(shown)
    if at <= last:
        text += f"\n[lines {first} to {at - 1} of {len(lines)}; continue with offset={at}]"
    elif shown and (len(shown) < len(lines) or skip):
        text += f"\n[lines {first} to {last} of {len(lines)}]"
    return text


def _change_lock(sandbox: Sandbox) -> asyncio.Lock:
    """Return the lock for file changes, since subagents work in the same folders."""
    return _change_locks.setdefault(sandbox, asyncio.Lock())
