"""Domain types of the bot as frozen data: no I/O, no SDK, no database.

Every value here crosses a boundary (adapter, bus, store, dispatcher), so each is immutable.
Times are seconds since the epoch (float), sizes are bytes, ids are strings as the platform writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class ChatKind(StrEnum):
    """Kind of a chat."""

    PRIVATE = "private"
    GROUP = "group"


class Isolation(StrEnum):
    """Parts of a message's origin that define its conversation."""

    CHAT = "chat"
    TOPIC = "topic"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Sender:
    """Author of a message, as the platform names them.

    `belongs` names what they are part of as the end of an access entry ("team:T1", "role:9"); `guest` says
    that they are a guest of the workspace, or of another organization. `account` is where they are known from
    who came to the page by a link out of a chat ("" for everybody else); their `id` is `platform:id` then.
    """

    id: str
    name: str = ""
    username: str = ""
    is_bot: bool = False
    belongs: tuple[str, ...] = ()
    guest: bool = False
    account: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Place of a message on its platform: raw facts only, nothing derived.

    `topic` is the platform's own thread id ("" outside one), `reply_to` the message it answers ("" if none).
    """

    account: str
    platform: str
    chat: str
    chat_kind: ChatKind
    message_id: str
    sender: Sender
    topic: str = ""
    reply_to: str = ""


def person_of(platform: str, sender: Sender) -> str:
    """Return a person as `platform:id`, wherever they write."""
    return sender.id if sender.account else f"{platform}:{sender.id}"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """One conversation: columns, never a joined string. "" stands for a part that does not count."""

    account: str
    chat: str
    topic: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """Derives the conversation of a message from its origin."""

    isolation: Isolation = Isolation.TOPIC

    def conversation_key(self, origin: Origin, chain: str = "") -> ConversationKey:
        """The key of `origin`; `chain` is the root of the reply chain it belongs to ("" if none)."""
        topic = "" if self.isolation is Isolation.CHAT else (origin.topic or chain)
        member = origin.sender.id if self.isolation is Isolation.MEMBER else ""
        return ConversationKey(origin.account, origin.chat, topic, member)


@dataclass(frozen=True, slots=True)
class ReplyAddress:
    """Destination of a turn's reply; derived once, in the accept transaction, and stored with the turn."""

    account: str
    chat: str
    chat_kind: ChatKind
    topic: str = ""
    reply_to: str = ""


class AttachmentKind(StrEnum):
    """Kind of a file: image or other."""

    FILE = "file"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message; `ref` is what the adapter needs to fetch it, `size` is -1 where unknown."""

    kind: AttachmentKind
    filename: str
    ref: str
    size: int = -1
    mime: str = ""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message as an adapter hands it to the bus.

    `event_id` is unique for the account and outlives the platform's redelivery; `addressed` says that the
    bot is meant (private chat, mention, reply to it); `group_key` joins the parts of an album or of what
    was forwarded together; `unsupported` names a kind that cannot be read (voice, sticker …), "" for
    none. `text` comes without the mention of the bot. `link` leads to it on the platform ("" where
    nothing does). `clicked` says that a button of the message that it answers (`reply_to`) was pressed,
    so nothing was written.
    """

    event_id: str
    origin: Origin
    text: str
    sent_at: float
    addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    group_key: str = ""
    unsupported: str = ""
    clicked: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class InboundChange:
    """A person changed a message, or somebody took one away.

    `event_id` is unique for the account, `origin` that of the message as far as the platform tells it
    (account, chat and message id always; a sender whose id is "" is not told). `text` is what it says now,
    without the mention of the bot; None says that it is gone. `at` is when it happened, in seconds.
    """

    event_id: str
    origin: Origin
    text: str | None
    at: float


InboundEvent = InboundMessage | InboundChange


class TurnKind(StrEnum):
    """Kind of a turn's answer: a run of the agent, a command's result, or a notice of the service."""

    CHAT = "chat"
    COMMAND = "command"
    NOTICE = "notice"


class TurnState(StrEnum):
    """The life of a turn."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    WAITING = "waiting"
    DELIVERING = "delivering"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Stopped(IntEnum):
    """Reason to stop a running turn: somebody asked for it, or wrote something newer. LEFT is a
    turn that nobody wrote, which only shows that a question was left without an answer.
    """

    NO = 0
    ASKED = 1
    INTERRUPTED = 2
    LEFT = 3


class Busy(StrEnum):
    """Handling of a message during a run: it waits for the end, interrupts the run, joins it, or is
    refused.
    """

    QUEUE = "queue"
    INTERRUPT = "interrupt"
    STEER = "steer"
    REJECT = "reject"


OPEN_STATES = (TurnState.ACCEPTED, TurnState.RUNNING, TurnState.WAITING, TurnState.DELIVERING)


@dataclass(frozen=True, slots=True)
class TurnMessage:
    """An accepted message as a turn holds it. A deleted one has neither text nor attachments."""

    id: int
    event_id: str
    message_id: str
    sender: Sender
    text: str
    sent_at: float
    attachments: tuple[Attachment, ...] = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """Change of a message that the agent has read: its text was `before`, now `after` (None: deleted).

    Both are cut to a bounded length; `before` is "" for one that is gone.
    """

    sender: Sender
    before: str
    after: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One or more accepted messages that are answered together.

    `attempt` is n of the idempotency key `<turn id>:<n>`; `run_id` is "" until the runtime has named the run;
    `checkpoint` is the one to fork from ("" for the thread's latest); `repeats` is the turn that a retry
    answers again (0 for none); `stopped` says that it is to end, and why. `answers` is the id of the
    interrupt that its messages answer ("" for none). `agent` is the one that the conversation had chosen when
    the turn began ("" for the account's), `busy` what it has chosen for messages that come meanwhile (""
    likewise). `notes` tell the agent what became of messages of earlier turns. `askers` are those whose work
    an answer goes on with, `asked_by` is the turn that asked for it (0 for none). `approved` are tools that
    need no approval there. `error` is why a turn that is being delivered fails ("" where it does not).
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
    askers: tuple[Sender, ...] = ()
    asked_by: int = 0
    approved: tuple[str, ...] = ()
    error: str = ""


def turn_author(turn: Turn) -> str:
    """Return the author of a turn as `platform:id`, "" if it has none.

    The last of several people is the author. An answer to a question belongs to whoever asked for the work,
    not to whoever answers.
    """
    people = [*(message.sender for message in turn.messages), *turn.askers]
    return person_of(turn.platform, people[-1]) if people else ""


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message that stands in a thread since before somebody turned to the bot there; `link` leads to it
    ("" where nothing does).
    """

    message_id: str
    sender: Sender
    text: str
    sent_at: float
    link: str = ""


Earlier = HistoryMessage
"""The former name of HistoryMessage, kept for adapters that import it."""


class ProgressState(StrEnum):
    """Progress of a step of the agent's work."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProgressItem:
    """A step of the agent's work: a todo, a tool call or a subagent. `title` is one line of plain text that
    may quote anybody; `id` is unique within a run.
    """

    id: str
    title: str
    state: ProgressState


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A tool call of a run as it is kept: `arguments` and `result` are short lines of plain text that may
    quote anybody. The state is active where nothing came of it; `seconds` is how long it took (None: not
    known).
    """

    tool: str
    arguments: str
    state: ProgressState
    result: str = ""
    seconds: float | None = None


class PartKind(StrEnum):
    """Kind of a reply's part: text, an artifact of the thread, or a file that the service wrote."""

    TEXT = "text"
    FILE = "file"
    DOCUMENT = "document"


class PartState(StrEnum):
    """Delivery state of a reply's part; `intended` after a crash means that the outcome is unknown."""

    PLANNED = "planned"
    INTENDED = "intended"
    POSTED = "posted"
    FINAL = "final"
    UNDELIVERED = "undelivered"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a reply. `content` is Markdown for text, the artifact's virtual path for a file, and for
    a document all that is in it; `choices`
    are the answers that a question offers as buttons.
    """

    index: int
    kind: PartKind
    content: str
    state: PartState = PartState.PLANNED
    platform_id: str = ""
    filename: str = ""
    repeated: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """A message for an adapter to send: one part of a reply with its destination.

    `key` is stable over repeats of the same part (platforms with idempotent sends use it); `text` is Markdown
    that fits the platform's limit; `final` tells a last version from a frame of a stream. `choices` are the
    buttons below it, for adapters that are AsksChoice. `since` is when its turn was accepted (seconds since
    1970; 0.0: not known): nothing that is older can be an earlier try of it. `progress` is what the agent
    works on, for adapters that are ShowsProgress (a frame's `text` may be "" then); nothing in it is active
    in a final. `full` says of a frame that the reply goes on in another part. `alone` is the id of the one
    person in a group whom it is for, where the platform can show it so ("": for everybody).
    """

    key: str
    address: ReplyAddress
    text: str
    final: bool = True
    choices: tuple[str, ...] = ()
    since: float = 0.0
    progress: tuple[ProgressItem, ...] = ()
    full: bool = False
    alone: str = ""


@dataclass(frozen=True, slots=True)
class OutboundFile:
    """A file to send: `data` is its whole content (bounded by the platform's own limit), `since` as for an
    OutboundMessage.
    """

    key: str
    address: ReplyAddress
    filename: str
    mime: str
    data: bytes = field(repr=False)
    since: float = 0.0


class Live(StrEnum):
    """The live state of an account, from real signals only."""

    CONNECTING = "connecting"
    LIVE = "live"
    DEAF = "deaf"
    LIMITED = "limited"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class AccountState:
    """Current state of an account; `reason` is a line for people, without secrets."""

    live: Live
    reason: str = ""
    since: float = 0.0
    identity: str = ""
    last_event: float = 0.0
