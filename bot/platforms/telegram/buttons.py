"""Buttons below messages of apps, and in rich messages."""

from __future__ import annotations

from bot.content import CardLink
from bot.platforms.payload import Json, get_object, get_objects, get_string

MAX_BUTTONS = 100
"""Buttons that Telegram allows below a message (core.telegram.org/bots/api#inlinekeyboardmarkup)."""


def read_buttons(message: Json) -> list[CardLink]:
    """Return the buttons below a message, row by row. Raises Malformed."""
    rows = get_object(message, "reply_markup").get("inline_keyboard")
    buttons = [one for row in rows if isinstance(row, list) for one in row] if isinstance(rows, list) else []
    links = (read_button(one) for one in get_objects({"buttons": buttons}, "buttons")[:MAX_BUTTONS])
    return [link for link in links if link is not None]


def read_button(button: Json) -> CardLink | None:
    """Return a button with its address, if it opens one; None without a label. Raises Malformed."""
    label = get_string(button, "text")
    url = get_string(button, "url")
    for kind in ("web_app", "login_url"):
        url = url or get_string(get_object(button, kind), "url")
    return CardLink(label, url) if label else None
