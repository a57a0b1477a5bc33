"""Messages of any author: people, apps, and Slack itself.

What its author wrote becomes the text. Everything else becomes quotations, and so the mention of the bot in a
card or a shared message never counts as one by the author.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from bot import content
from bot.content import Card, CardLink, card_text
from bot.domain import Attachment, Mention, Quotation, QuotationKind, Sender
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string
from bot.platforms.slack.attachments import list_shared_files, read_attachments
from bot.platforms.slack.blocks import read_block_card
from bot.platforms.slack.inbound_files import ReadFiles, read_files
from bot.platforms.slack.mrkdwn import close_gaps, is_placeholder, read_labels, read_mrkdwn
from bot.platforms.slack.names import AuthorNames, LookupKind, SlackNames
from bot.platforms.slack.rich_text import read_rich_text

TOMBSTONE = "tombstone"
SLACKBOT = "USLACKBOT"
_WRITTEN = frozenset({"", "file_share", "thread_broadcast", "me_message"})
"""Subtypes of `message` that somebody has written."""
_APP = "bot_message"
_CANVAS, _HUDDLE = "document_mention", "huddle_thread"
_SKIPPED = frozenset({"message_replied", "assistant_app_thread"})
"""Subtypes that repeat another message, or hold the title of a chat."""


class Writer(Enum):
    """Kind of a message's author."""

    PERSON = "person"
    APP = "app"
    SLACK = "slack"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class SlackContent:
    """A message's content. `named`: the author mentions the bot; `other`: the first mentioned person is
    someone else.
    """

    text: str = ""
    named: bool = False
    other: bool = False
    attachments: tuple[Attachment, ...] = ()
    quotations: tuple[Quotation, ...] = ()
    mentions: tuple[Mention, ...] = ()


def find_writer(message: Json, bot: str, bot_id: str) -> Writer:
    """Return the kind of a message's author; NOBODY for the bot itself and for events that are not new
    messages.

    Raises Malformed.
    """
    subtype, user, app = (get_string(message, key) for key in ("subtype", "user", "bot_id"))
    if user == bot or (bot_id and app == bot_id) or subtype in _SKIPPED or not (user or app):
        return Writer.NOBODY
    if subtype == _APP or (app and subtype in _WRITTEN):
        return Writer.APP
    return Writer.PERSON if subtype in _WRITTEN and user != SLACKBOT else Writer.SLACK


def read_sender(message: Json, writer: Writer, names: SlackNames) -> Sender:
    """Return the author; a person's name and groups are looked up later. Raises Malformed."""
    if writer is Writer.APP:
        return _read_app(message, names)
    user = get_string(message, "user")
    if get_string(message, "subtype") == _HUDDLE:
        user = get_string(get_object(message, "room"), "created_by") or user
    return Sender(user, "Slackbot", is_bot=True) if user == SLACKBOT else Sender(user)


def _read_app(message: Json, names: SlackNames) -> Sender:
    """Return an app by its bot id, since messages it posts in a person's name also contain that person's
    id.
    """
    profile = get_object(message, "bot_profile")
    bot_id, app_id = get_string(message, "bot_id"), get_string(message, "app_id")
    team = get_string(profile, "team_id") or get_string(message, "team")
    name = get_string(message, "username") or get_string(profile, "name")
    belongs = tuple(f"{kind}:{one}" for kind, one in (("app", app_id), ("team", team)) if one)
    name = name or names.find(LookupKind.APP, bot_id)
    return Sender(bot_id or get_string(message, "user"), name, is_bot=True, belongs=belongs)


def read_message(message: Json, writer: Writer, names: SlackNames) -> SlackContent:
    """Return a message's content, omitting unreadable parts."""
    if writer is Writer.SLACK:
        return SlackContent(quotations=_read_notice(message, names))
    author = AuthorNames(names, read_labels(get_string(message, "text")))
    blocks, broken = _list_blocks(message)
    rich = [one for one in blocks if one.get("type") == "rich_text"]
    others = [one for one in blocks if one.get("type") != "rich_text"]
    whole = bool(rich) and (not others or writer is Writer.PERSON)
    text = _read_words(message, rich if whole else [], author)
    card = Card() if not others else read_block_card(others if whole else blocks, names)
    shown = card_text(card)
    if writer is Writer.APP and not whole and not author.named and _is_shown(text, shown):
        text = ""
    files = _read_files(message, names)
    quotations = (
        *_read_root(message, names),
        *([content.card(card)] if shown else []),
        *([content.unsupported("blocks")] if broken else []),
        *author.quotations,
        *read_attachments(message, names),
        *files.quotations,
    )
    attachments = _order_attachments(files.attachments, quotations)
    mentions = tuple(author.mentions)
    return SlackContent(text, author.named, author.other, attachments, quotations, mentions)


def _read_words(message: Json, rich: Sequence[Json], author: AuthorNames) -> str:
    """Return the author's own text, preferring rich text, which is more complete than `text`."""
    raw = get_string(message, "text")
    try:
        text = "\n".join(read_rich_text(block, author) for block in rich)
    except Malformed:
        text = ""
    text = text or ("" if is_placeholder(raw) else read_mrkdwn(raw, author))
    return close_gaps(text) if author.named else text


def _is_shown(text: str, card: str) -> bool:
    """Return whether a card contains the notification text."""
    words = _squeeze(text)
    return not words or words in _squeeze(card)


def _squeeze(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _list_blocks(message: Json) -> tuple[list[Json], bool]:
    try:
        return get_objects(message, "blocks"), False
    except Malformed:
        return [], True


def _read_files(message: Json, names: SlackNames) -> ReadFiles:
    """Return the author's own files, followed by those of shared messages. What is said in the latter belongs
    to their quotations, not to the author.
    """
    try:
        own = get_objects(message, "files")
    except Malformed:
        own = [{"mode": ()}]
    mine, others = read_files(own, names), read_files(list_shared_files(message), names)
    known = (one for one in others.quotations if one.kind is not QuotationKind.TRANSCRIPT)
    return ReadFiles((*mine.attachments, *others.attachments), (*mine.quotations, *known))


def _order_attachments(
    attachments: Sequence[Attachment], quotations: Sequence[Quotation]
) -> tuple[Attachment, ...]:
    """Return the author's own files, followed by those of quotations."""
    quoted = {name for one in quotations for name in one.files}
    return tuple(sorted(attachments, key=lambda one: one.filename in quoted))


def _read_root(message: Json, names: SlackNames) -> tuple[Quotation, ...]:
    """Return the thread's first message if the message includes it, because the reply was also sent to the
    channel.
    """
    root = message.get("root")
    if not isinstance(root, dict):
        return ()
    try:
        writer = find_writer(root, names.bot, "")
        if writer is Writer.NOBODY:
            return ()
        found, sender = read_message({**root, "root": None}, writer, names), read_sender(root, writer, names)
        name = sender.name or names.find_person(sender.id)
        others = tuple(one for one in found.quotations if one.kind is QuotationKind.SHARED)
        own = _without_shared(found, others)
        text, ts = flatten_content(own), get_string(root, "ts")
        start = Quotation(QuotationKind.THREAD_START, text, name, sender.id, message_id=ts)
        return (start, *others)
    except Malformed:
        return ()


def _without_shared(found: SlackContent, shared: Sequence[Quotation]) -> SlackContent:
    """Return the author's own text and files, without the shared messages of others."""
    files = {name for one in shared for name in one.files}
    return replace(
        found,
        attachments=tuple(one for one in found.attachments if one.filename not in files),
        quotations=tuple(one for one in found.quotations if one not in shared),
    )


def flatten_content(found: SlackContent) -> str:
    """Return a message as one text, for quoting it."""
    files = [f"[{one.filename}]" for one in found.attachments]
    return "\n".join(filter(None, [found.text, *(one.text for one in found.quotations), *files]))


def _read_notice(message: Json, names: SlackNames) -> tuple[Quotation, ...]:
    """Read a notice by Slack: a person joined, a message was pinned, a call started."""
    if get_string(message, "subtype") == _CANVAS:
        return _read_canvas_mention(message, names)
    blocks, _ = _list_blocks(message)
    raw = get_string(message, "text")
    text = read_mrkdwn(raw, names) or card_text(read_block_card(blocks, names))
    user = get_string(message, "user")
    if get_string(message, "subtype") == _HUDDLE:
        text = _read_huddle(text, message, names)
    elif text[:1].islower() and user and (name := names.find_person(user)):
        text = f"{name} {text}"
    notices = [content.notice(text.removeprefix("@"))] if text else []
    return (*notices, *read_attachments(message, names), *_read_files(message, names).quotations)


def _read_huddle(text: str, message: Json, names: SlackNames) -> str:
    room = get_object(message, "room")
    creator = get_string(room, "created_by")
    ids = room.get("participant_history")
    people = [one for one in ids if isinstance(one, str)][:50] if isinstance(ids, list) else []
    by = f" by {names.show_person(creator)}" if creator else ""
    joined = f" (joined: {', '.join(map(names.show_person, people))})" if people else ""
    return f"{text or 'A huddle'}{by}{joined}"


def _read_canvas_mention(message: Json, names: SlackNames) -> tuple[Quotation, ...]:
    """Read a mention of the bot in a canvas, which does not address the bot, since others may have written
    the text.
    """
    blocks, _ = _list_blocks(message)
    file_id = get_string(get_object(message, "document_mention"), "file_id")
    file = names.find_file(file_id) if file_id else {}
    title = CardLink(get_string(file, "title") or "canvas", get_string(file, "permalink"))
    card = read_block_card(blocks, names)
    notice = content.notice(read_mrkdwn(get_string(message, "text"), names).removeprefix("@"))
    return notice, content.card(Card(title.label, title.url, lines=card.lines))
