"""What a run has said so far, from its events: assistant messages in the order in which they began."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bot.dispatch.run.progress import Progress
from bot.dispatch.run.tool_log import Steps
from bot.runtime.interface import (
    Answer,
    Attempt,
    Called,
    Ended,
    Failed,
    Gap,
    Interrupted,
    Joined,
    Planned,
    Presented,
    Returned,
    RunEvent,
    Said,
    Text,
    Usage,
    Used,
    Worked,
)


@dataclass(slots=True)
class Transcript:
    """Collects one run. A new attempt of the runtime replaces what the one before it said, but neither what
    it called (`steps`) nor what that cost (`used`, None where nobody counted).

    `taken_back` says that this attempt has taken a text back. `joined` are the ids of the messages that
    joined the run; where one did stands the line that `mark` gives for it ("" for none).
    """

    mark: Callable[[str], str] = lambda _message: ""
    texts: dict[str, str] = field(default_factory=dict)
    joined: dict[str, None] = field(default_factory=dict)
    artifacts: dict[str, None] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    steps: Steps = field(default_factory=Steps)
    attempt: int = 1
    taken_back: bool = False
    gap: bool = False
    failure: Failed | None = None
    question: Interrupted | None = None
    status: str | None = None
    used: Usage | None = None

    @property
    def text(self) -> str:
        """The answer as it stands."""
        return "\n\n".join(text for text in self.texts.values() if text.strip())

    @property
    def incomplete(self) -> bool:
        """Whether the state has to be read to know the whole answer."""
        return self.gap or self.attempt > 1 or (self.status == "success" and self.silent)

    @property
    def silent(self) -> bool:
        """Whether the agent has said nothing."""
        return not any(text.strip() for key, text in self.texts.items() if key not in self.joined)

    def take(self, event: RunEvent, at: float | None = None) -> bool:
        """Take one event over, which happened `at` that time (None: not known); whether the text or the
        progress changed.
        """
        match event:
            case Text(message_id, text):
                self.texts[message_id] = self.texts.get(message_id, "") + text
                return True
            case Said(message_id, text):
                return self._said(message_id, text)
            case Attempt(number):
                return self._attempt(number)
            case Joined(messages):
                return self._joined(messages)
            case Planned() | Worked():
                return self.progress.take(event)
            case Called() | Returned():
                self.steps.take(event, at)
            case _:
                self._note(event)
        return False

    def _note(self, event: RunEvent) -> None:
        """What shows only when the run has ended, or not at all."""
        match event:
            case Presented(paths):
                self.artifacts.update(dict.fromkeys(paths))
            case Failed():
                self.failure = event
            case Interrupted():
                self.question = event
            case Used(usage):
                self.used = usage if self.used is None else self.used + usage
            case Gap():
                self.gap = True
            case Ended(status):
                self.status = status

    def _said(self, message_id: str, text: str) -> bool:
        """Messages without a text are many; one takes back what was shown of it, if anything was."""
        before = self.texts.get(message_id, "")
        if text or before:
            self.texts[message_id] = text
            self.taken_back = self.taken_back or not text
        return text != before

    def _joined(self, messages: Iterable[str]) -> bool:
        """Whether a line tells of what joined only now."""
        fresh = [message for message in messages if message not in self.joined]
        self.joined.update(dict.fromkeys(fresh))
        lines = {message: line for message in fresh if (line := self.mark(message))}
        self.texts.update(lines)
        return bool(lines)

    def settle(self, answer: Answer) -> None:
        """The thread's state is the truth."""
        self.steps.settle(answer.calls)
        if answer.texts:
            self.texts = {}
            self.joined = {}
            for index, text in enumerate([*answer.texts, ""]):
                self._joined(join.id for join in answer.joins if join.after == index)
                self.texts[str(index)] = text
        self.question = self.question or answer.interrupt

    def _attempt(self, number: int) -> bool:
        if number == self.attempt:
            return False
        self.attempt = number
        self.texts.clear()
        self.joined.clear()
        self.artifacts.clear()
        self.progress.clear()
        self.taken_back = False
        self.failure = None
        return True
