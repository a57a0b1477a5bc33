"""Transcript of a run from its events: texts, tool calls and progress.

A remark beside a tool call ("Let me check the clock.") is no part of the answer: the newest one heads the
progress. It stays as text above a question at which the run waits, since it may say what is asked, and in a
native stream, which can't take text back; it is the answer if the run ends without another text and without a
question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from bot.dispatch.tool_arguments import MAX_LINE, one_line, plain_tool_name, render_argument_line
from bot.domain import ProgressItem, ProgressState, StepKind, ToolStep
from bot.runtime.events import DELEGATING, described_task
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    MessageJoined,
    MessageText,
    ModelsCalled,
    RemarkRecognized,
    RunEnded,
    RunEvent,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadAnswer,
    ThreadTitled,
    TodosUpdated,
    TokenUsage,
    ToolCall,
    ToolProgress,
    ToolResult,
    UsageReported,
)
from bot.runtime.presented_text import find_presented
from bot.turn import ModelCall, RunTrace

MAX_ITEMS = 8
MAX_REMARK = 140
"""Characters of a remark that are shown with the progress."""


class ProgressTracker:
    """Collects a run's progress. `items` are the currently displayed steps, `todos` all todos."""

    def __init__(self) -> None:
        self.items: tuple[ProgressItem, ...] = ()
        self.todos: tuple[ProgressItem, ...] = ()
        self._tools: dict[str, ProgressItem] = {}

    def record_event(self, event: TodosUpdated | ToolProgress) -> bool:
        """Record an event. Return whether the displayed items changed."""
        before = self.items
        if isinstance(event, TodosUpdated):
            self.todos = event.items
        else:
            self._record_tool(event.item)
        self.items = select_items(self.todos, tuple(self._tools.values()))
        return self.items != before

    def _record_tool(self, item: ProgressItem) -> None:
        known = self._tools.get(item.id)
        if item.title:
            self._tools[item.id] = item
        elif known is not None:
            self._tools[item.id] = replace(known, state=item.state)

    def clear(self) -> None:
        """Clear all items before a new attempt of the runtime."""
        self.items = self.todos = ()
        self._tools.clear()


def select_items(todos: Sequence[ProgressItem], tools: Sequence[ProgressItem]) -> tuple[ProgressItem, ...]:
    """Return at most MAX_ITEMS steps to display.

    With todos: those around the first unfinished one, followed by the running tools. Without: the latest
    tools.
    """
    running = [item for item in tools if item.state is ProgressState.ACTIVE]
    if not todos:
        return tuple(tools[-MAX_ITEMS:])
    below = running[-(MAX_ITEMS // 2) :]
    room = MAX_ITEMS - len(below)
    at = next((i for i, item in enumerate(todos) if item.state is not ProgressState.DONE), len(todos))
    start = max(0, min(at - 1, len(todos) - room))
    return (*todos[start : start + room], *below)


REMARK = "remark"
"""Id of the remark among the progress items, and of one that was read from the thread's state."""
MAX_CALLS = 200
"""Maximum number of stored model calls of a run; the latest ones are kept."""
MAX_STEPS = 100
"""Maximum number of stored tool calls of a run; the latest ones are kept."""


@dataclass(slots=True)
class _Call:
    step: ToolStep
    began: float | None = None


class ToolLog:
    """Collects a run's tool calls by id, so that repeated events count once. `mask` hides secrets."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._calls: dict[str, _Call] = {}

    @property
    def entries(self) -> tuple[ToolStep, ...]:
        """Return the latest calls, in starting order."""
        return tuple(call.step for call in self._calls.values())[-MAX_STEPS:]

    @property
    def begins(self) -> tuple[tuple[str, float], ...]:
        """Return the ids and begins of the latest calls (s since the epoch, 0.0: unknown), like `entries`."""
        return tuple((key, call.began or 0.0) for key, call in self._calls.items())[-MAX_STEPS:]

    def record_event(self, event: ToolCall | ToolResult, at: float | None) -> None:
        """Record an event; `at` is its time in seconds (None: unknown)."""
        known = self._calls.get(event.id)
        if isinstance(event, ToolResult):
            self._calls[event.id] = _Call(
                self._finished_step(event, known, at), known.began if known else None
            )
        elif known is None:
            arguments = render_argument_line(event.args, self._mask)
            step = ToolStep(plain_tool_name(event.tool), arguments, ProgressState.ACTIVE)
            if event.tool == DELEGATING:
                title = one_line(self._mask(described_task(event.args)), MAX_REMARK)
                step = replace(step, kind=StepKind.SUBAGENT, title=title)
            self._calls[event.id] = _Call(step, at)
        while len(self._calls) > MAX_STEPS:
            del self._calls[next(iter(self._calls))]

    def list_todos(self, items: Iterable[ProgressItem]) -> Iterable[ToolStep]:
        """Return todos as steps."""
        for item in items:
            title = one_line(self._mask(item.title), MAX_REMARK)
            yield ToolStep("", "", item.state, kind=StepKind.TODO, title=title)

    def reconcile(self, told: Iterable[ToolCall | ToolResult]) -> None:
        """Add calls of the thread that no event reported, in its order, after those that it lacks."""
        before, self._calls = self._calls, {}
        for event in told:
            if event.id in before and event.id not in self._calls:
                self._calls[event.id] = before.pop(event.id)
            self.record_event(event, None)
        self._calls = {**before, **self._calls}

    def _finished_step(self, event: ToolResult, known: _Call | None, at: float | None) -> ToolStep:
        """Return the finished step; a repeated event keeps the first duration."""
        step = known.step if known else ToolStep(plain_tool_name(event.tool), "", ProgressState.ACTIVE)
        began = known.began if known else None
        return replace(
            step,
            state=ProgressState.FAILED if event.failed else ProgressState.DONE,
            result=one_line(self._mask(event.text), MAX_LINE),
            seconds=step.seconds if began is None or at is None else max(0.0, at - began),
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """Displayed content of a running run: `text` is the answer so far; its part after `settled` may still
    turn out to be a remark. `remark` is the newest remark on one line ("" if there is none); `retracted`: a
    text was removed from the answer.
    """

    text: str = ""
    settled: str = ""
    remark: str = ""
    progress: tuple[ProgressItem, ...] = ()
    retracted: bool = False


def _join_texts(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())


@dataclass(slots=True)
class RunTranscript:
    """Collects the events of one run. A new attempt of the runtime replaces the texts of the previous one,
    but not its tool calls (`tool_log`) and token usage (`usage`, None if unknown).

    `remarks` are the ids of texts beside tool calls, `presenting` those since the last other call beside
    which something is only presented, `worked` those beside other calls; `growing` is the id of a text that
    is still being written, `latest` that of the newest message. `retracted`: this attempt has retracted a
    text. `joined` are the ids of the messages that joined the run; `joined_line` returns the line that marks
    such a message in the text ("" for none). `title` is that of the thread if it was given in this run.

    `doubtful` are the files that an earlier attempt presented: only the thread's state knows whether they
    still are. `patchy`: the events of an earlier run of the turn were incomplete; `earlier_usage` is that of
    those runs. `calls` are the latest model calls.
    """

    joined_line: Callable[[str], str] = lambda _message: ""
    texts: dict[str, str] = field(default_factory=dict)
    joined: dict[str, None] = field(default_factory=dict)
    remarks: set[str] = field(default_factory=set)
    presenting: dict[str, None] = field(default_factory=dict)
    worked: set[str] = field(default_factory=set)
    growing: str = ""
    latest: str = ""
    artifacts: dict[str, None] = field(default_factory=dict)
    doubtful: dict[str, None] = field(default_factory=dict)
    progress: ProgressTracker = field(default_factory=ProgressTracker)
    tool_log: ToolLog = field(default_factory=ToolLog)
    attempt: int = 1
    retracted: bool = False
    events_missing: bool = False
    patchy: bool = False
    failure: RunFailed | None = None
    question: RunInterrupted | None = None
    status: str | None = None
    usage: TokenUsage | None = None
    earlier_usage: TokenUsage | None = None
    title: str = ""
    calls: list[ModelCall] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the current answer."""
        return _join_texts(text for key, text in self.texts.items() if key not in self.remarks)

    @property
    def final_text(self) -> str:
        """Return the answer at the end of the run.

        A remark stays beside a call at which the run waits for a person, since it may say what they decide
        about, beside calls that only present something if no more than a closing phrase follows, and if there
        is no other text and no question.
        """
        kept = {*find_presented(list(self.presenting), self.texts, self._closing_text)}
        last = self.latest if self.question is not None else self.latest_remark if self.silent else None
        if last in self.remarks:
            kept.add(last)
        shown = {key: text for key, text in self.texts.items() if key not in self.remarks or key in kept}
        return _join_texts(shown.values())

    def trace(self, begin: float, end: float) -> RunTrace:
        """Return the trace of the work between two times (s)."""
        first = min((call.begin for call in self.calls), default=begin)
        whole = not self.is_told_in_part and len(self.calls) < MAX_CALLS
        return RunTrace(min(begin, first), end, tuple(self.calls), self.tool_log.begins, whole)

    @property
    def steps(self) -> tuple[ToolStep, ...]:
        """Return the todos, at most MAX_STEPS, and the latest tool calls."""
        return (*self.tool_log.list_todos(self.progress.todos[:MAX_STEPS]), *self.tool_log.entries)

    @property
    def _closing_text(self) -> str:
        """Return the last text after all presented content, or "" if there is none."""
        latest = ""
        for key, text in self.texts.items():
            if key in self.presenting:
                latest = ""
            elif key not in self.remarks and key not in self.joined and text.strip():
                latest = text
        return latest

    @property
    def draft(self) -> Draft:
        """Return the run's current content."""
        settled = _join_texts(
            text for key, text in self.texts.items() if key not in self.remarks and key != self.growing
        )
        remark = self.texts.get(self.latest_remark or "", "") if self.remarks else ""
        text = self.text
        is_last = text.startswith(settled)
        shown = one_line(remark.strip(), MAX_REMARK)
        return Draft(text, settled if is_last else text, shown, self.progress.items, self.retracted)

    def is_growing(self, event: RunEvent) -> bool:
        """Return whether an event only extends the text in progress."""
        return isinstance(event, TextDelta) and event.message_id == self.growing

    @property
    def latest_remark(self) -> str | None:
        """Return the id of the newest remark, or None if there is none."""
        said = [key for key, text in self.texts.items() if key in self.remarks and text.strip()]
        return said[-1] if said else None

    @property
    def incomplete(self) -> bool:
        """Return whether only the thread's state contains the whole answer."""
        return self.is_told_in_part or (self.status == "success" and self.silent)

    @property
    def is_told_in_part(self) -> bool:
        """Return whether events of the turn are missing, or an attempt was repeated."""
        return self.patchy or self.events_missing or self.attempt > 1

    @property
    def silent(self) -> bool:
        """Return whether the agent wrote no text other than remarks."""
        other = {*self.joined, *self.remarks}
        return not any(text.strip() for key, text in self.texts.items() if key not in other)

    def record_event(self, event: RunEvent, at: float | None = None) -> bool:
        """Record an event at time `at` (s, None: unknown). Return whether the text or progress changed."""
        match event:
            case TextDelta(message_id, text):
                self.texts[message_id] = self.texts.get(message_id, "") + text
                self.growing = self.latest = message_id
                return True
            case MessageText() | RemarkRecognized():
                return self._record_message(event)
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
        """Record an event that is displayed only at the end of the run, or never."""
        match event:
            case ArtifactsPresented(paths):
                self.artifacts.update(dict.fromkeys(paths))
            case ThreadTitled(title):
                self.title = title
            case RunFailed():
                self.failure = event
            case RunInterrupted():
                self.question = event
            case UsageReported(usage):
                self.usage = usage if self.usage is None else self.usage + usage
            case ModelsCalled(calls):
                self.calls = [*self.calls, *calls][-MAX_CALLS:]
            case EventsMissing():
                self.events_missing = True
            case RunEnded(status):
                self.status = status

    def _record_message(self, event: MessageText | RemarkRecognized) -> bool:
        """Record new information about a message. Return whether displayed content changed."""
        self.latest = event.message_id
        if isinstance(event, RemarkRecognized):
            return self._mark_remark(event.message_id)
        self._record_presenting(event)
        changed = (self._mark_remark if event.remark else self._unmark_remark)(event.message_id)
        return self._record_text(event.message_id, event.text) or changed

    def _record_presenting(self, event: MessageText) -> None:
        """Record whether a message only presents content. A message with other work starts over, once."""
        if event.presents:
            self.presenting[event.message_id] = None
            return
        self.presenting.pop(event.message_id, None)
        if event.remark and event.message_id not in self.worked:
            self.worked.add(event.message_id)
            self.presenting.clear()

    def _record_text(self, message_id: str, text: str) -> bool:
        """Record a message's text. An empty text retracts the message's displayed text, if any."""
        before = self.texts.get(message_id, "")
        self.growing = "" if self.growing == message_id else self.growing
        if text or before:
            self.texts[message_id] = text
            self.retracted = self.retracted or not text
        return text != before

    def _mark_remark(self, message_id: str) -> bool:
        """Remove a message's text from the answer. Return whether displayed content changed."""
        if message_id in self.remarks:
            return False
        self.remarks.add(message_id)
        shown = bool(self.texts.get(message_id, "").strip())
        self.retracted = self.retracted or shown
        return shown

    def _unmark_remark(self, message_id: str) -> bool:
        """Restore a message's text in the answer. Return whether displayed content changed."""
        known = message_id in self.remarks
        self.remarks.discard(message_id)
        return known and bool(self.texts.get(message_id, "").strip())

    def _record_joined(self, messages: Iterable[str]) -> bool:
        """Record joined messages. Return whether that added a line."""
        fresh = [message for message in messages if message not in self.joined]
        self.joined.update(dict.fromkeys(fresh))
        lines = {message: line for message in fresh if (line := self.joined_line(message))}
        self.texts.update(lines)
        return bool(lines)

    def go_on(self) -> None:
        """Prepare for events of the next run, which continues after a service call."""
        self.patchy, self.events_missing = self.is_told_in_part, False
        self.earlier_usage = self.usage
        self.attempt = 1
        self.question, self.status = None, None

    def set_run_usage(self, used: TokenUsage | None) -> None:
        """Set the current run's total usage, if known."""
        if used is not None:
            self.usage = used if self.earlier_usage is None else self.earlier_usage + used

    def reconcile(self, answer: ThreadAnswer) -> None:
        """Replace texts, tool calls and files with the thread's state, which is authoritative."""
        self.tool_log.reconcile(answer.calls)
        kept = [path for path in self.doubtful if path in answer.artifacts]
        self.artifacts = dict.fromkeys([*kept, *answer.presented, *self.artifacts])
        self.doubtful.clear()
        if answer.texts or answer.remark:
            self.texts = {}
            self.joined = {}
            self._clear_remarks()
            for index, text in enumerate([*answer.texts, ""]):
                self._record_joined(join.id for join in answer.joins if join.after == index)
                self.texts[str(index)] = text
            self._record_text(REMARK, answer.remark)
            self.remarks.add(REMARK)
        self.latest = REMARK if answer.remark else ""
        self.question = self.question or answer.interrupt

    def _clear_remarks(self) -> None:
        self.remarks.clear()
        self.presenting.clear()
        self.worked.clear()

    def _begin_attempt(self, number: int) -> bool:
        if number == self.attempt:
            return False
        self.attempt = number
        self.texts.clear()
        self.joined.clear()
        self._clear_remarks()
        self.growing = self.latest = ""
        self.doubtful.update(self.artifacts)
        self.artifacts.clear()
        self.progress.clear()
        self.retracted = False
        self.failure = None
        return True
