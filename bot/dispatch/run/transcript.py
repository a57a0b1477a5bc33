"""What a run has said so far, from its events: assistant messages in the order in which they began."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bot.dispatch.run.progress import ProgressTracker
from bot.dispatch.run.tool_log import ToolLog
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    MessageJoined,
    MessageText,
    RunEnded,
    RunEvent,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
    TodosUpdated,
    TokenUsage,
    ToolCall,
    ToolProgress,
    ToolResult,
    UsageReported,
)


@dataclass(slots=True)
class RunTranscript:
    """Collects one run. A new attempt of the runtime replaces what the one before it said, but neither what
    it called (`steps`) nor what that cost (`used`, None where nobody counted).

    `taken_back` says that this attempt has taken a text back. `joined` are the ids of the messages that
    joined the run; where one did stands the line that `mark` gives for it ("" for none).
    """

    joined_line: Callable[[str], str] = lambda _message: ""
    texts: dict[str, str] = field(default_factory=dict)
    joined: dict[str, None] = field(default_factory=dict)
    artifacts: dict[str, None] = field(default_factory=dict)
    progress: ProgressTracker = field(default_factory=ProgressTracker)
    tool_log: ToolLog = field(default_factory=ToolLog)
    attempt: int = 1
    retracted: bool = False
    events_missing: bool = False
    failure: RunFailed | None = None
    question: RunInterrupted | None = None
    status: str | None = None
    usage: TokenUsage | None = None

    @property
    def text(self) -> str:
        """The answer as it stands."""
        return "\n\n".join(text for text in self.texts.values() if text.strip())

    @property
    def incomplete(self) -> bool:
        """Whether the state has to be read to know the whole answer."""
        return self.events_missing or self.attempt > 1 or (self.status == "success" and self.silent)

    @property
    def silent(self) -> bool:
        """Whether the agent has said nothing."""
        return not any(text.strip() for key, text in self.texts.items() if key not in self.joined)

    def record_event(self, event: RunEvent, at: float | None = None) -> bool:
        """Take one event over, which happened `at` that time (None: not known); whether the text or the
        progress changed.
        """
        match event:
            case TextDelta(message_id, text):
                self.texts[message_id] = self.texts.get(message_id, "") + text
                return True
            case MessageText(message_id, text):
                return self._record_text(message_id, text)
            case AttemptStarted(number):
                return self._begin_attempt(number)
            case MessageJoined(messages):
                return self._record_joined(messages)
            case TodosUpdated() | ToolProgress():
                return self.progress.record_event(event)
            case ToolCall() | ToolResult():
                self.tool_log.record_event(event, at)
            case _:
                self._record_quiet_event(event)
        return False

    def _record_quiet_event(self, event: RunEvent) -> None:
        """What shows only when the run has ended, or not at all."""
        match event:
            case ArtifactsPresented(paths):
                self.artifacts.update(dict.fromkeys(paths))
            case RunFailed():
                self.failure = event
            case RunInterrupted():
                self.question = event
            case UsageReported(usage):
                self.usage = usage if self.usage is None else self.usage + usage
            case EventsMissing():
                self.events_missing = True
            case RunEnded(status):
                self.status = status

    def _record_text(self, message_id: str, text: str) -> bool:
        """Messages without a text are many; one takes back what was shown of it, if anything was."""
        before = self.texts.get(message_id, "")
        if text or before:
            self.texts[message_id] = text
            self.retracted = self.retracted or not text
        return text != before

    def _record_joined(self, messages: Iterable[str]) -> bool:
        """Whether a line tells of what joined only now."""
        fresh = [message for message in messages if message not in self.joined]
        self.joined.update(dict.fromkeys(fresh))
        lines = {message: line for message in fresh if (line := self.joined_line(message))}
        self.texts.update(lines)
        return bool(lines)

    def reconcile(self, answer: ThreadAnswer) -> None:
        """The thread's state is the truth."""
        self.tool_log.reconcile(answer.calls)
        if answer.texts:
            self.texts = {}
            self.joined = {}
            for index, text in enumerate([*answer.texts, ""]):
                self._record_joined(join.id for join in answer.joins if join.after == index)
                self.texts[str(index)] = text
        self.question = self.question or answer.interrupt

    def _begin_attempt(self, number: int) -> bool:
        if number == self.attempt:
            return False
        self.attempt = number
        self.texts.clear()
        self.joined.clear()
        self.artifacts.clear()
        self.progress.clear()
        self.retracted = False
        self.failure = None
        return True
