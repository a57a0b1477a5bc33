"""Hands tasks to agents of other makers: each by a program of its own, bounded in time, one at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import structlog

from agent.acp.incoming_updates import Hearing
from agent.acp.launchers import hint
from agent.acp.program import NoProgram, Program, ProgramOver, found, started
from agent.acp.workspace import Workspace, seen, told_of
from agent.config.acp import AcpAgent
from agent.core.interfaces import StepListener, SubagentResult, SubagentStatus
from agent.core.redaction import redact_line
from agent.errors import AcpError, AcpFailed, AcpUnavailable, AgentError
from agent.shared.process import TAIL_BYTES, OutputBuffer
from agent.uploads.folders import ThreadFolders

log = structlog.get_logger(__name__)
NO_THREAD = "There is no conversation whose folder it could work in."
NOTHING = "It ended without saying anything."
OUT_OF_TIME = "It was stopped after {seconds:g} seconds."
REFUSED = "It refused to go on."
CUT_OFF = "It reached a limit of its own ({reason}) and may not be done."
SO_FAR = "So far it said: {said}"


@dataclass(frozen=True, slots=True)
class _Job:
    """A task, for whom it is, and what is heard of it."""

    name: str
    agent: AcpAgent
    task: str
    hearing: Hearing
    tail: OutputBuffer

    def told(self, text: str) -> str:
        """The text, and what the agent said until then."""
        return f"{text} {SO_FAR.format(said=self.hearing.said)}" if self.hearing.said else text

    @property
    def last_words(self) -> str:
        """The last that the program said on stderr, in brackets."""
        return f" (it said: {redact_line(self.tail.last_line)})" if self.tail.last_line else ""


class AcpAgents:
    """Runs tasks in the thread's own folder, one at a time for each thread, since they share that folder.

    An agent is started for a task and ended with it, with everything that it started. `environ` is where the
    basic variables come from that it gets.
    """

    def __init__(self, folders: ThreadFolders, *, environ: Mapping[str, str] = os.environ) -> None:
        self._folders, self._environ = folders, environ
        self._alone: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(
        self, name: str, agent: AcpAgent, task: str, thread_id: str | None, told: StepListener | None = None
    ) -> SubagentResult:
        """The end of the task; what goes wrong is its text. To cancel it ends the agent."""
        if thread_id is None:
            return SubagentResult(SubagentStatus.FAILED, NO_THREAD)
        job = _Job(name, agent, task, Hearing(told), OutputBuffer(TAIL_BYTES))
        try:
            place = await asyncio.to_thread(Workspace.of, self._folders, thread_id)
            async with self._alone.setdefault(thread_id, asyncio.Lock()):
                before = await asyncio.to_thread(seen, place.folder)
                result = await self._in_time(job, place.folder)
                files = told_of(before, await asyncio.to_thread(seen, place.folder))
        except AgentError as error:
            return SubagentResult(SubagentStatus.FAILED, str(error))
        text = place.paths.mask(result.text)
        return SubagentResult(result.status, "\n\n".join(filter(None, [text, files])))

    async def _in_time(self, job: _Job, folder: Path) -> SubagentResult:
        seconds = job.agent.timeout_seconds
        try:
            async with asyncio.timeout(seconds) as limit:
                stopped = await self._asked(job, folder)
        except TimeoutError:
            if not limit.expired():
                raise
            log.warning("acp_agent_timed_out", agent=job.name, seconds=seconds)
            return SubagentResult(SubagentStatus.TIMED_OUT, job.told(OUT_OF_TIME.format(seconds=seconds)))
        except AcpError as error:
            log.warning("acp_agent_failed", agent=job.name, detail=redact_line(str(error)))
            return SubagentResult(SubagentStatus.FAILED, job.told(str(error)))
        return _ended(stopped, job)

    async def _asked(self, job: _Job, folder: Path) -> str:
        """Why it stopped. Raises AcpError."""
        wire = await self._wire(job.name)
        async with AsyncExitStack() as stack:
            program = await stack.enter_async_context(self._started(job, folder))
            session = await self._opened(wire, stack, program, job, folder)
            try:
                return str(await session.ask(job.task))
            except ProgramOver as error:
                raise AcpFailed(f"{error} during the task{job.last_words}.", agent=job.name) from None
            except wire.NotAnswered as error:
                raise AcpFailed(f"{error}.", agent=job.name) from None

    async def _opened(
        self, wire: Any, stack: AsyncExitStack, program: Program, job: _Job, folder: Path
    ) -> Any:
        """A session, open as long as the stack. Raises AcpUnavailable."""
        approve, seconds = job.agent.auto_approve_permissions, job.agent.start_seconds
        session = wire.opened(program, folder, job.hearing, agent=job.name, approve=approve)
        try:
            async with asyncio.timeout(seconds):
                return await stack.enter_async_context(session)
        except TimeoutError:
            why = f"opened no session within {seconds:g} seconds{job.last_words}"
        except ProgramOver as error:
            why = f"{error} before it opened a session{job.last_words}"
        except wire.NotAnswered as error:
            raise AcpUnavailable(f"{error}.", agent=job.name) from None
        raise AcpUnavailable(f"{why}. {hint(job.agent.command)}", agent=job.name)

    @asynccontextmanager
    async def _started(self, job: _Job, folder: Path) -> AsyncIterator[Program]:
        """Its program. Raises AcpUnavailable."""
        try:
            command = await asyncio.to_thread(found, job.agent, self._environ)
            async with job.tail.open_pipe() as errors, started(command, folder, errors) as program:
                yield program
        except NoProgram as error:
            raise AcpUnavailable(f"{error}. {hint(job.agent.command)}", agent=job.name) from None

    async def _wire(self, name: str) -> Any:
        try:
            return await asyncio.to_thread(import_module, "agent.acp.wire")
        except ModuleNotFoundError as error:
            message = (
                "needs the package agent-client-protocol, which is not installed: pip install 'roebot[acp]'"
            )
            raise AcpUnavailable(message, agent=name) from error


def _ended(stopped: str, job: _Job) -> SubagentResult:
    """The result of a task that the agent ended for this reason, one of the protocol's."""
    if stopped == "end_turn":
        done = SubagentStatus.COMPLETED if job.hearing.said else SubagentStatus.FAILED
        return SubagentResult(done, job.hearing.said or NOTHING)
    text = REFUSED if stopped == "refusal" else CUT_OFF.format(reason=stopped)
    return SubagentResult(SubagentStatus.FAILED, job.told(text))
