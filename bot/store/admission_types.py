"""What the accept transaction is given and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.domain import (
    Busy,
    InboundChange,
    InboundEvent,
    InboundMessage,
    IsolationPolicy,
    ReplyAddress,
    TurnKind,
)
from bot.store.budgets import Limit
from bot.store.people import Pairing


class Verdict(StrEnum):
    """What admission decided for a message, before anything is stored."""

    CHAT = "chat"
    COMMAND = "command"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Admission:
    """A message and what is to happen with it.

    `notice` is the text of a refusal (verdict NOTICE); `once` names a notice that a person gets at most
    once a day; `pairing` is the code that it tells a stranger, who hears `crowded_notice` where too many
    have one. `thread_id` is the id that a new thread would get; `rotate` says that a new thread begins
    here (`/new`), `resume` that the thread with this number goes on (`/resume`). `hold` keeps the turn
    open for further parts of an album (seconds). `stale_notice` is told to who clicks on a question that
    is no longer open. `busy` is what the account does while a run is on, `busy_notice` what is said where it
    refuses then. `recorded` says that its chat keeps a record, `budgets` are those that it counts for.
    `senior` says that its author may decide approvals of others' work; one who may not is told
    `foreign_notice` for a click, `waits_notice` for a message.
    """

    message: InboundMessage
    verdict: Verdict
    policy: IsolationPolicy
    thread_id: str
    notice: str = ""
    busy: Busy = Busy.QUEUE
    busy_notice: str = ""
    full_notice: str = ""
    stale_notice: str = ""
    foreign_notice: str = ""
    waits_notice: str = ""
    senior: bool = False
    once: str = ""
    pairing: Pairing | None = None
    crowded_notice: str = ""
    model: str = ""
    rotate: bool = False
    resume: int = 0
    hold: float = 0.0
    recorded: bool = False
    budgets: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordOnly:
    """What is only kept in the record of its chat: a message to others, or a change of somebody's who may not
    talk to the bot.
    """

    event: InboundEvent


InboxItem = Admission | InboundChange | RecordOnly


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn that has something to do, for the dispatcher. `refused` tells a notice from an answer;
    `interrupts` says that the conversation's run is to end for it, `steers` that it may join that run.
    """

    turn: int
    conversation: int
    kind: TurnKind
    address: ReplyAddress
    refused: bool = False
    interrupts: bool = False
    steers: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A click that counts for nothing, since it is not its author's to make or the question is not open any
    more. It is not stored; `text` is for who clicked alone.
    """

    event_id: str
    text: str
