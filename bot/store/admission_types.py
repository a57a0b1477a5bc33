"""Input and output of the accept transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.domain import InboundChange, InboundEvent, InboundMessage, IsolationPolicy, ReplyAddress
from bot.store.app_budget import AppBudget
from bot.store.approval_rules import ApprovalRules
from bot.store.people import Pairing
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.turn import Busy, TurnKind


class Verdict(StrEnum):
    """The decision about a message before it is stored."""

    CHAT = "chat"
    COMMAND = "command"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to send instead of an answer: its catalogue key and the fields of the text."""

    key: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admission:
    """A message and the decision about it. `texts` provides the wording of notices that only the transaction
    can decide on.

    - `thread_id`: the id for a new agent thread; `new_thread` starts one (`/new`), `resume` continues the
      thread with this number (`/resume`).
    - `notice`: the reply for the verdict NOTICE; one with a `notice_kind` is sent to a person at most once a
      day.
    - `pairing`: the code that the notice offers to a person without access.
    - `busy`: the account's busy mode; `budgets`: the limits that the message counts towards.
    - `is_admin`: the author may decide approvals of other people's work; `approvals`: who may decide.
    - `hold_seconds`: how long the turn stays open for further parts of an album.
    - `recorded`: the chat is recorded.
    - `app_budget`: the limit of the turns that apps start; None if no app may.
    - `topic_command`: the command that the message is in some conversations (`Registry.find_topic_command`).
    - `is_crowded_out`: too many conversations are waiting, so this message must not add another one.
    """

    message: InboundMessage
    verdict: Verdict
    policy: IsolationPolicy
    thread_id: str
    texts: Callable[..., str]
    notice: Notice | None = None
    notice_kind: str = ""
    pairing: Pairing | None = None
    busy: Busy = Busy.QUEUE
    budgets: UsageLimits = UNLIMITED
    is_admin: bool = False
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    model: str = ""
    new_thread: bool = False
    resume: int = 0
    hold_seconds: float = 0.0
    recorded: bool = False
    app_budget: AppBudget | None = None
    is_crowded_out: bool = False
    topic_command: tuple[str, str] = ("", "")

    @property
    def is_by_app(self) -> bool:
        """Return whether an app wrote the message. Such a message starts a turn or is recorded, but gets no
        notice.
        """
        return self.message.origin.sender.is_bot


@dataclass(frozen=True, slots=True)
class RecordOnly:
    """An event that is only recorded: a message not addressed to the bot, or an edit by a person without
    access.
    """

    event: InboundEvent


@dataclass(frozen=True, slots=True)
class AddressedEdit:
    """An edit that makes a message address the bot. It starts a turn unless the message was already
    accepted.
    """

    change: InboundChange
    admission: Admission


InboxItem = Admission | InboundChange | AddressedEdit | RecordOnly


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn for the dispatcher. `refused`: it delivers a notice instead of an answer; `interrupts`: it
    stopped the conversation's running turn; `steers`: its message may join that run; `message_id`: the
    platform's id of the user's message ("" for a click or none).
    """

    turn: int
    conversation: int
    kind: TurnKind
    address: ReplyAddress
    refused: bool = False
    interrupts: bool = False
    steers: bool = False
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rejected click: its author may not decide, or the interrupt is closed. It is not stored; only the
    person who clicked sees `text`.
    """

    event_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AppLimited:
    """A limit that an app has reached, under the counter key `person`: turns started by apps in a chat
    ("turns"), usage ("usage"), or waiting messages ("queue").
    """

    chat: str
    person: str
    name: str
    limit: str
