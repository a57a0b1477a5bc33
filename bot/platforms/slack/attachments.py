"""Attachments of messages: cards of apps, link previews, and shared messages
(docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments).

Slack attaches a copy of a shared message: `is_share` where somebody used "Forward message", `is_msg_unfurl`
where the text contains a link to it; `author_id` names its author. Lines that start with `>` are words of the
writer.
"""

from __future__ import annotations

from contextlib import suppress

from bot import content
from bot.content import Card, CardField, CardLink, card_text
from bot.domain import Quotation, QuotationKind
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string
from bot.platforms.slack.block_elements import MAX_ELEMENTS
from bot.platforms.slack.blocks import read_block_card, read_blocks
from bot.platforms.slack.inbound_files import read_speech
from bot.platforms.slack.mrkdwn import is_placeholder, read_mrkdwn, show_link
from bot.platforms.slack.names import SlackNames
from bot.platforms.unreadable import mark_unreadable

MAX_ATTACHMENTS = 100
"""Attachments that are read; Slack takes up to 100 (docs.slack.dev/reference/methods/chat.postMessage)."""


def list_shared_files(message: Json) -> list[Json]:
    """Return the files of shared messages, except unreadable ones."""
    found: list[Json] = []
    with suppress(Malformed):
        for one in get_objects(message, "attachments")[:MAX_ATTACHMENTS]:
            with suppress(Malformed):
                found += get_objects(one, "files") if _is_shared(one) else []
    return found


def read_attachments(message: Json, names: SlackNames) -> tuple[Quotation, ...]:
    """Return a message's attachments, with a placeholder quotation for unreadable ones."""
    try:
        attachments = get_objects(message, "attachments")
    except Malformed as problem:
        return (mark_unreadable(QuotationKind.SHARED, problem),)
    return tuple(_read_one(one, names) for one in attachments[:MAX_ATTACHMENTS])


def _read_one(attachment: Json, names: SlackNames) -> Quotation:
    kind = _find_kind(attachment)
    try:
        if kind is QuotationKind.SHARED:
            return _read_shared(attachment, names)
        card = read_card(attachment, names)
        if not card_text(card):
            return content.unsupported("attachment")
        return content.preview(card) if kind is QuotationKind.PREVIEW else content.card(card)
    except Malformed as problem:
        return mark_unreadable(kind, problem)


def _find_kind(attachment: Json) -> QuotationKind:
    if _is_shared(attachment):
        return QuotationKind.SHARED
    unfurled = attachment.get("from_url") or attachment.get("is_app_unfurl")
    return QuotationKind.PREVIEW if unfurled else QuotationKind.CARD


def _is_shared(attachment: Json) -> bool:
    return bool(attachment.get("is_share") or attachment.get("is_msg_unfurl"))


def _read_shared(shared: Json, names: SlackNames) -> Quotation:
    files = get_objects(shared, "files")
    lines = [_read_shared_text(shared, names), *read_speech(files, names)]
    return Quotation(
        QuotationKind.SHARED,
        card_text(Card(lines=lines, footer=_read_place(shared))),
        get_string(shared, "author_name") or get_string(shared, "author_subname"),
        get_string(shared, "author_id"),
        tuple(get_string(file, "name") or get_string(file, "id") for file in files),
        _to_seconds(shared.get("ts")),
    )


def _read_shared_text(shared: Json, names: SlackNames) -> str:
    """Return a shared message's text, preferring its blocks, which are more complete."""
    copies = [get_object(one, "message") for one in get_objects(shared, "message_blocks")]
    cards = [read_block_card(get_objects(copy, "blocks"), names) for copy in copies]
    text = "\n".join(filter(None, map(card_text, cards))) or read_mrkdwn(get_string(shared, "text"), names)
    fallback = get_string(shared, "fallback")
    return text or ("" if is_placeholder(fallback.partition(": ")[2]) else read_mrkdwn(fallback, names))


def _read_place(shared: Json) -> str:
    """Return the origin of a shared message; a private conversation has no name."""
    place, url = get_string(shared, "channel_name"), get_string(shared, "from_url")
    if not place:
        return ""
    return f"Posted in {show_link(url, f'#{place}') if url else f'#{place}'}"


def read_card(attachment: Json, names: SlackNames) -> Card:
    """Return an attachment's card. Raises Malformed."""
    texts = {key: _read_text(attachment, key, names) for key in ("pretext", "title", "text", "footer")}
    author = get_string(attachment, "author_name") or get_string(attachment, "service_name")
    fields = [
        CardField(read_mrkdwn(get_string(one, "title"), names), read_mrkdwn(get_string(one, "value"), names))
        for one in get_objects(attachment, "fields")
    ]
    lines: list[str | CardField | CardLink] = [
        texts["text"],
        *fields,
        *read_blocks(get_objects(attachment, "blocks"), names),
        *_read_actions(attachment, names),
        _read_picture(attachment),
    ]
    url = get_string(attachment, "title_link")
    above = "\n".join(filter(None, [texts["pretext"], author]))
    card = Card(texts["title"], url, above, [line for line in lines if line], texts["footer"])
    return card if card_text(card) else Card(lines=[_read_text(attachment, "fallback", names)])


def _read_text(attachment: Json, key: str, names: SlackNames) -> str:
    text = get_string(attachment, key)
    return "" if is_placeholder(text) else read_mrkdwn(text, names)


def _read_picture(attachment: Json) -> str:
    url = get_string(attachment, "image_url")
    return show_link(url, "image") if url else ""


def _read_actions(attachment: Json, names: SlackNames) -> list[str | CardLink]:
    """Read buttons and menus in the format before Block Kit."""
    lines: list[str | CardLink] = []
    for action in get_objects(attachment, "actions")[:MAX_ELEMENTS]:
        options = get_objects(action, "options")[:MAX_ELEMENTS]
        label = read_mrkdwn(get_string(action, "text"), names)
        lines.append(CardLink(label, get_string(action, "url")) if label else "")
        lines += [f"- {read_mrkdwn(get_string(one, 'text'), names)}" for one in options]
    return lines


def _to_seconds(ts: object) -> float:
    text = ts if isinstance(ts, str) and ts.isascii() else ""
    return float(text) if text.replace(".", "", 1).isdecimal() and len(text) < 20 else 0.0
