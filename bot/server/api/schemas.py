"""What the routes of the bot's half answer. Times are seconds since the epoch, 0 for never."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.domain import AttachmentKind, Live, PartKind, PartState, ProgressState, TurnKind, TurnState
from bot.store.schedules import ScheduleKind, ScheduleState


class ApiModel(BaseModel):
    """A result: frozen, and exactly these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SignedIn(ApiModel):
    """Somebody at the page: `how` is token, loopback or link, `account` where they are known from."""

    person: str
    name: str
    role: str
    how: str
    account: str


class ConversationInfo(ApiModel):
    """A conversation. `owner` is whose it is as `platform:id` ("" for a group's), `own`: the caller's;
    `writable`: the caller can post messages to it here.
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


class Conversations(ApiModel):
    """A page of conversations, newest first; `next` is the cursor of the following page."""

    conversations: list[ConversationInfo]
    next: str | None


class File(ApiModel):
    """A file that came with a message; `size` in bytes, -1 where unknown."""

    kind: AttachmentKind
    filename: str
    size: int


class MessageInfo(ApiModel):
    """A message that a person wrote."""

    id: int
    event_id: str
    sender: str
    name: str
    text: str
    sent_at: float
    files: list[File]


class PartInfo(ApiModel):
    """A part of the reply: Markdown and the same as sanitized HTML, or a file with its address. `choices` are
    the buttons below it while its question is open.
    """

    index: int
    kind: PartKind
    state: PartState
    text: str
    html: str
    filename: str
    url: str
    image: bool
    repeated: bool
    choices: list[str]


class Tokens(ApiModel):
    """Tokens that models took and gave; `total_tokens` is what the provider says, mostly the sum of both."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


class ErasureResult(ApiModel):
    """What came of erasing what is kept about somebody: `shared_threads` have words of others and stay, as do
    `open_messages`, which are being worked on; `remembers`: the agent could not be asked to forget.
    """

    messages: int
    threads: int
    shared_threads: int
    open_messages: int
    remembers: bool


class UsageTotals(Tokens):
    """What so many turns cost together."""

    turns: int


class PersonUsage(UsageTotals):
    """What somebody's turns cost; `person` is `platform:id`, `name` the one of their newest message."""

    person: str
    name: str


class UsageReport(ApiModel):
    """What turns accepted since then cost: together, and a page of people; `next` is the cursor of the
    following page.
    """

    since: float
    total: UsageTotals
    people: list[PersonUsage]
    next: str | None


class DayUsage(UsageTotals):
    """What the turns of a day (`2026-03-01`) cost."""

    day: str


class DaysUsage(ApiModel):
    """What turns accepted since then cost, day by day; days that cost nothing are left out."""

    since: float
    days: list[DayUsage]


class ToolCallEntry(ApiModel):
    """A tool that the agent called: short lines of what it was given and of what came of it. The state is
    active where nothing did; `seconds` is how long it took, None where nobody measured it.
    """

    tool: str
    arguments: str
    state: ProgressState
    result: str
    seconds: float | None


class TurnInfo(ApiModel):
    """What was asked and what was answered. `replaced`: a later turn answers the same again (`repeats`);
    `usage` is None where nobody counted. `steps` are the latest tool calls, oldest first, once the
    turn is answered.
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
    parts: list[PartInfo]
    steps: list[ToolCallEntry]
    usage: Tokens | None


class Turns(ApiModel):
    """A page of turns, newest first; `next` is the cursor of the following page."""

    turns: list[TurnInfo]
    next: str | None


class PostResult(ApiModel):
    """A turn was accepted: it is on disk. `turn` is None where it is too old to name; `event_id` is "" where
    nobody wrote a message.
    """

    conversation: int
    event_id: str
    turn: int | None


class ChannelInfo(ApiModel):
    """An account and its live state."""

    account: str
    platform: str
    state: Live
    reason: str
    since: float
    identity: str
    last_event: float


class Channels(ApiModel):
    """A page of accounts, by name."""

    channels: list[ChannelInfo]
    next: str | None


class CommandInfo(ApiModel):
    """A slash command as a composer offers it."""

    name: str
    usage: str
    summary: str
    role: str


class Commands(ApiModel):
    """The commands that the caller may use."""

    commands: list[CommandInfo]


class HealthInfo(ApiModel):
    """The process answers."""

    status: str
    version: str


class Check(ApiModel):
    """One thing that readiness needs."""

    ok: bool
    detail: str = ""


class Ready(ApiModel):
    """Whether messages can be answered now."""

    ready: bool


class Readiness(ApiModel):
    """Whether messages can be answered now, and what is in the way. Accounts are told but do not decide."""

    ready: bool
    database: Check
    runtime: Check
    accounts: dict[str, Check]


class Restarted(ApiModel):
    """The account starts anew."""

    account: str


GivenRole = Literal["owner", "admin", "member", "blocked"]


class ConfiguredRole(ApiModel):
    """A role that the configuration names, for an entry as it stands there: for one account, or for all ("")
    but those that have the same list of their own (`not_on`).
    """

    entry: str
    role: GivenRole
    account: str = ""
    not_on: list[str] = []


class AccountDefault(ApiModel):
    """What holds on an account for everybody else, where it has a rule of its own for that."""

    account: str
    default: str


class RoleGrantInfo(ApiModel):
    """A role that somebody gave: to whom, a name where one was known, by whom (`platform:id`) and when;
    whether the caller may change it.
    """

    entry: str
    role: str
    name: str
    by: str
    at: float
    changeable: bool


class PendingPairing(ApiModel):
    """A stranger who was told a code, which is for them alone; as `entry` (`account:id`) they are let in."""

    account: str
    entry: str
    person: str
    name: str
    expires_at: float


class Access(ApiModel):
    """Who may use the bot: by the configuration, for all accounts or one, and by who let them in."""

    default: str
    defaults: list[AccountDefault]
    configured: list[ConfiguredRole]
    given: list[RoleGrantInfo]
    next: str | None
    waiting: list[PendingPairing]


class AuditEntryInfo(ApiModel):
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


class Audit(ApiModel):
    """A page of what was done, newest first; `next` is the cursor of the following page."""

    entries: list[AuditEntryInfo]
    next: str | None


class ScheduleInfo(ApiModel):
    """What is to happen when. `when` are the words that said it, `rule` is how it is kept: five fields of
    cron (`L`: the last day of the month), or `@` and an instant. `person` made it; `failures` counts firings
    in a row that came to nothing.
    """

    id: int
    kind: ScheduleKind
    state: ScheduleState
    when: str
    rule: str
    zone: str
    text: str
    account: str
    platform: str
    chat: str
    topic: str
    person: str
    name: str
    made_at: float
    next_at: float
    failures: int


class PreviewedSchedule(ScheduleInfo):
    """A schedule with its next firings."""

    firings: list[float]


class Schedules(ApiModel):
    """A page of schedules; `next` is the cursor of the following page."""

    schedules: list[ScheduleInfo]
    next: str | None


class ScheduledRunList(ApiModel):
    """When something would happen."""

    firings: list[float]


class ScheduledRunInfo(ApiModel):
    """A firing. `missed` counts those before it that came too late, `skipped` says why it brought nothing.
    Its turn's `state` and whether the result was `delivered` are two things; `problem` says what went wrong.
    """

    id: int
    due_at: float
    at: float
    attempt: int
    missed: int
    skipped: str
    retry_at: float
    turn: int
    state: str
    delivered: bool
    problem: str


class Runs(ApiModel):
    """A page of firings; `next` is the cursor of the following page."""

    runs: list[ScheduledRunInfo]
    next: str | None


class CalendarFiring(ApiModel):
    """A firing on a calendar: one that was (`past`, with how it went) or one to come."""

    schedule: int
    at: float
    past: bool
    delivered: bool
    skipped: str


class Calendar(ApiModel):
    """Firings by time, and schedules that they are of; `whole`: none was left out for their number."""

    schedules: list[ScheduleInfo]
    firings: list[CalendarFiring]
    whole: bool
