"""Execution of tasks on external agents: one program per task, with a time limit, and one task at a time per
thread.

A process per task keeps one conversation's content from another. While an answer is awaited, the end of the
process is watched too, because the acp package leaves a request pending if a write fails.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import structlog

from agent.acp.incoming_updates import TaskOutput
from agent.acp.program import (
    AgentProgram,
    ProgramEnded,
    ProgramNotStarted,
    resolve_command,
    start_program,
    suggest_adapter,
)
from agent.config.harness import AcpAgent
from agent.core.interfaces import StepListener, SubagentResult, SubagentStatus
from agent.errors import AcpError, AcpFailed, AcpUnavailable, AgentError, redact_line
from agent.sandbox.paths import ACP_WORKSPACE, Mount, VirtualPaths
from agent.shared.process import TAIL_BYTES, OutputBuffer
from agent.uploads.folders import ThreadFolders

MAX_FILES, MAX_NAMED = 5_000, 50
_SKIPPED = frozenset({"node_modules", "__pycache__"})
FileSnapshot = Mapping[str, tuple[int, int]]
"""Size and modification time (ns) of each file, by its relative path."""


@dataclass(frozen=True, slots=True)
class AcpWorkspace:
    """The directory of a thread for external agents, and its virtual paths."""

    folder: Path
    paths: VirtualPaths

    @classmethod
    def for_thread(cls, folders: ThreadFolders, thread_id: str) -> AcpWorkspace:
        """Return a thread's workspace, creating it if missing. Raises BadIdentifier."""
        folder = folders.make_acp_workspace(thread_id).absolute()
        thread = folder.parent
        hidden = {thread: "/mnt", thread.parent: "[…]", thread.parent.parent: "[…]"}
        return cls(folder, VirtualPaths([Mount(ACP_WORKSPACE, folder)], hidden))


def snapshot_files(folder: Path) -> FileSnapshot:
    """Record up to `MAX_FILES` files of the directory, skipping hidden files and links."""
    found: dict[str, tuple[int, int]] = {}
    for path, status in _walk_files(str(folder)):
        if len(found) >= MAX_FILES:
            break
        found[os.path.relpath(path, folder)] = (status.st_size, status.st_mtime_ns)
    return found


def describe_changes(before: FileSnapshot, after: FileSnapshot) -> str:
    """Return a sentence that lists new and changed files by virtual path, or ""."""
    names = sorted(name for name, state in after.items() if before.get(name) != state)
    if not names:
        return ""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"Files that it created or changed: {', '.join(_virtual_paths(names[:MAX_NAMED]))}{more}."


def _virtual_paths(names: Sequence[str]) -> Iterator[str]:
    return (f"{ACP_WORKSPACE}/{name}" for name in names)


def _walk_files(root: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [root]
    while waiting:
        for entry in _scan_folder(waiting.pop()):
            if entry.name.startswith(".") or entry.name in _SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, entry.stat(follow_symlinks=False)


def _scan_folder(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


log = structlog.get_logger(__name__)
NO_THREAD = "It can only work in a conversation, and there is none."
NO_OUTPUT = "It ended without any output."
OUT_OF_TIME = "It was stopped after {seconds:g} seconds."
REFUSED = "It refused to continue."
CUT_OFF = "It reached one of its own limits ({reason}) and may not have finished."
PARTIAL_OUTPUT = "Its output so far: {said}"


@dataclass(frozen=True, slots=True)
class _Job:
    """A task and its collected output."""

    name: str
    agent: AcpAgent
    task: str
    output: TaskOutput
    tail: OutputBuffer

    def with_partial_output(self, text: str) -> str:
        """Append the agent's output so far to the text."""
        return f"{text} {PARTIAL_OUTPUT.format(said=self.output.text)}" if self.output.text else text

    @property
    def stderr_note(self) -> str:
        """Return the program's last stderr line in parentheses, or ""."""
        return f" (stderr: {redact_line(self.tail.last_line)})" if self.tail.last_line else ""


class AcpRunner:
    """Runs tasks in the thread's directory, one at a time, since they share it.

    Each task starts a program and ends it with all its children. `environ` provides the basic variables.
    """

    def __init__(self, folders: ThreadFolders, *, environ: Mapping[str, str] = os.environ) -> None:
        self._folders, self._environ = folders, environ
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run_task(
        self,
        name: str,
        agent: AcpAgent,
        task: str,
        thread_id: str | None,
        on_step: StepListener | None = None,
    ) -> SubagentResult:
        """Run a task and return its result; failures are described in its text.

        Cancelling ends the program.
        """
        if thread_id is None:
            return SubagentResult(SubagentStatus.FAILED, NO_THREAD)
        job = _Job(name, agent, task, TaskOutput(on_step), OutputBuffer(TAIL_BYTES))
        try:
            place = await asyncio.to_thread(AcpWorkspace.for_thread, self._folders, thread_id)
            async with self._locks.setdefault(thread_id, asyncio.Lock()):
                before = await asyncio.to_thread(snapshot_files, place.folder)
                result = await self._run_with_timeout(job, place.folder)
                files = describe_changes(before, await asyncio.to_thread(snapshot_files, place.folder))
        except AgentError as error:
            return SubagentResult(SubagentStatus.FAILED, str(error))
        text = place.paths.mask(result.text)
        return SubagentResult(result.status, "\n\n".join(filter(None, [text, files])))

    async def _run_with_timeout(self, job: _Job, folder: Path) -> SubagentResult:
        seconds = job.agent.timeout_seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                stopped = await self._run_in_session(job, folder)
        except TimeoutError:
            if not limit.expired():
                raise
            log.warning("acp_agent_timed_out", agent=job.name, seconds=seconds)
            return SubagentResult(
                SubagentStatus.TIMED_OUT, job.with_partial_output(OUT_OF_TIME.format(seconds=seconds))
            )
        except AcpError as error:
            log.warning("acp_agent_failed", agent=job.name, detail=redact_line(str(error)))
            return SubagentResult(SubagentStatus.FAILED, job.with_partial_output(str(error)))
        return _build_result(stopped, job)

    async def _run_in_session(self, job: _Job, folder: Path) -> str:
        """Run the task and return the stop reason. Raises AcpError."""
        wire = await self._load_wire(job.name)
        async with AsyncExitStack() as stack:
            program = await stack.enter_async_context(self._start_program(job, folder))
            session = await self._open_session(wire, stack, program, job, folder)
            try:
                return str(await session.run_task(job.task))
            except ProgramEnded as error:
                raise AcpFailed(f"{error} during the task{job.stderr_note}.", agent=job.name) from None
            except wire.RequestFailed as error:
                raise AcpFailed(f"{error}.", agent=job.name) from None

    async def _open_session(
        self, wire: Any, stack: AsyncExitStack, program: AgentProgram, job: _Job, folder: Path
    ) -> Any:
        """Open a session that lives as long as the stack. Raises AcpUnavailable."""
        approve, seconds = job.agent.auto_approve_permissions, job.agent.start_seconds
        session = wire.open_session(program, folder, job.output, agent=job.name, approve=approve)
        try:
            async with asyncio.timeout(seconds):
                return await stack.enter_async_context(session)
        except TimeoutError:
            why = f"did not open a session within {seconds:g} seconds{job.stderr_note}"
        except ProgramEnded as error:
            why = f"{error} before it opened a session{job.stderr_note}"
        except wire.RequestFailed as error:
            raise AcpUnavailable(f"{error}.", agent=job.name) from None
        raise AcpUnavailable(f"{why}. {suggest_adapter(job.agent.command)}", agent=job.name)

    @asynccontextmanager
    async def _start_program(self, job: _Job, folder: Path) -> AsyncIterator[AgentProgram]:
        """Start the agent's program. Raises AcpUnavailable."""
        try:
            command = await asyncio.to_thread(resolve_command, job.agent, self._environ)
            async with job.tail.open_pipe() as errors, start_program(command, folder, errors) as program:
                yield program
        except ProgramNotStarted as error:
            raise AcpUnavailable(f"{error}. {suggest_adapter(job.agent.command)}", agent=job.name) from None

    async def _load_wire(self, name: str) -> Any:
        try:
            return await asyncio.to_thread(import_module, "agent.acp.wire")
        except ModuleNotFoundError as error:
            message = (
                "needs the package agent-client-protocol, which is not installed: pip install 'roebot[acp]'"
            )
            raise AcpUnavailable(message, agent=name) from error


def _build_result(stopped: str, job: _Job) -> SubagentResult:
    if stopped == "end_turn":
        done = SubagentStatus.COMPLETED if job.output.text else SubagentStatus.FAILED
        return SubagentResult(done, job.output.text or NO_OUTPUT)
    text = REFUSED if stopped == "refusal" else CUT_OFF.format(reason=stopped)
    return SubagentResult(SubagentStatus.FAILED, job.with_partial_output(text))
