"""Messages as the Bot API writes them and as a person sees them."""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.telegram.state import TelegramChat, TelegramMessage
from roebot_testing.emulators.telegram.workspace import BOT_ID


def message_wire(message: TelegramMessage, *, nested: bool = False) -> dict[str, Any]:
    """Build the `Message` object; a replied-to message is nested once, as Telegram does."""
    wire: dict[str, Any] = {
        "message_id": message.id,
        "from": message.sender.wire(),
        "chat": message.chat.wire(),
        "date": message.date,
    }
    if message.edit_date:
        wire["edit_date"] = message.edit_date
    if message.thread_id:
        wire["message_thread_id"] = message.thread_id
    if message.in_topic:
        wire["is_topic_message"] = True
    if message.album:
        wire["media_group_id"] = message.album
    if message.reply_to is not None and not nested:
        wire["reply_to_message"] = message_wire(message.reply_to, nested=True)
    if message.markup:
        wire["reply_markup"] = message.markup
    wire.update(_content(message))
    wire.update(message.service)
    wire.update(message.extra)
    return wire


def _content(message: TelegramMessage) -> dict[str, Any]:
    if message.rich:
        blocks = [{"type": "paragraph", "text": part} for part in message.text.split("\n\n")]
        return {"rich_message": {"blocks": blocks}}
    text, entities = ("caption", "caption_entities") if message.media else ("text", "entities")
    content: dict[str, Any] = {}
    if message.media:
        content[message.media.kind] = message.media.wire()
    if message.text:
        content[text] = message.text
    if message.entities:
        content[entities] = message.entities
    return content


def seen(message: TelegramMessage) -> dict[str, Any]:
    """Return a message as a person sees it now."""
    return {
        "message_id": message.id,
        "sender": message.sender.id,
        "name": message.sender.name,
        "from_bot": message.sender.id == BOT_ID,
        "text": message.text,
        "entities": message.entities,
        "kind": message.media.kind if message.media else ("rich" if message.rich else "text"),
        "filename": message.media.file.name if message.media and message.media.file else "",
        "file_id": message.media.file.file_id if message.media and message.media.file else "",
        "topic": message.thread_id if message.in_topic else 0,
        "reply_to": message.reply_to.id if message.reply_to else 0,
        "album": message.album,
        "edits": len(message.edits),
        "date": message.date,
        "markup": message.markup,
    }


def view(chat: TelegramChat, now: float) -> dict[str, Any]:
    """Return a chat as a person sees it now: messages in order, and the current draft."""
    standing = [message for message in chat.messages.values() if not message.deleted and not message.service]
    return {
        "chat": chat.id,
        "kind": chat.kind,
        "title": chat.title,
        "migrated_to": chat.migrated_to,
        "messages": [seen(message) for message in standing],
        "draft": chat.draft if chat.draft_until > now else "",
    }
