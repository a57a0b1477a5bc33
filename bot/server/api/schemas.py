"""Response schemas of the service's own routes. Times are seconds since the epoch (UTC), 0 for never."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasPath, BaseModel, ConfigDict, Field

from bot.account_state import Live
from bot.domain import AttachmentKind, PartKind, PartState, ProgressState, QuotationKind, StepKind
from bot.store.search import HitPlace
from bot.turn import TurnKind, TurnState


class ApiModel(BaseModel):
    """Base of response schemas: frozen, without extra fields, and also read from the store's objects."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True, validate_by_name=True)


class SignInLink(ApiModel):
    """A single-use sign-in link; it expires at `expires_at` (UTC, s)."""

    url: str
    expires_at: float


class CreatedApiToken(ApiModel):
    """A new API token; it expires at `expires_at` (UTC, s)."""

    token: str
    expires_at: float


class SignedIn(ApiModel):
    """The signed-in caller. `how` is token, link, oidc or api_token; `account` is the one that they signed in
    from.
    """

    person: str
    name: str
    role: str
    how: str
    account: str


class ConversationInfo(ApiModel):
    """A conversation. `owner` is `platform:id` ("" for a group); `own` is true if the caller owns it;
    `writable` is true if the caller can post messages to it here. `place` is the name of its chat, and
    `owner_name` that of its owner ("" for a group, or if unknown).
    """

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
    owner: str
    created_at: float
    active_at: float
    own: bool
    writable: bool
    place: str
    owner_name: str


class PersonName(ApiModel):
    """A person (`platform:id`) by name, and an account that they used."""

    person: str
    name: str
    platform: str
    account: str


class ChatName(ApiModel):
    """A chat, or a topic in it, by name. `conversation` is its latest one."""

    account: str
    chat: str
    topic: str
    name: str
    platform: str
    kind: str
    conversation: int


class NameList(ApiModel):
    """People and chats whose name contains a text: people by name, chats by their last use."""

    people: list[PersonName]
    chats: list[ChatName]


class Conversations(ApiModel):
    """A page of conversations, newest first; `next` is the cursor of the next page."""

    conversations: list[ConversationInfo]
    next: str | None


class File(ApiModel):
    """A file attached to a message; `size` is in bytes, or -1 if unknown."""

    kind: AttachmentKind
    filename: str
    size: int


class QuotationInfo(ApiModel):
    """Content of somebody else that a person forwarded, quoted or shared; `author` is "" if unknown."""

    kind: QuotationKind
    text: str
    author: str
    author_id: str
    files: list[str]


class MessageInfo(ApiModel):
    """A message from a person; `text` holds their own words."""

    id: int
    event_id: str
    sender: str = Field(validation_alias=AliasPath("sender", "id"))
    name: str = Field(validation_alias=AliasPath("sender", "name"))
    text: str
    sent_at: float
    files: list[File] = Field(validation_alias="attachments")
    quotations: list[QuotationInfo] = []


class PartInfo(ApiModel):
    """A part of a reply: Markdown text, or a file with its URL. `own` are the agent's words if the turn's
    `approval` or `failure` describes the rest, else null. `choices` are what the caller may press.
    """

    index: int
    kind: PartKind
    state: PartState
    text: str
    own: str | None
    filename: str
    url: str
    image: bool
    repeated: bool
    choices: list[str]


class Tokens(ApiModel):
    """Number of input and output tokens; `total_tokens` is the provider's figure, usually their sum.
    `cached_tokens` are the input tokens read from the provider's cache. `cost` is in `currency`, which is ""
    while no prices are configured.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int
    cost: float
    currency: str


class UsageTotals(Tokens):
    """Tokens used by several turns."""

    turns: int


class PersonUsage(UsageTotals):
    """Tokens used by a person (`platform:id`), with their name, or a description if it is unknown."""

    person: str
    name: str


class UsageReport(ApiModel):
    """Tokens used by turns accepted since `since`, in total and by person; `next` is the next cursor."""

    since: float
    total: UsageTotals
    people: list[PersonUsage]
    next: str | None


class UsageRow(UsageTotals):
    """Tokens used with a key: a day, model, person, account or chat, and its name for people."""

    key: str
    name: str


class UsageBreakdown(ApiModel):
    """Tokens used by turns accepted since `since`, by a key: days in order, others by tokens."""

    since: float
    rows: list[UsageRow]


class ToolCallEntry(ApiModel):
    """A step: a tool call with shortened arguments and result, or a todo. `state` is active until there is a
    result; `seconds` is the duration, or None if it was not measured. `title` is the text of a todo or a
    subagent's task.
    """

    tool: str
    arguments: str
    state: ProgressState
    result: str
    seconds: float | None
    kind: StepKind
    title: str


class TurnRemedy(ApiModel):
    """What may help after a failure: try again, choose or repair the `model`, choose another `agent`, start a
    `new` agent thread, see to the `account` of the chat, or nothing. `reason` is the category of the failure,
    such as auth, quota, overloaded, context or runtime.
    """

    kind: Literal["retry", "model", "agent", "new", "sign-in", "limit", "account", "none"]
    reason: str


class ApprovalRequest(ApiModel):
    """An open approval of a call of `tool`, which `request` describes as Markdown. `waits_for` names in a
    sentence who may decide until `expires_at`; `rejection` is the choice that rejects ("" if unknown).
    """

    tool: str
    request: str
    may_decide: bool
    rejection: str
    waits_for: str
    expires_at: float


class TurnInfo(ApiModel):
    """A turn: its messages and the reply. `replaced` is true if a later turn (with `repeats`) answered it
    again, whose `original` are these messages; `usage` is None if tokens were not counted; `steps` are its
    todos and the latest tool calls, oldest first; `model` is the model that answered ("" if unknown); `asks`
    is true while the reply's question or approval is open, and `approval` describes the latter. `place` is
    the name of the chat. `rating` is the caller's (1: good, -1: bad, 0: none). `failure` is what the reply
    says about a failure (Markdown); `remedy` is set if the turn failed, or part of the reply was not
    delivered. `editable` is true if the caller may replace the turn's message; only the newest such turn
    counts.
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
    messages: list[MessageInfo]
    original: list[MessageInfo]
    parts: list[PartInfo]
    steps: list[ToolCallEntry]
    usage: Tokens | None
    model: str
    asks: bool
    approval: ApprovalRequest | None
    failure: str
    account: str
    platform: str
    place: str
    rating: int
    remedy: TurnRemedy | None
    editable: bool


class Turns(ApiModel):
    """A page of turns, newest first; `next` is the cursor of the next page."""

    turns: list[TurnInfo]
    next: str | None


class SearchHit(ApiModel):
    """A conversation's title, a message or an answer with the words that were searched. `turn` is None for a
    title; `excerpt` is one line of the text.
    """

    conversation: int
    turn: int | None
    title: str
    platform: str
    account: str
    excerpt: str
    at: float
    place: HitPlace = Field(alias="in")


class SearchPage(ApiModel):
    """A page of hits; `next` is the cursor of the next page."""

    hits: list[SearchHit]
    next: str | None


class PostResult(ApiModel):
    """An accepted turn: None if it is not among the latest. `event_id` is "" if there is no message."""

    conversation: int
    event_id: str
    turn: int | None


class ChannelInfo(ApiModel):
    """An account and its state."""

    account: str
    platform: str
    state: Live
    reason: str
    since: float
    identity: str
    last_event: float


class PlatformInfo(ApiModel):
    """A platform on which an account can be added. `keys` are those that its entry needs, each with a name
    for its variable; `guide` is the page of a plug-in as Markdown.
    """

    name: str
    title: str
    keys: dict[str, str]
    guide: str


class Channels(ApiModel):
    """A page of accounts, ordered by name, and the platforms on which another one can be added."""

    channels: list[ChannelInfo]
    platforms: list[PlatformInfo]
    next: str | None


class CommandInfo(ApiModel):
    """A slash command, for completion."""

    name: str
    usage: str
    summary: str
    role: str


class Commands(ApiModel):
    """The slash commands that the caller may use."""

    commands: list[CommandInfo]


class HealthInfo(ApiModel):
    """Liveness of the process."""

    status: str
    version: str


class Check(ApiModel):
    """The state of one dependency."""

    ok: bool
    detail: str = ""


class Ready(ApiModel):
    """Readiness to answer messages."""

    ready: bool


class Readiness(ApiModel):
    """Readiness to answer messages, with details. Account states don't affect `ready`."""

    ready: bool
    database: Check
    runtime: Check
    accounts: dict[str, Check]


class Restarted(ApiModel):
    """A restarted account."""

    account: str


GivenRole = Literal["owner", "admin", "member", "blocked"]


class ConfiguredRole(ApiModel):
    """A role in the configuration, either for one account or for all accounts ("") except those with their
    own list (`not_on`). `name` is that of the person or group, if known.
    """

    entry: str
    role: GivenRole
    account: str = ""
    not_on: list[str] = []
    name: str = ""


class AccountDefault(ApiModel):
    """An account's default access, which overrides the general one."""

    account: str
    default: str


class RoleGrantInfo(ApiModel):
    """A granted role. `by` is the person who granted it (`platform:id`); `changeable` is true if the caller
    may change it. `erasable` is the person whose data the caller may export and erase (`platform:id`), "" for
    a group or if they may not.
    """

    entry: str
    role: str
    name: str
    by: str
    at: float
    changeable: bool
    erasable: str


class PendingPairing(ApiModel):
    """A pending access request without its code. `entry` (`account:id`) identifies it for approval."""

    account: str
    entry: str
    person: str
    name: str
    expires_at: float


class Access(ApiModel):
    """Configured roles, granted roles and pending access requests."""

    default: str
    defaults: list[AccountDefault]
    configured: list[ConfiguredRole]
    given: list[RoleGrantInfo]
    next: str | None
    waiting: list[PendingPairing]
