"""Turns as frozen data: accepted messages that are answered together.

Times are seconds since the epoch (float), ids are strings in the platform's spelling.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from bot.domain import (
    Attachment,
    Mention,
    Quotation,
    ReplyAddress,
    Sender,
    lacks_own_words,
    person_of,
    says_nothing,
)


class TurnKind(StrEnum):
    """Kind of a turn's answer: a run of the agent, a command's result, or a notice of the service."""

    CHAT = "chat"
    COMMAND = "command"
    NOTICE = "notice"


class TurnState(StrEnum):
    """Lifecycle state of a turn."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    WAITING = "waiting"
    DELIVERING = "delivering"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Stopped(IntEnum):
    """Reason for stopping a running turn: a request, or a newer message. LEFT marks a turn without messages
    that only shows an abandoned question.
    """

    NO = 0
    ASKED = 1
    INTERRUPTED = 2
    LEFT = 3


class Busy(StrEnum):
    """Handling of messages during a run: wait, interrupt the run, join it, or be refused."""

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    STEER = "steer"
    REJECT = "reject"


SCHEDULED_EVENT = "schedule:"
"""Prefix of the event ids of messages that the service wrote itself, for a scheduled run."""
SCHEDULED_TOPIC = "schedule-"
"""Prefix of the topic of a conversation in which only scheduled runs are answered."""
INCIDENT_EVENT = "incident:"
"""Prefix of the event ids of messages about incidents, which the service writes."""
INCIDENT_TOPIC = "incident-"
"""Prefix of the topic of an incident's conversation."""

OPEN_STATES = (TurnState.ACCEPTED, TurnState.RUNNING, TurnState.WAITING, TurnState.DELIVERING)


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """An accepted message of a turn. A deleted message has no text, attachments, quotations or mentions."""

    id: int
    event_id: str
    message_id: str
    sender: Sender
    text: str
    sent_at: float
    attachments: tuple[Attachment, ...] = ()
    deleted: bool = False
    quotations: tuple[Quotation, ...] = ()
    mentions: tuple[Mention, ...] = ()

    @property
    def is_scheduled(self) -> bool:
        """Return whether the service wrote the message itself, for a scheduled run."""
        return self.event_id.startswith(SCHEDULED_EVENT)

    @property
    def is_incident(self) -> bool:
        """Return whether the service wrote the message itself, about an incident."""
        return self.event_id.startswith(INCIDENT_EVENT)

    @property
    def is_quotation_only(self) -> bool:
        """Return whether the author wrote no text of their own."""
        return lacks_own_words(self.text, self.quotations)

    @property
    def says_nothing(self) -> bool:
        """Return whether the author neither wrote nor spoke anything, so that it answers no question."""
        return says_nothing(self.text, self.quotations)


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """A change of a message that the agent has read: its text was `before` and is now `after` (None:
    deleted).

    Both are cut to a bounded length; `before` is "" for a deleted message.
    """

    sender: Sender
    before: str
    after: str | None


@dataclass(frozen=True, slots=True)
class StoppedAnswer:
    """A `turn`'s incomplete answer: the displayed `text`, and who stopped it, if known."""

    turn: int
    text: str
    why: Stopped
    stopper: Sender | None = None
    is_question: bool = False
    """True for a question or an approval request that was stopped before anyone answered it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One or more accepted messages that are answered together.

    - `attempt`: n of the first run's idempotency key `<turn id>:<n>`.
    - `run_id`: the first run, "" until the runtime has assigned an id.
    - `last_attempt`, `last_run_id`: the newest run that continues the first (0 and "" for none).
    - `checkpoint`: the checkpoint to fork from ("" for the thread's latest).
    - `repeats`: the turn that a retry answers again (0 for none).
    - `stopped`: the reason to end the turn early.
    - `answers`: the id of the interrupt that its messages answer ("" for none).
    - `agent`: the conversation's custom agent when the turn started ("" for the account's).
    - `busy`: the conversation's handling of messages that arrive meanwhile ("" for the account's).
    - `notes`: changes of messages of earlier turns, for the agent.
    - `askers`: for an answer, the people whose work it continues; `asked_by`: the turn that asked (0 for
      none); `covers`: the call that an approval is about ("" for any other answer).
    - `approved`: tools that need no approval in the conversation.
    - `error`: the reason of failure of a turn that is being delivered ("" if it does not fail).
    """

    id: int
    conversation: int
    kind: TurnKind
    state: TurnState
    address: ReplyAddress
    thread_id: str
    platform: str
    created_at: float
    ready_at: float = 0.0
    attempt: int = 1
    run_id: str = ""
    last_attempt: int = 0
    last_run_id: str = ""
    checkpoint: str = ""
    model: str = ""
    plan: bool = False
    agent: str = ""
    busy: str = ""
    repeats: int = 0
    stopped: Stopped = Stopped.NO
    answers: str = ""
    messages: tuple[TurnMessage, ...] = ()
    notes: tuple[ChangeNote, ...] = ()
    cut_off: tuple[StoppedAnswer, ...] = ()
    askers: tuple[Sender, ...] = ()
    asked_by: int = 0
    covers: str = ""
    approved: tuple[str, ...] = ()
    error: str = ""

    @property
    def people(self) -> list[Sender]:
        """Return the authors of the messages, and those of the work that they continue."""
        return [*(message.sender for message in self.messages), *self.askers]

    @property
    def is_scheduled(self) -> bool:
        """Return whether a scheduled run started the turn."""
        return any(message.is_scheduled for message in self.messages)

    @property
    def is_incident(self) -> bool:
        """Return whether events started the turn, in which the agent works on an incident."""
        return any(message.is_incident for message in self.messages)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model call of a run; times are in s since the epoch. `task` is the tool call whose subagent made it
    ("": the agent itself); `error` is the class of the error if it failed.
    """

    model: str
    begin: float
    end: float
    task: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cost: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunTrace:
    """When a turn's run worked, with its latest model calls, and ids and begins (0.0: unknown) of its latest
    tool calls. `whole`: no model call is missing.
    """

    begin: float
    end: float
    calls: tuple[ModelCall, ...] = ()
    tools: tuple[tuple[str, float], ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True)
class OpenedTurn:
    """A turn that the service has opened, for the dispatcher."""

    turn: int
    conversation: int
    kind: TurnKind


def turn_author(turn: Turn) -> str:
    """Return a turn's author as `platform:id`, or "" if it has none.

    If several people wrote, the author is the last of them. An answer to a question belongs to the person who
    asked for the work, not to the one who answers.
    """
    return person_of(turn.platform, turn.people[-1]) if turn.people else ""


def thread_message_id(turn: int, number: int) -> str:
    """Return the agent thread's id of a message that a turn answers."""
    return f"roebot-{turn}-{number}"
