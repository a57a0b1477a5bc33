"""Domain types of the bot as frozen data: no I/O, no SDK, no database.

Every value here crosses a boundary (adapter, bus, store, dispatcher), so each is immutable. Times are seconds
since the epoch (float), sizes are bytes, ids are strings in the platform's spelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class ChatKind(StrEnum):
    """Kind of a chat."""

    PRIVATE = "private"
    GROUP = "group"


class Isolation(StrEnum):
    """Parts of a message's origin that identify its conversation."""

    CHAT = "chat"
    TOPIC = "topic"
    MEMBER = "member"


LOCAL_PLATFORMS = ("web", "terminal")
"""Platforms of the service itself, each with one account; the service's port authenticates their callers."""
OWNER = "owner"
"""Id of who uses them with the service's token."""
DIRECT_PLATFORMS = SIGN_ON, API_TOKENS = "oidc", "token"
"""Homes of callers from no chat, as platform and account; their roles apply to all accounts."""
APP_PREFIX = "app:"
"""Precedes the id of an app where people and apps are stored alike; no platform's ids begin like that."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Author of a message, in the platform's terms.

    `belongs` lists their groups as the end of an access entry ("team:T1", "role:9"); `guest`: they are a
    guest of the workspace, or from another organization. `account` is the account on which a person signed in
    to the web console by a link from a chat ("" for everybody else); their `id` is `platform:id` then.
    `is_bot`: an app, bot or webhook wrote it, not a person. `tag` is what the chat shows beside their name,
    such as the title of an admin ("" if nothing): nobody is mentioned by it. `locale` is the language of
    their app or, if the platform reports none, of their words ("": unknown); it is not stored with messages.
    """

    id: str
    name: str = ""
    username: str = ""
    is_bot: bool = False
    belongs: tuple[str, ...] = ()
    guest: bool = False
    account: str = ""
    tag: str = ""
    locale: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Return the sender's key in the store; an app's key never equals a person's."""
        return f"{APP_PREFIX}{self.id}" if self.is_bot else self.id

    @property
    def shown_name(self) -> str:
        """Return the name with the tag, as displayed in the chat ("" if unknown)."""
        return f"{self.name} ({self.tag})" if self.name and self.tag else self.name or self.tag


UNKNOWN_SENDER = Sender("")


@dataclass(frozen=True, slots=True)
class Origin:
    """Place of a message on its platform, as reported by the platform without derived data.

    `topic` is the platform's own thread id ("" outside one), `reply_to` the message it answers ("" if none).
    `private_topic`: only some of the people in the chat can read the topic.
    """

    account: str
    platform: str
    chat: str
    chat_kind: ChatKind
    message_id: str
    sender: Sender
    topic: str = ""
    reply_to: str = ""
    private_topic: bool = False


def person_of(platform: str, sender: Sender) -> str:
    """Return a person as `platform:id`, or an app as `platform:app:id`: the same in all chats."""
    return sender.id if sender.account else f"{platform}:{sender.key}"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Key of a conversation, as separate columns. "" stands for a part that is ignored."""

    account: str
    chat: str
    topic: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class IsolationPolicy:
    """Derives the conversation of a message from its origin."""

    isolation: Isolation = Isolation.TOPIC

    def conversation_key(self, origin: Origin, chain: str = "") -> ConversationKey:
        """Return the conversation key of `origin`; `chain` is the root of its reply chain ("" if none)."""
        topic = "" if self.isolation is Isolation.CHAT else (origin.topic or chain)
        member = origin.sender.key if self.isolation is Isolation.MEMBER else ""
        return ConversationKey(origin.account, origin.chat, topic, member)


@dataclass(frozen=True, slots=True)
class ReplyAddress:
    """Destination of a turn's reply, which the accept transaction determines and stores with the turn."""

    account: str
    chat: str
    chat_kind: ChatKind
    topic: str = ""
    reply_to: str = ""


class AttachmentKind(StrEnum):
    """Kind of a file: image, recorded speech, video, or other."""

    FILE = "file"
    IMAGE = "image"
    VOICE = "voice"
    VIDEO = "video"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message; `ref` is the adapter's reference to it, `size` is in bytes (-1: unknown)."""

    kind: AttachmentKind
    filename: str
    ref: str
    size: int = -1
    mime: str = ""


class QuotationKind(StrEnum):
    """Kind of quoted content in a message, which is not its author's own text.

    Messages of others: forwarded, quoted in part, shared, replied to, and the one that the thread grew from.
    Content with a form of its own: an app's card, a recording's transcript, a poll, a checklist, a place, a
    contact, a sticker, a platform's notice (a call ended), a link's preview, and what Roebot can't read.
    """

    FORWARD = "forward"
    QUOTE = "quote"
    SHARED = "shared"
    REPLY = "reply"
    THREAD_START = "thread_start"
    CARD = "card"
    TRANSCRIPT = "transcript"
    POLL = "poll"
    CHECKLIST = "checklist"
    LOCATION = "location"
    CONTACT = "contact"
    STICKER = "sticker"
    NOTICE = "notice"
    PREVIEW = "preview"
    UNSUPPORTED = "unsupported"


CONTEXT_KINDS = frozenset({QuotationKind.REPLY, QuotationKind.THREAD_START, QuotationKind.PREVIEW})
"""Kinds that come along with a message: its author did not pass them on."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Quoted content in a message. It never acts with the author's authority.

    `bot.content` builds the texts of content with a form of its own. `author` and `author_id` (in the
    platform's spelling) are "" where the platform does not tell. `files` are the names of those attachments
    of the message that belong to the quotation, which come after the author's own; those of a REPLY or
    THREAD_START stay with that message. `sent_at` is 0.0 if unknown. `message_id` is that of a REPLY or
    THREAD_START ("" if unknown); copies of the same content are equal whatever it is.
    """

    kind: QuotationKind
    text: str
    author: str = ""
    author_id: str = ""
    files: tuple[str, ...] = ()
    sent_at: float = 0.0
    message_id: str = field(default="", compare=False)


MADE_KINDS = frozenset(
    {
        QuotationKind.TRANSCRIPT,
        QuotationKind.POLL,
        QuotationKind.CHECKLIST,
        QuotationKind.LOCATION,
        QuotationKind.CONTACT,
        QuotationKind.STICKER,
    }
)
"""Kinds that the author of a message made or chose: they answer a question, but decide nothing."""


def lacks_own_words(text: str, quotations: tuple[Quotation, ...]) -> bool:
    """Return whether a message consists only of quoted content."""
    return any(one.kind not in CONTEXT_KINDS for one in quotations) and not text.strip()


def says_nothing(text: str, quotations: tuple[Quotation, ...]) -> bool:
    """Return whether a message contains no text, speech or other content by its author."""
    return lacks_own_words(text, quotations) and all(one.kind not in MADE_KINDS for one in quotations)


class MentionKind(StrEnum):
    """Kind of a mentioned entity."""

    PERSON = "person"
    CHANNEL = "channel"
    ROLE = "role"


@dataclass(frozen=True, slots=True)
class Mention:
    """A mentioned person, channel or role (a group of people): its name without `@` or `#`, and its id."""

    kind: MentionKind
    name: str
    id: str

    @property
    def label(self) -> str:
        """Return the name with its sign, as displayed in a text."""
        return f"{'#' if self.kind is MentionKind.CHANNEL else '@'}{self.name}"


EVERYBODY = frozenset({"all", "channel", "everyone", "group", "here", "所有人", "全体成员", "全員"})
"""Names that address everybody on some platform: nobody is mentioned by them, whoever has such a name."""


@dataclass(frozen=True, slots=True)
class PressedButton:
    """A button that stands for a command (without a slash). `turn` is the turn of the answer with the button,
    `index` the position of its part, `person` the key of the answer's recipient ("": anybody may press it).
    """

    command: str
    turn: int
    index: int
    person: str


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message that an adapter passes to the bus.

    - `event_id`: unique within the account, and the same if the platform redelivers the message.
    - `addressed`: the message is meant for the bot (private chat, mention, reply to the bot).
    - `mentioned`: `text` mentions the bot, also where it did not have to.
    - `group_key`: the same for all parts of an album or of messages forwarded together.
    - `text`: the author's own words, without the mention of the bot.
    - `quotations`: all other content, such as a forwarded message, a card or a poll; `text` has none of it.
    - `mentions`: the people, channels and roles that `text` names, without the bot.
    - `link`: URL of the message on the platform ("" if it has none).
    - `clicked`: a button of the message that it replies to (`reply_to`) was pressed; nothing was written.
    - `pressed`: that button stands for a command, which is then the `text`; the bus finds out.
    """

    event_id: str
    origin: Origin
    text: str
    sent_at: float
    addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    group_key: str = ""
    clicked: bool = False
    link: str = ""
    quotations: tuple[Quotation, ...] = ()
    mentions: tuple[Mention, ...] = ()
    mentioned: bool = False
    pressed: PressedButton | None = None

    @property
    def is_quotation_only(self) -> bool:
        """Return whether the author wrote no text of their own."""
        return lacks_own_words(self.text, self.quotations)

    @property
    def says_nothing(self) -> bool:
        """Return whether the message has no content by its author, and so answers no question."""
        return says_nothing(self.text, self.quotations)

    @property
    def unsupported(self) -> str:
        """Return the name of content that Roebot can't read, or "" if the message contains anything else."""
        own = [one for one in self.quotations if one.kind not in CONTEXT_KINDS]
        unread = [one.text for one in own if one.kind is QuotationKind.UNSUPPORTED]
        readable = self.text.strip() or self.attachments or len(unread) < len(own)
        return unread[0] if unread and not readable else ""


@dataclass(frozen=True, slots=True)
class InboundChange:
    """An edit or a deletion of a message.

    `event_id` is unique within the account. `origin` is that of the message as far as the platform reports
    it: account, chat and message id always; a sender id of "" is unknown. `text` is the new text without the
    mention of the bot, None for a deletion. `at` is the time of the change, in seconds since the epoch.
    `message` is the edited message if it is meant for the bot, None otherwise: an edit that adds a mention
    starts a turn. `quotations` are its new quotations, None if they did not change. `attachments` and
    `mentions` are those of the whole message after the edit, None if the adapter does not know them: then
    those of the stored message stay.
    """

    event_id: str
    origin: Origin
    text: str | None
    at: float
    message: InboundMessage | None = None
    quotations: tuple[Quotation, ...] | None = None
    attachments: tuple[Attachment, ...] | None = None
    mentions: tuple[Mention, ...] | None = None


InboundEvent = InboundMessage | InboundChange


@dataclass(frozen=True, slots=True)
class InboundRating:
    """A rating of the answer `message_id` by the sender of `origin`; `event_id` is unique on the account."""

    event_id: str
    origin: Origin
    message_id: str
    good: bool


@dataclass(frozen=True, slots=True)
class ChatDescription:
    """A platform's description of a group: its name, its number of people (0: unknown), its visibility
    "public" or "private" ("" if unknown), and whether messages can only be posted in topics.
    """

    title: str = ""
    people: int = 0
    visibility: str = ""
    topics_only: bool = False


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A thread's message that precedes the first one addressed to the bot; `link` is its URL ("" if none)."""

    message_id: str
    sender: Sender
    text: str
    sent_at: float
    link: str = ""
    quotations: tuple[Quotation, ...] = ()


class PartialHistory(list[HistoryMessage]):
    """The newest messages of a thread that has, or may have, older ones."""


Earlier = HistoryMessage
"""Former name of HistoryMessage, for adapters that import it."""


class ProgressState(StrEnum):
    """Progress of a step of the agent's work."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProgressItem:
    """A step of the agent's work: a todo, a tool call or a subagent. `title` is one line of plain text that
    may quote anyone; `id` is unique within a run.
    """

    id: str
    title: str
    state: ProgressState


class StepKind(StrEnum):
    """Kind of a step: a tool call, a call that delegates to a subagent, or a todo of the agent."""

    TOOL = "tool"
    SUBAGENT = "subagent"
    TODO = "todo"


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A stored tool call or todo of a run. `arguments`, `result` and `title` (the todo, or a subagent's task)
    are short lines that may quote anyone. ACTIVE means no result yet; `seconds` is None if unknown.
    """

    tool: str
    arguments: str
    state: ProgressState
    result: str = ""
    seconds: float | None = None
    kind: StepKind = StepKind.TOOL
    title: str = ""


class PartKind(StrEnum):
    """Kind of a reply part: text, an artifact of the thread, or a file written by the service."""

    TEXT = "text"
    FILE = "file"
    DOCUMENT = "document"


class PartState(StrEnum):
    """Delivery state of a reply part; `intended` after a crash means that the outcome is unknown."""

    PLANNED = "planned"
    INTENDED = "intended"
    POSTED = "posted"
    FINAL = "final"
    UNDELIVERED = "undelivered"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a reply. `content` is Markdown for TEXT, the artifact's virtual path for FILE, and the whole
    content for DOCUMENT; `choices` are a question's answers, offered as buttons. Below a command's answer,
    each choice stands for one of the `commands` (without a slash).
    """

    index: int
    kind: PartKind
    content: str
    state: PartState = PartState.PLANNED
    platform_id: str = ""
    filename: str = ""
    repeated: bool = False
    choices: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """An outgoing message for an adapter: one part of a reply with its destination.

    - `key`: the same for all attempts to send the part (platforms with idempotent sends use it).
    - `text`: Markdown that fits the platform's limit.
    - `final`: the last version, as opposed to a frame of a stream.
    - `choices`: the buttons below the message, for adapters that are AsksChoice.
    - `since`: when its turn was accepted (s; 0.0: unknown); no older message is an attempt to send it.
    - `progress`: the steps of the agent's work, for drafts and for adapters that are ShowsProgress (a frame's
      `text` may be "" then); none is active in a final message.
    - `full`: the reply continues in another part after this frame.
    - `alone`: the id of the only person in a group who may see it, if the platform can ("": everybody).
    - `mentions`: the names in a final text that become mentions, for adapters that are MentionsByName. One
      without an id stays as it is, and no shorter name counts in its place.
    - `rated`: it completes an answer, which people may rate (`Inbox.rate`).
    - `unsure`: the service ended during an earlier attempt to send it, which may have succeeded.
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
    mentions: tuple[Mention, ...] = ()
    rated: bool = False
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class OutboundFile:
    """A file to send. `data` is its content, within the platform's limit; others as for OutboundMessage."""

    key: str
    address: ReplyAddress
    filename: str
    mime: str
    data: bytes = field(repr=False)
    since: float = 0.0
    alone: str = ""
