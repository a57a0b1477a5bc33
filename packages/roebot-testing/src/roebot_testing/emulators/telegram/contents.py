"""Content beyond plain words, with the fields of the Bot API: buttons, polls, contacts, rich messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roebot_testing.emulators.telegram.state import TelegramChat, TelegramMessage

GROUP_ANONYMOUS_BOT = {
    "id": 1087968824,
    "is_bot": True,
    "first_name": "Group",
    "username": "GroupAnonymousBot",
}
"""Account in whose name anonymous admins write (core.telegram.org/bots/api#message)."""
CHANNEL_BOT = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
"""Account in whose name people write as a channel (ibid.)."""


def keyboard(buttons: Mapping[str, str]) -> dict[str, Any]:
    """Build the buttons below an app's message: labels with the URL that they open, or "" for a callback."""
    rows = [
        [{"text": label, **({"url": url} if url else {"callback_data": f"press:{number}"})}]
        for number, (label, url) in enumerate(buttons.items())
    ]
    return {"inline_keyboard": rows}


def alert(title: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Build a rich message with a heading and a table of named values."""
    cells = [
        [
            {"text": name, "is_header": True, "align": "left", "valign": "middle"},
            {"text": value, "align": "left", "valign": "middle"},
        ]
        for name, value in fields.items()
    ]
    blocks: list[dict[str, Any]] = [{"type": "heading", "text": title, "size": 2}]
    if cells:
        blocks.append({"type": "table", "cells": cells})
    return {"blocks": blocks}


def poll(question: str, options: Sequence[str], *, number: int) -> dict[str, Any]:
    """Build a poll without votes."""
    return {
        "id": str(number),
        "question": question,
        "options": [
            {"persistent_id": str(at), "text": text, "voter_count": 0} for at, text in enumerate(options)
        ],
        "total_voter_count": 0,
        "is_closed": False,
        "is_anonymous": True,
        "type": "regular",
        "allows_multiple_answers": False,
        "allows_revoting": True,
        "members_only": False,
    }


def origin_of(message: TelegramMessage) -> dict[str, Any]:
    """Build the `forward_origin` of a message."""
    chat = message.extra.get("sender_chat")
    if chat is not None:
        kind = "channel" if chat["type"] == "channel" else "chat"
        return {"type": kind, "chat" if kind == "channel" else "sender_chat": chat, "date": message.date}
    return {"type": "user", "sender_user": message.sender.wire(), "date": message.date}


def as_chat(chat: TelegramChat, signature: str) -> dict[str, Any]:
    """Build the sender of a message on behalf of the group itself."""
    fields: dict[str, Any] = {"from": GROUP_ANONYMOUS_BOT, "sender_chat": chat.wire()}
    return {**fields, "author_signature": signature} if signature else fields


def as_channel(title: str, number: int) -> dict[str, Any]:
    """Build the sender of a message on behalf of a channel."""
    return {"from": CHANNEL_BOT, "sender_chat": {"id": number, "title": title, "type": "channel"}}
