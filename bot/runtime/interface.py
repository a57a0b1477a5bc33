"""Interface to an agent runtime, and a run's events.

Nothing here is specific to our own server: any LangGraph API server can implement it.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from agent.shared.management import Management
from bot.domain import ProgressItem
from bot.turn import ModelCall


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run: `key` is `<turn id>:<n>`; `messages` are human messages in the API's format (dicts).

    `answers` is the id of the interrupt that the messages answer; if it is no longer open, they start a run
    like any others. `decision` is the answer itself for an approval (the words as they were written, and the
    call that they are about) and for a call to the service. `assistant` "" is the default of the runtime
    client.
    """

    thread_id: str
    key: str
    messages: Sequence[Mapping[str, Any]]
    configurable: Mapping[str, Any]
    checkpoint: str = ""
    repeated: bool = False
    answers: str = ""
    decision: Mapping[str, str] | None = None
    assistant: str = ""


COST_DIGITS = 9
"""Decimal places of a cost."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Input and output tokens; `total_tokens` is the provider's figure, usually their sum.

    `cached_tokens` are the input tokens read from the provider's cache; `cost` is in `currency`, 0 if prices
    are not configured.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int = 0
    cost: float = 0.0
    currency: str = ""

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.cached_tokens + other.cached_tokens,
            round(self.cost + other.cost, COST_DIGITS),
            other.currency or self.currency,
        )


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The runtime starts attempt `number` (from 1) of the run."""

    number: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of assistant text for people."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageText:
    """An assistant message as in the state; it replaces the deltas. An empty text retracts them.

    A `remark` stands beside tool calls: it tells about the work, and is not part of the answer. One that
    `presents` stands beside calls that only show people something, so it may be the answer after all
    (`bot.runtime.presented_text`).
    """

    message_id: str
    text: str
    remark: bool = False
    presents: bool = False


@dataclass(frozen=True, slots=True)
class RemarkRecognized:
    """The assistant message in progress calls a tool, so its text is a remark."""

    message_id: str


@dataclass(frozen=True, slots=True)
class ArtifactsPresented:
    """Artifacts presented by the agent, as virtual paths."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadTitled:
    """The thread has received a title, which may consist of its first words."""

    title: str


@dataclass(frozen=True, slots=True)
class TodosUpdated:
    """The agent's current list of todos; replaces the previous one."""

    items: tuple[ProgressItem, ...]


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A tool call or subagent started or finished; an empty title keeps the previous one."""

    item: ProgressItem


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool was called; `args` are its arguments as written by the model."""

    id: str
    tool: str
    args: Any = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call; the tool's name is "" if unknown."""

    id: str
    tool: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Token usage of a step. A run's usage is the sum of all steps, including those of earlier attempts."""

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class ModelsCalled:
    """Model calls that have ended."""

    calls: tuple[ModelCall, ...]


@dataclass(frozen=True, slots=True)
class MessageJoined:
    """The messages that have joined the run so far, by their ids in the thread."""

    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """The run waits for an answer to the interrupt with this id and value."""

    id: str
    value: Any


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run failed: the error's class, with its category after a colon if it has one, and a line for
    display.
    """

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class EventsMissing:
    """Events are missing, so the thread's state has to be read."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run has finished: success, error, interrupted, timeout ("" if the server did not report it)."""

    status: str


RunEvent = (
    AttemptStarted
    | TextDelta
    | MessageText
    | RemarkRecognized
    | ArtifactsPresented
    | ThreadTitled
    | TodosUpdated
    | ToolProgress
    | ToolCall
    | ToolResult
    | UsageReported
    | ModelsCalled
    | MessageJoined
    | RunInterrupted
    | RunFailed
    | EventsMissing
    | RunEnded
)


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with its id in the run's log ("" if the server provides none)."""

    id: str
    event: RunEvent


@dataclass(frozen=True, slots=True)
class JoinedMessage:
    """A message that joined a run: its id in the thread, and the number of preceding texts."""

    id: str
    after: int = 0


@dataclass(frozen=True, slots=True)
class ThreadAnswer:
    """The answer to a turn in the thread's state: assistant texts after its messages, open question, messages
    that joined the newest run with joined messages, and tool calls.

    `artifacts` are the files that the agent has presented in the thread, `presented` those among them that
    tools presented in this answer.
    `remark` is the newest text beside tool calls, if no other assistant message follows it.
    """

    texts: tuple[str, ...]
    artifacts: tuple[str, ...] = ()
    presented: tuple[str, ...] = ()
    interrupt: RunInterrupted | None = None
    error: str = ""
    joins: tuple[JoinedMessage, ...] = ()
    calls: tuple[ToolCall | ToolResult, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True)
class SteerMessage:
    """A human message (a dict, as in a request) for a turn's run; `number` determines the order."""

    turn: int
    number: int
    message: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """A stored file of the runtime."""

    filename: str
    path: str
    size: int
    extra: Mapping[str, Any] = field(default_factory=dict)


class CompactionState(StrEnum):
    """Outcome of a request to summarize a thread.

    SHORT: there is nothing to summarize, or it would not get shorter. BUSY: it was not to be started, or the
    thread has a run. QUESTION: the thread waits for an answer. UNAVAILABLE: this runtime or assistant has no
    such summaries.
    """

    DONE = "done"
    SHORT = "short"
    BUSY = "busy"
    QUESTION = "question"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """A request to summarize a thread; `focus` is the subject that the summary should preserve in detail.

    The same `key` never summarizes twice. Without `starts` only a request that was started before is
    continued. `assistant` "" is the default of the runtime client.
    """

    thread_id: str
    key: str
    configurable: Mapping[str, Any]
    focus: str = ""
    assistant: str = ""
    starts: bool = True


@dataclass(frozen=True, slots=True)
class CompactionOutcome:
    """The result: number of summarized messages, the thread's tokens before and after, and the tokens used.

    `problem` is a line for people about a failure.
    """

    state: CompactionState
    messages: int = 0
    before: int = 0
    after: int = 0
    used: TokenUsage | None = None
    problem: str = ""


class AgentRuntime(Protocol):
    """An agent runtime. Every method raises RuntimeUnreachable, RuntimeRefused or RunMissing."""

    @property
    def management(self) -> Management:
        """Return the management operations. They raise RuntimeUnreachable or RuntimeRefused."""
        ...

    async def create_run(self, request: RunRequest) -> str:
        """Start the run with this key and return its id; if the key was already used, return the existing
        run.
        """
        ...

    async def find_run(self, thread_id: str, key: str) -> str:
        """Return the id of the run with this key, or "" if there is none."""
        ...

    def join_run(self, thread_id: str, run_id: str, after: str) -> AsyncIterator[LoggedEvent]:
        """Yield a run's events after the event `after` ("" for all), up to `RunEnded`."""
        ...

    async def cancel_run(self, thread_id: str, run_id: str) -> None:
        """Cancel a run; ignored if it has finished."""
        ...

    async def read_answer(self, thread_id: str, message_ids: Sequence[str]) -> ThreadAnswer:
        """Read the answer to these messages from the thread's state."""
        ...

    async def steer(self, thread_id: str, offer: SteerMessage) -> None:
        """Put a message into a run's inbox, replacing any with the same id. The run reads it before a model
        call, or never.
        """
        ...

    async def unsteer(self, thread_id: str, message_id: str) -> None:
        """Remove a message from the inbox; ignored if it is missing."""
        ...

    async def compact_thread(self, request: CompactionRequest) -> CompactionOutcome:
        """Summarize the older part of a thread without a run, and wait for the result."""
        ...

    async def checkpoint_before(self, thread_id: str, run_id: str) -> str | None:
        """Return the checkpoint from which a run started; None if the thread had none. A run that failed
        before writing a checkpoint started from the newest.
        """
        ...

    async def upload_file(
        self, thread_id: str, filename: str, content: AsyncIterable[bytes], key: str
    ) -> StoredUpload:
        """Upload a file to the thread. Repeated uploads with the same key are stored once."""
        ...

    async def read_artifact(self, thread_id: str, path: str, limit: int) -> tuple[bytes, str]:
        """Read the content and MIME type of an artifact, at most `limit` bytes."""
        ...

    async def read_usage(self, thread_id: str, run_id: str = "") -> TokenUsage | None:
        """Read the token usage of a thread's runs, or of one run; None if none was reported."""
        ...

    async def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with its runs, checkpoints and files; ignored if it is missing."""
        ...

    async def erase_sign_ins(self, person: str) -> Mapping[str, int]:
        """Delete a person's (`platform:id`) sign-in tokens for MCP servers. Return counts by kind."""
        ...

    async def compact_storage(self) -> None:
        """Purge deleted content from the runtime's database files."""
        ...

    async def is_ready(self) -> bool:
        """Return whether the runtime responds."""
        ...
