"""Chats as people see them."""

from __future__ import annotations

from typing import Any

from bot.testing.emulators.feishu.state import FeishuChat, FeishuMessage, elements


def seen(message: FeishuMessage, now: float) -> dict[str, Any]:
    """Return a message as a person sees it at the monotonic time `now`."""
    card = message.card
    data = card.data if card is not None else message.content
    shows_card = message.kind == "interactive"
    buttons = [one for one in elements(data) if one.get("tag") == "button"] if shows_card else []
    return {
        "message_id": message.id,
        "sender": message.sender.open_id,
        "name": message.sender.name,
        "from_bot": message.sender.is_bot,
        "text": message.text,
        "kind": message.kind,
        "content": message.content,
        "root_id": message.root_id,
        "reply_to": message.parent_id,
        "topic": message.thread_id,
        "streaming": card is not None and card.streaming_until > now,
        "summary": _summary(data) if shows_card else "",
        "buttons": buttons,
        "edits": message.edits,
        "created": message.created,
    }


def view(chat: FeishuChat, now: float) -> dict[str, Any]:
    """Return a chat as a person sees it."""
    standing = [message for message in chat.messages.values() if not message.deleted]
    return {
        "chat": chat.id,
        "kind": chat.kind,
        "title": chat.title,
        "messages": [seen(message, now) for message in standing],
    }


def _summary(data: dict[str, Any]) -> str:
    config = data.get("config")
    summary = config.get("summary") if isinstance(config, dict) else None
    return str(summary.get("content", "")) if isinstance(summary, dict) else ""
