"""Converts payloads of Slack to messages of the domain, without calls to Slack."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot import content
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundMessage,
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
from bot.platforms.slack.choices import SlackClick
from bot.platforms.slack.shared_messages import list_shared_files, read_shared

_READ = frozenset({"", "file_share", "thread_broadcast", "me_message"})
"""Subtypes of `message` that somebody has written."""
_CHANGED, _DELETED, _TOMBSTONE = "message_changed", "message_deleted", "tombstone"
_DIRECT = "directmessage"


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """The bot's ids in its workspace, and the workspace's address (it ends with a slash)."""

    user: str
    bot: str
    team: str
    name: str = ""
    url: str = ""

    def message_link(self, chat: str, ts: str, root: str) -> str:
        """Build the address of a message in the form of chat.getPermalink (docs.slack.dev); "" for none."""
        if not self.url:
            return ""
        thread = f"?thread_ts={root}&cid={chat}" if root and root != ts else ""
        return f"{self.url}archives/{chat}/p{ts.replace('.', '')}{thread}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message with its open questions.

    `thread`: the thread in a channel whose root decides whether the bot is addressed; `team`: the sender's
    workspace; `in_direct_chat`: it came by a command from a direct message that need not be the bot's;
    `response_url`: answers where the bot cannot write; `click`: the pressed button.
    """

    message: InboundMessage
    team: str = ""
    thread: str = ""
    in_direct_chat: bool = False
    response_url: str = ""
    click: SlackClick | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to act on."""


class SlackInbound:
    """Reads payloads for one account."""

    def __init__(self, account: str, identity: SlackIdentity) -> None:
        self._account = account
        self._identity = identity

    def read(self, body: Json) -> SlackMessage | InboundChange | Ignored:
        """Convert a payload to a message or change. Raises Malformed."""
        if "command" in body:
            return self._convert_command(body)
        if body.get("type") == "block_actions":
            return self._convert_click(body)
        if body.get("type") != "event_callback":
            return Ignored()
        event = get_object(body, "event")
        kind = get_string(event, "type")
        if kind in ("message", "app_mention"):
            return self._convert_message(event, body)
        if kind == "agent_session_stopped":
            return self._convert_stop(event, body)
        return Ignored()

    def _convert_message(self, event: Json, body: Json) -> SlackMessage | InboundChange | Ignored:
        subtype = get_string(event, "subtype")
        if subtype in (_CHANGED, _DELETED):
            return self._convert_change(event, body)
        if subtype not in _READ or event.get("bot_id") or not event.get("user"):
            return Ignored()
        user, chat, ts = (
            require_string(event, "user"),
            require_string(event, "channel"),
            require_ts(event, "ts"),
        )
        if user == self._identity.user:
            return Ignored()
        kind = _chat_kind(chat, get_string(event, "channel_type"))
        root = require_ts(event, "thread_ts") if event.get("thread_ts") else ""
        reading = read_text(get_string(event, "text"), self._identity.user)
        shared = [file for file in list_shared_files(event) if _is_readable(file)]
        files = [*get_objects(event, "files"), *shared]
        attachments, unsupported = _read_attachments(files)
        mine = get_string(event, "parent_user_id") == self._identity.user
        meant = reading.named or get_string(event, "type") == "app_mention" or kind is ChatKind.PRIVATE
        follows = bool(root) and not meant and not reading.other
        message = InboundMessage(
            event_id=f"{chat}:{ts}",
            origin=self._build_origin(
                chat, kind, ts, user, topic=root or ts, reply_to=root if root != ts else ""
            ),
            text=reading.text,
            sent_at=float(ts),
            addressed=meant or (follows and mine),
            attachments=attachments,
            link=self._identity.message_link(chat, ts, root),
            quotations=(
                *read_quotations(event, self._identity.user),
                *([content.unsupported(unsupported)] if unsupported else []),
            ),
        )
        return SlackMessage(message, _find_team(event, body), thread=root if follows and not mine else "")

    def _convert_change(self, event: Json, body: Json) -> InboundChange | Ignored:
        """Convert an edit or deletion by a person. Link previews change a message too, and a deleted thread
        root becomes a tombstone.
        """
        before, now = get_object(event, "previous_message"), get_object(event, "message")
        gone = get_string(event, "subtype") == _DELETED or get_string(now, "subtype") == _TOMBSTONE
        written = before if gone else now
        if not self._was_by_person(written, gone=gone):
            return Ignored()
        edited = get_object(now, "edited")
        if not gone and (not edited or get_string(before, "text") == get_string(now, "text")):
            return Ignored()
        ts = require_ts(written, "ts") if written else require_ts(event, "deleted_ts")
        chat, at = (
            require_string(event, "channel"),
            require_ts(event, "event_ts" if event.get("event_ts") else "ts"),
        )
        origin = self._build_origin(
            chat, _chat_kind(chat, get_string(event, "channel_type")), ts, get_string(written, "user")
        )
        text = None if gone else read_text(get_string(now, "text"), self._identity.user).text
        return InboundChange(require_string(body, "event_id"), origin, text, float(at))

    def _was_by_person(self, message: Json, *, gone: bool) -> bool:
        """Return True for a person's message; for a deleted one the author is not always known."""
        return is_by_person(message, self._identity.user) if message else gone

    def _convert_command(self, body: Json) -> SlackMessage:
        user, chat = require_string(body, "user_id"), require_string(body, "channel_id")
        words = get_string(body, "text").strip().removeprefix("/") or "help"
        trigger = require_string(body, "trigger_id")
        direct = get_string(body, "channel_name") == _DIRECT
        kind = ChatKind.PRIVATE if direct else ChatKind.GROUP
        origin = self._build_origin(chat, kind, f"command:{trigger}", user)
        message = InboundMessage(f"command:{trigger}", origin, f"/{words}", _whole_seconds(trigger))
        return SlackMessage(
            message,
            get_string(body, "team_id"),
            in_direct_chat=direct,
            response_url=get_string(body, "response_url"),
        )

    def _convert_click(self, body: Json) -> SlackMessage | Ignored:
        actions = get_objects(body, "actions")
        message, user = get_object(body, "message"), require_string(get_object(body, "user"), "id")
        chat = get_string(get_object(body, "channel"), "id")
        if not actions or not chat or not message:
            return Ignored()
        value = get_string(actions[0], "value")
        if not value:
            return Ignored()
        ts = require_ts(message, "ts")
        root = require_ts(message, "thread_ts") if message.get("thread_ts") else ts
        event = f"click:{chat}:{ts}:{get_string(actions[0], 'action_ts')}:{user}"
        origin = self._build_origin(chat, _chat_kind(chat, ""), event, user, topic=root, reply_to=ts)
        blocks, url = tuple(get_objects(message, "blocks")), get_string(body, "response_url")
        click = SlackClick(chat, ts, user, value, get_string(message, "text"), blocks, url)
        sent = _whole_seconds(get_string(actions[0], "action_ts"))
        team = get_string(get_object(body, "team"), "id")
        return SlackMessage(InboundMessage(event, origin, value, sent, clicked=True), team, click=click)

    def _convert_stop(self, event: Json, body: Json) -> SlackMessage:
        chat, root, user = (
            require_string(event, "channel"),
            require_ts(event, "thread_ts"),
            require_string(event, "user"),
        )
        event_id = require_string(body, "event_id")
        origin = self._build_origin(chat, _chat_kind(chat, ""), event_id, user, topic=root)
        return SlackMessage(InboundMessage(event_id, origin, "/stop", float(get_int(body, "event_time", 0))))

    def _build_origin(
        self, chat: str, kind: ChatKind, message: str, user: str, *, topic: str = "", reply_to: str = ""
    ) -> Origin:
        return Origin(
            account=self._account,
            platform="slack",
            chat=chat,
            chat_kind=kind,
            message_id=message,
            sender=Sender(user),
            topic=topic,
            reply_to=reply_to,
        )


def is_by_person(message: Json, bot: str) -> bool:
    """Return True for a message by a person, not by the bot or another app."""
    written = bool(message.get("user")) and get_string(message, "subtype") in _READ
    return written and not message.get("bot_id") and message["user"] != bot


def _chat_kind(chat: str, channel_type: str) -> ChatKind:
    private = channel_type == "im" or (not channel_type and chat.startswith("D"))
    return ChatKind.PRIVATE if private else ChatKind.GROUP


def _find_team(event: Json, body: Json) -> str:
    """Return the sender's own workspace, which is another one in a shared channel."""
    return get_string(event, "user_team") or get_string(event, "team") or get_string(body, "team_id")


def _whole_seconds(text: str) -> float:
    whole = text.partition(".")[0]
    return float(whole) if whole.isascii() and whole.isdecimal() and len(whole) < 14 else 0.0


def _read_attachments(files: list[Json]) -> tuple[tuple[Attachment, ...], str]:
    found: list[Attachment] = []
    unsupported = ""
    for file in files:
        mode = get_string(file, "mode")
        if mode in ("tombstone", "hidden_by_limit", "external"):
            unsupported = f"{mode} file"
            continue
        found.append(_build_attachment(file))
    return tuple(found), "" if found else unsupported


def _is_readable(file: Json) -> bool:
    try:
        _read_attachments([file])
    except Malformed:
        return False
    return True


def _build_attachment(file: Json) -> Attachment:
    mime = get_string(file, "mimetype")
    kind = AttachmentKind.IMAGE if mime.startswith("image/") else AttachmentKind.FILE
    file_id = require_string(file, "id")
    if len(file_id) > 64:
        raise Malformed("id of a file is too long")
    return Attachment(kind, get_string(file, "name") or file_id, file_id, get_int(file, "size", -1), mime)


_TOKEN = re.compile(r"<([@#!][^<>\n]*|[a-z][a-z0-9+.-]*:[^<>\n]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


@dataclass(frozen=True, slots=True)
class SlackText:
    """A text without the bot's mention.

    `named`: the bot was mentioned; `other`: somebody else was mentioned first.
    """

    text: str
    named: bool = False
    other: bool = False


def read_text(text: str, bot: str) -> SlackText:
    """Read the text of a message (docs.slack.dev/messaging/formatting-message-text)."""
    mentions = [token[1:].partition("|")[0] for token in _TOKEN.findall(text) if token.startswith("@")]
    named = bot in mentions
    shown = _TOKEN.sub(lambda found: _resolve_token(found[1], bot), text)
    for entity, sign in _ENTITIES:
        shown = shown.replace(entity, sign)
    return SlackText(_close_gaps(shown) if named else shown, named, bool(mentions) and mentions[0] != bot)


def read_quotations(message: Json, bot: str) -> tuple[Quotation, ...]:
    """Return the messages that a message shares."""
    return read_shared(message, lambda text: read_text(text, bot).text)


def _resolve_token(token: str, bot: str) -> str:
    target, _, label = token.partition("|")
    if target == f"@{bot}":
        return "\x00"
    if target.startswith("@"):
        return f"@{label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return _resolve_special(target[1:], label)
    address = target.removeprefix("mailto:").removeprefix("tel:")
    return f"{label} ({address})" if label and label not in (address, target) else address


def _resolve_special(target: str, label: str) -> str:
    if target.startswith(("subteam^", "date^")):
        return label or target.partition("^")[2]
    return f"@{label.lstrip('@') or target}"


def _close_gaps(text: str) -> str:
    """Close the gaps that the bot's name left."""
    text = re.sub(r"^\s*\x00[\s,:]*", "", text)
    return re.sub(r"[ \t]*\x00", "", text).strip()


def require_ts(parent: Json, key: str) -> str:
    """Return a time stamp, Slack's message id: seconds, a point, six digits. Raises Malformed."""
    value = require_string(parent, key)
    whole, _, part = value.partition(".")
    if not (value.isascii() and whole.isdecimal() and part.isdecimal() and len(value) < 32):
        raise Malformed(f"{key} is no time stamp")
    return value
