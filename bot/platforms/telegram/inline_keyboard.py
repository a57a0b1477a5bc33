"""Choices as inline buttons, and which one was pressed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.platforms.payload import Json, get_objects, get_object, get_string

MAX_CHOICES = 20
"""Buttons of one question. Telegram takes 100 in a keyboard; nobody reads so many below each other."""
LABEL_LIMIT = 64
"""Characters of a label; clients cut longer ones off."""
_PREFIX = "choice:"


def inline_keyboard(choices: Sequence[str]) -> dict[str, Any]:
    """The `reply_markup` of a question. `callback_data` has 1 to 64 bytes, so it holds a number alone."""
    rows = [
        [{"text": choice[:LABEL_LIMIT], "callback_data": f"{_PREFIX}{number}"}]
        for number, choice in enumerate(choices)
    ]
    return {"inline_keyboard": rows}


def pressed_label(message: Json, data: str) -> str:
    """What the pressed button of a message says, "" where that cannot be told. Raises Malformed."""
    if not data.startswith(_PREFIX):
        return ""
    rows = get_object(message, "reply_markup").get("inline_keyboard")
    for row in rows if isinstance(rows, list) else ():
        for button in get_objects({"row": row}, "row"):
            if get_string(button, "callback_data") == data:
                return get_string(button, "text")
    return ""
