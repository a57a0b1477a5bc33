"""What the routes of the bot's half answer. Times are seconds since the epoch, 0 for never."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.domain import AttachmentKind, Live, PartKind, PartState, TurnKind, TurnState


class Shape(BaseModel):
    """A result: frozen, and exactly these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Conversation(Shape):
    """A conversation. `writable`: messages can be posted to it here."""

    id: int
    account: str
    platform: str
    chat: str
    topic: str
    chat_kind: str
    title: str
    model: str
    agent: str
    thread_id: str
    created_at: float
    active_at: float
    writable: bool


class Conversations(Shape):
    """A page of conversations, newest first; `next` is the cursor of the following page."""

    conversations: list[Conversation]
    next: str | None


class File(Shape):
    """A file that came with a message; `size` in bytes, -1 where unknown."""

    kind: AttachmentKind
    filename: str
    size: int


class Message(Shape):
    """A message that a person wrote."""

    id: int
    event_id: str
    sender: str
    name: str
    text: str
    sent_at: float
    files: list[File]


class Part(Shape):
    """A part of the reply: Markdown and the same as sanitized HTML, or a file with its address."""

    index: int
    kind: PartKind
    state: PartState
    text: str
    html: str
    filename: str
    url: str
    image: bool
    repeated: bool


class Tokens(Shape):
    """Tokens that models took and gave; `total_tokens` is what the provider says, mostly the sum of both."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class Spending(Tokens):
    """What so many turns cost together."""

    turns: int


class PersonUsage(Spending):
    """What somebody's turns cost; `person` is `platform:id`, `name` the one of their newest message."""

    person: str
    name: str


class Usage(Shape):
    """What turns accepted since then cost: together, and a page of people; `next` is the cursor of the
    following page.
    """

    since: float
    total: Spending
    people: list[PersonUsage]
    next: str | None


class Turn(Shape):
    """What was asked and what was answered. `replaced`: a later turn answers the same again (`repeats`);
    `usage` is None where nobody counted.
    """

    id: int
    conversation: int
    kind: TurnKind
    state: TurnState
    error: str
    thread_id: str
    run_id: str
    repeats: int
    replaced: bool
    stopped: bool
    created_at: float
    finished_at: float
    messages: list[Message]
    parts: list[Part]
    usage: Tokens | None


class Turns(Shape):
    """A page of turns, newest first; `next` is the cursor of the following page."""

    turns: list[Turn]
    next: str | None


class Posted(Shape):
    """A message was accepted: it is on disk. `turn` is None where the turn is too old to name."""

    conversation: int
    event_id: str
    turn: int | None


class Channel(Shape):
    """An account and its live state."""

    account: str
    platform: str
    state: Live
    reason: str
    since: float
    identity: str
    last_event: float


class Channels(Shape):
    """A page of accounts, by name."""

    channels: list[Channel]
    next: str | None


class CommandInfo(Shape):
    """A slash command as a composer offers it."""

    name: str
    usage: str
    summary: str
    role: str


class Commands(Shape):
    """The commands that the caller may use."""

    commands: list[CommandInfo]


class Health(Shape):
    """The process answers."""

    status: str
    version: str


class Check(Shape):
    """One thing that readiness needs."""

    ok: bool
    detail: str = ""


class Readiness(Shape):
    """Whether messages can be answered now, and what is in the way. Accounts are told but do not decide."""

    ready: bool
    database: Check
    runtime: Check
    accounts: dict[str, Check]


class Restarted(Shape):
    """The account starts anew."""

    account: str


GivenRole = Literal["owner", "admin", "member", "blocked"]


class Configured(Shape):
    """A role that the configuration names, for an entry as it stands there."""

    entry: str
    role: GivenRole


class Given(Shape):
    """A role that somebody gave: to whom, a name where one was known, by whom (`platform:id`) and when."""

    entry: str
    role: str
    name: str
    by: str
    at: float


class Waiting(Shape):
    """A stranger who was told a code; the code is for them alone."""

    account: str
    person: str
    name: str
    expires_at: float


class Access(Shape):
    """Who may use the bot; the rules of single accounts stand in the configuration alone."""

    default: str
    configured: list[Configured]
    given: list[Given]
    waiting: list[Waiting]


class Deed(Shape):
    """What somebody did: a short word, to whom or what, and how."""

    id: int
    at: float
    person: str
    name: str
    account: str
    chat: str
    action: str
    subject: str
    detail: str


class Audit(Shape):
    """A page of what was done, newest first; `next` is the cursor of the following page."""

    entries: list[Deed]
    next: str | None
