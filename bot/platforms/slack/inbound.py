"""Conversion of Slack payloads to domain messages, without API calls."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain import (
    ChatKind,
    InboundChange,
    InboundMessage,
    InboundRating,
    Origin,
    Quotation,
    Sender,
)
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_string,
)
from bot.platforms.slack.agent_view import SlackViewing, describe_view, read_viewing
from bot.platforms.slack.choices import FEEDBACK, GOOD, ButtonPlace, SlackClick, read_place
from bot.platforms.slack.messages import TOMBSTONE, Writer, find_writer, read_message, read_sender
from bot.platforms.slack.mrkdwn import read_mrkdwn
from bot.platforms.slack.names import BOT_MARK, AuthorNames, SlackNames

_CHANGED, _DELETED = "message_changed", "message_deleted"
_DIRECT = "directmessage"


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """The bot's ids in its workspace, and the workspace's address (with a trailing slash).

    `enterprise` is the organization that the workspace belongs to ("" for none).
    """

    user: str
    bot: str
    team: str
    name: str = ""
    url: str = ""
    enterprise: str = ""

    @property
    def teams(self) -> frozenset[str]:
        """The bot's workspace and organization."""
        return frozenset({self.team, self.enterprise} - {""})

    def message_link(self, chat: str, ts: str, root: str) -> str:
        """Build a message's address in the format of chat.getPermalink (docs.slack.dev); "" for none."""
        if not self.url:
            return ""
        thread = f"?thread_ts={root}&cid={chat}" if root and root != ts else ""
        return f"{self.url}archives/{chat}/p{ts.replace('.', '')}{thread}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message with pending lookups.

    `thread`: the thread in a channel whose root decides whether the bot is addressed; `team`: the sender's
    workspace; `in_direct_chat`: it came by a command from a direct message that need not be the bot's;
    `response_url`: answers where the bot cannot write; `click`: the pressed button; `is_stop`: it was Slack's
    stop button.
    """

    message: InboundMessage
    team: str = ""
    thread: str = ""
    in_direct_chat: bool = False
    response_url: str = ""
    click: SlackClick | None = None
    is_stop: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event without effect."""


@dataclass(frozen=True, slots=True)
class SlackRating:
    """A pressed feedback button; `response_url` answers the person privately."""

    rating: InboundRating
    response_url: str


@dataclass(frozen=True, slots=True)
class SlackTitle:
    """A thread's session title, set by a person."""

    origin: Origin
    title: str


SlackEvent = SlackMessage | InboundChange | SlackRating | SlackTitle | SlackViewing | Ignored


class SlackInbound:
    """Reads payloads for one account."""

    def __init__(self, account: str, identity: SlackIdentity) -> None:
        self._account = account
        self._identity = identity

    def make_names(self) -> SlackNames:
        """Return the names known before any lookup."""
        return SlackNames(self._identity.user, self._identity.name)

    def read(self, body: Json, names: SlackNames | None = None) -> SlackEvent:
        """Convert a payload with the known names. Raises Malformed."""
        names = names if names is not None else self.make_names()
        if "command" in body:
            return self._convert_command(body, names)
        if body.get("type") == "block_actions":
            return self._convert_click(body)
        return self._read_event(body, names) if body.get("type") == "event_callback" else Ignored()

    def _read_event(self, body: Json, names: SlackNames) -> SlackEvent:
        event = get_object(body, "event")
        kind = get_string(event, "type")
        if kind in ("message", "app_mention"):
            return self._convert_message(event, body, names)
        if kind == "agent_session_stopped":
            return self._convert_stop(event, body)
        if kind == "agent_session_title_changed":
            return self._convert_title(event)
        return read_viewing(event) or Ignored()

    def _convert_message(
        self, event: Json, body: Json, names: SlackNames
    ) -> SlackMessage | InboundChange | Ignored:
        if get_string(event, "subtype") in (_CHANGED, _DELETED):
            return self._convert_change(event, body, names)
        writer = find_writer(event, self._identity.user, self._identity.bot)
        if writer is Writer.NOBODY:
            return Ignored()
        return self._build_message(event, body, writer, names)

    def _build_message(self, event: Json, body: Json, writer: Writer, names: SlackNames) -> SlackMessage:
        chat, ts = require_string(event, "channel"), require_ts(event, "ts")
        kind = _chat_kind(chat, get_string(event, "channel_type"))
        root = require_ts(event, "thread_ts") if event.get("thread_ts") else ""
        found = read_message(event, writer, names)
        by_person = writer is Writer.PERSON
        mine = get_string(event, "parent_user_id") == self._identity.user
        meant = found.named or (by_person and kind is ChatKind.PRIVATE)
        follows = by_person and bool(root) and not meant and not found.other
        viewing: tuple[Quotation, ...] = ()
        if by_person and kind is ChatKind.PRIVATE and found.text.strip():
            context = get_object(event, "app_context")
            viewing = describe_view(context, names, self._identity.message_link)
        message = InboundMessage(
            event_id=f"{chat}:{ts}",
            origin=self._build_origin(
                chat,
                kind,
                ts,
                read_sender(event, writer, names),
                topic=root or ts,
                reply_to=root if root != ts else "",
            ),
            text=found.text,
            sent_at=float(ts),
            addressed=meant or (follows and mine),
            attachments=found.attachments,
            link=self._identity.message_link(chat, ts, root),
            quotations=(*found.quotations, *viewing),
            mentions=found.mentions,
            mentioned=found.named,
        )
        return SlackMessage(message, find_team(event, body), thread=root if follows and not mine else "")

    def _convert_change(self, event: Json, body: Json, names: SlackNames) -> InboundChange | Ignored:
        """Convert an edit, a deletion, or link previews that Slack adds later. A deleted thread root becomes
        a tombstone.
        """
        before, now = get_object(event, "previous_message"), get_object(event, "message")
        gone = get_string(event, "subtype") == _DELETED or get_string(now, "subtype") == TOMBSTONE
        written = before if gone else now
        writer = find_writer(written, self._identity.user, self._identity.bot) if written else Writer.SLACK
        if writer is Writer.NOBODY or not (written or gone):
            return Ignored()
        ts = require_ts(written, "ts") if written else require_ts(event, "deleted_ts")
        chat = require_string(event, "channel")
        kind = _chat_kind(chat, get_string(event, "channel_type"))
        at = float(require_ts(event, "event_ts" if event.get("event_ts") else "ts"))
        origin = self._build_origin(chat, kind, ts, read_sender(written, writer, names))
        event_id = require_string(body, "event_id")
        if gone:
            return InboundChange(event_id, origin, None, at)
        new, old = read_message(now, writer, names), read_message(before, writer, names)
        # Without an edit only Slack changed something, such as a preview: the text is the same.
        rewritten = bool(now.get("edited")) or get_string(now, "text") != get_string(before, "text")
        called = new.named and not old.named
        beside = (new.quotations, new.attachments)
        same = beside == (old.quotations, old.attachments)
        if not called and not (rewritten and new.text != old.text) and same:
            return Ignored()
        # What is the same is left as it is stored: a file or name that was found then may not be found now.
        quotations = new.quotations if new.quotations != old.quotations else None
        attachments = new.attachments if new.attachments != old.attachments else None
        message = None
        if called:
            context = {"channel": chat, "channel_type": event.get("channel_type")}
            message = self._build_message({**now, **context}, body, writer, names).message
        return InboundChange(event_id, origin, new.text, at, message, quotations, attachments, new.mentions)

    def _convert_command(self, body: Json, names: SlackNames) -> SlackMessage:
        """Convert a use of the slash command, whose text Slack escapes like a message's."""
        author = AuthorNames(names)
        text = read_mrkdwn(get_string(body, "text"), author).replace(BOT_MARK, f"@{self._identity.name}")
        user, chat = require_string(body, "user_id"), require_string(body, "channel_id")
        words = text.strip().removeprefix("/") or "help"
        trigger = require_string(body, "trigger_id")
        direct = get_string(body, "channel_name") == _DIRECT
        kind = ChatKind.PRIVATE if direct else ChatKind.GROUP
        origin = self._build_origin(chat, kind, f"command:{trigger}", Sender(user))
        mentions, sent = tuple(author.mentions), _whole_seconds(trigger)
        message = InboundMessage(f"command:{trigger}", origin, f"/{words}", sent, mentions=mentions)
        return SlackMessage(
            message,
            get_string(body, "team_id"),
            in_direct_chat=direct,
            response_url=get_string(body, "response_url"),
        )

    def _convert_rating(self, body: Json, action: Json) -> SlackRating:
        """Convert a pressed feedback button."""
        user = require_string(get_object(body, "user"), "id")
        chat = require_string(get_object(body, "channel"), "id")
        ts = require_ts(get_object(body, "message"), "ts")
        event = f"rating:{chat}:{ts}:{get_string(action, 'action_ts')}:{user}"
        origin = self._build_origin(chat, _chat_kind(chat, ""), event, Sender(user))
        rating = InboundRating(event, origin, ts, get_string(action, "value") == GOOD)
        return SlackRating(rating, get_string(body, "response_url"))

    def _convert_click(self, body: Json) -> SlackMessage | SlackRating | Ignored:
        """Convert a pressed button. For a message visible to one person, the payload lacks the message; its
        location is in the block id (docs.slack.dev/interactivity/handling-user-interaction).
        """
        actions = get_objects(body, "actions")
        if actions and get_string(actions[0], "action_id") == FEEDBACK:
            return self._convert_rating(body, actions[0])
        message, container = get_object(body, "message"), get_object(body, "container")
        user = require_string(get_object(body, "user"), "id")
        chat = get_string(get_object(body, "channel"), "id") or get_string(container, "channel_id")
        alone = container.get("is_ephemeral") is True
        value = get_string(actions[0], "value") if actions else ""
        if not value or not chat or not (message or alone):
            return Ignored()
        ts = require_ts(container, "message_ts") if alone else require_ts(message, "ts")
        place = read_place(get_string(actions[0], "block_id")) if alone else ButtonPlace()
        thread = (
            require_ts(message or container, "thread_ts") if (message or container).get("thread_ts") else ts
        )
        event = f"click:{chat}:{ts}:{get_string(actions[0], 'action_ts')}:{user}"
        replied = (place.message or f"alone:{ts}") if alone else ts
        topic = place.topic if alone and place != ButtonPlace() else thread
        kind = _chat_kind(chat, "")
        origin = self._build_origin(chat, kind, event, Sender(user), topic=topic, reply_to=replied)
        blocks, url = tuple(get_objects(message, "blocks")), get_string(body, "response_url")
        click = SlackClick(chat, ts, user, value, get_string(message, "text"), blocks, url, alone)
        sent = _whole_seconds(get_string(actions[0], "action_ts"))
        team = get_string(get_object(body, "team"), "id")
        return SlackMessage(InboundMessage(event, origin, value, sent, clicked=True), team, click=click)

    def _convert_title(self, event: Json) -> SlackTitle:
        chat, root = require_string(event, "channel"), require_ts(event, "thread_ts")
        sender = Sender(require_string(event, "user"))
        return SlackTitle(
            self._build_origin(chat, _chat_kind(chat, ""), root, sender, topic=root),
            require_string(event, "title"),
        )

    def _convert_stop(self, event: Json, body: Json) -> SlackMessage:
        chat, root, user = (
            require_string(event, "channel"),
            require_ts(event, "thread_ts"),
            require_string(event, "user"),
        )
        event_id = require_string(body, "event_id")
        origin = self._build_origin(chat, _chat_kind(chat, ""), event_id, Sender(user), topic=root)
        sent = float(get_int(body, "event_time", 0))
        return SlackMessage(InboundMessage(event_id, origin, "/stop", sent), is_stop=True)

    def _build_origin(
        self, chat: str, kind: ChatKind, message: str, sender: Sender, *, topic: str = "", reply_to: str = ""
    ) -> Origin:
        return Origin(
            account=self._account,
            platform="slack",
            chat=chat,
            chat_kind=kind,
            message_id=message,
            sender=sender,
            topic=topic,
            reply_to=reply_to,
        )


def _chat_kind(chat: str, channel_type: str) -> ChatKind:
    private = channel_type == "im" or (not channel_type and chat.startswith("D"))
    return ChatKind.PRIVATE if private else ChatKind.GROUP


def find_team(message: Json, body: Json) -> str:
    """Return the sender's own workspace, which differs in a shared channel. An organization (E…) is not a
    workspace.
    """
    teams = [get_string(message, "user_team"), get_string(message, "team"), get_string(body, "team_id")]
    return next((team for team in teams if team and not team.startswith("E")), "")


def _whole_seconds(text: str) -> float:
    whole = text.partition(".")[0]
    return float(whole) if whole.isascii() and whole.isdecimal() and len(whole) < 14 else 0.0


def require_ts(parent: Json, key: str) -> str:
    """Return a timestamp, which is Slack's message id: seconds, a point, six digits. Raises Malformed."""
    value = require_string(parent, key)
    whole, _, part = value.partition(".")
    if not (value.isascii() and whole.isdecimal() and part.isdecimal() and len(value) < 32):
        raise Malformed(f"{key} is not a timestamp")
    return value
