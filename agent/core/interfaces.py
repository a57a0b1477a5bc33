"""Protocols used by the middleware, with their data classes.

`roebot_testing.agent.conformance` holds their test suites. Importing this module loads no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agent.errors import AgentError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from agent.core.run_context import RunContext
    from agent.core.schemas import UploadInfo
    from agent.core.state import ThreadData, UsageCounts


class ToolJournal(Protocol):
    """Records started calls. A call is identified by its thread and an id unique in the thread."""

    async def begin(self, thread_id: str, call_id: str) -> bool:
        """Durably record that the call is about to run; return True if it was already recorded."""
        ...

    async def finish(self, thread_id: str, call_id: str) -> None:
        """Delete the record once the call's result is stored. Unknown calls are ignored."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The owner of a memory. Scopes are strictly separate.

    `kind` is `person` (used in private chats only) or `group`; `key` is the person's or the chat's id.
    """

    kind: str
    account: str
    key: str

    @classmethod
    def of(cls, context: RunContext) -> MemoryScope | None:
        """Return the group's scope in a group, otherwise the person's; None if neither is known."""
        account = context.account or ""
        if context.chat_kind == "group":
            return cls("group", account, context.chat) if context.chat else None
        return cls("person", account, context.user_id) if context.user_id else None


class MemoryStore(Protocol):
    """Stores memories. The store decides how and when a queued update is applied."""

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Queue an update with a thread's messages; a later one replaces it."""
        ...

    async def text(self, scope: MemoryScope) -> str | None:
        """Return the text for the model, "" if nothing is remembered; None hides the memory."""
        ...


@runtime_checkable
class CountsErasures(Protocol):
    """A memory store that counts erasures."""

    async def count_erasures(self, scope: MemoryScope) -> int:
        """Return the number of erasures, which increases when an erasure is complete."""
        ...


@runtime_checkable
class HastensUpdates(Protocol):
    """A memory store that applies queued updates after a delay, or immediately if a new thread needs them."""

    async def hasten_updates(
        self, scope: MemoryScope, thread_id: str, author: str | None, *, seconds: float
    ) -> bool:
        """Apply updates with messages by `author` in other threads; wait at most `seconds`.

        Return False if some may still be pending.
        """
        ...


class SandboxError(AgentError):
    """The sandbox cannot perform the request; the message states why, without a host path."""


class SandboxGone(SandboxError):
    """The sandbox has been released."""


class SandboxUnavailable(SandboxError):
    """Commands cannot run here; the message states what is missing and how to fix it."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A command's output (both streams) and exit code, which is None if it was stopped.

    `truncated` is true if the middle of a long output was omitted. `stopped` is a sentence that names the
    limit that ended it; None for the time limit.
    """

    output: str
    exit_code: int | None
    truncated: bool = False
    stopped: str | None = None

    @property
    def timed_out(self) -> bool:
        """Return whether the time limit stopped the command."""
        return self.exit_code is None and self.stopped is None


@dataclass(frozen=True, slots=True)
class DirEntry:
    """One entry of a folder: `size` in bytes, 0 for a folder."""

    name: str
    is_dir: bool
    size: int


class Sandbox(Protocol):
    """A thread's sandbox. Paths are as the agent sees them: relative to the workspace, or under
    `/mnt/user-data`.

    All methods raise SandboxError: no such file, a path that leads outside, SandboxUnavailable if commands
    cannot be run, and SandboxGone after the release.
    """

    async def execute_command(self, command: str, *, seconds: float | None = None) -> CommandResult:
        """Run a shell command in the workspace for at most `seconds` (default: the sandbox's limit)."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    async def write_file(self, path: str, content: bytes, *, append: bool = False) -> None:
        """Write or append, creating missing folders."""
        ...

    async def list_dir(self, path: str) -> Sequence[DirEntry]:
        """List the entries of a folder, sorted by name."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxFacts:
    """Facts for the model about commands in a sandbox; the default is none.

    `network` is what they reach ("" for nothing, None if unknown), `seconds` and `memory_mb` are their
    limits, `python` is its version and `packages` are those worth naming.
    """

    network: str | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    python: str = ""
    packages: tuple[str, ...] = ()


@runtime_checkable
class DescribesSandboxes(Protocol):
    """A provider that can describe its sandboxes."""

    @property
    def facts(self) -> SandboxFacts:
        """Return the facts, which never change."""
        ...


class SandboxProvider(Protocol):
    """Provides sandboxes. A thread always gets the same id, also after a release or a restart.

    A provider must not keep unreleased sandboxes forever: it drops the least recently used ones, or those
    unused for a long time.
    """

    async def acquire(self, thread_id: str) -> str:
        """Return the id of the thread's sandbox, which is ready for use. Acquiring it again has no effect."""
        ...

    def get(self, sandbox_id: str) -> Sandbox | None:
        """Return the sandbox while it is acquired."""
        ...

    async def release(self, sandbox_id: str) -> None:
        """Release the sandbox; its files stay. Unknown ids are ignored."""
        ...

    async def close(self) -> None:
        """Stop containers and processes kept for later commands. Files stay; the provider remains usable.

        Raises SandboxUnavailable if that fails.
        """
        ...


@dataclass(frozen=True, slots=True)
class SubagentKind:
    """A kind of subagent; `description` explains when to use it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A delegated task: `description` for people, `prompt` for the subagent; `id` is the tool call's id."""

    id: str
    description: str
    prompt: str
    kind: str = "general-purpose"
    max_turns: int | None = None


class SubagentStatus(StrEnum):
    """Final status of a task."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class SubagentStep:
    """The subagent's model answered for the `turn`-th time (from 1), with these tool calls.

    A runner whose tasks may have to wait reports turn 0 when the work begins.
    """

    turn: int
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubagentResult:
    """Outcome of a task: `text` is its result or the error.

    `usage` is the total of its models, None if none reported any; `artifacts` are the files it presents.
    """

    status: SubagentStatus
    text: str
    usage: UsageCounts | None = None
    artifacts: tuple[str, ...] = ()


StepListener = Callable[[SubagentStep], None]
"""Called at each step of a subagent."""


class SubagentWaiting(Protocol):
    """Lets a subagent wait for a person, even beyond the lead agent's run."""

    saver: Any
    """LangGraph checkpoint saver with the subagent's state."""

    async def store(self) -> None:
        """Store the state durably."""
        ...

    async def ask(self, questions: Sequence[Any]) -> Mapping[str, Any]:
        """Ask one of these interrupts in the lead agent's run and return its answer by the interrupt's id.

        Raises langgraph's GraphInterrupt while there is no answer.
        """
        ...


class SubagentRunner(Protocol):
    """Runs tasks to completion."""

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        """Return the available kinds."""
        ...

    async def run(
        self,
        task: SubagentTask,
        context: RunContext,
        on_step: StepListener | None = None,
        waiting: SubagentWaiting | None = None,
    ) -> SubagentResult:
        """Run a task for a run of the lead agent. An unknown kind fails; only exceptions of `waiting.ask` are
        raised.

        With `waiting`, a subagent that asks a person waits for the answer, and a later call goes on from
        there; without it, the task fails. Cancelling the call stops the subagent.
        """
        ...


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """Name and description of a tool."""

    name: str
    description: str


class ToolCatalogue(Protocol):
    """Tools by name."""

    def entries(self) -> Sequence[CatalogueEntry]:
        """Return all tools in order."""
        ...

    def search(self, query: str, *, limit: int) -> Sequence[CatalogueEntry]:
        """Return up to `limit` matching tools, best first.

        A query of tool names separated by commas returns exactly these.
        """
        ...

    def get(self, name: str) -> BaseTool | None:
        """Return a tool by name."""
        ...


class ThreadFileStore(Protocol):
    """Uploads by thread. Every method raises BadIdentifier for an invalid thread id."""

    async def list_uploads(self, thread_id: str) -> Sequence[UploadInfo]:
        """List the thread's uploads by name; empty for an unknown thread.

        A document's Markdown is part of its entry and not listed; `read` returns it by its own name.
        """
        ...

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """Return the content of an upload; None if it is missing or larger than `limit` bytes."""
        ...

    def folders(self, thread_id: str) -> ThreadData:
        """Return the host paths of the thread's folders, which may not exist. No disk access."""
        ...
