"""Message types other than text, files and cards.

Types: open.larkoffice.com, im-v1, "Message content" of events. Times are in ms since the epoch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from bot.content import (
    Card,
    CardField,
    ChecklistTask,
    PollOption,
    card,
    checklist,
    contact,
    location,
    notice,
    poll,
    sticker,
    unsupported,
)
from bot.domain import Quotation
from bot.platforms.feishu.card_values import read_plain
from bot.platforms.feishu.markup import format_time
from bot.platforms.feishu.mentions import FeishuMentions, FeishuNames
from bot.platforms.feishu.rich_text import read_rich_text
from bot.platforms.payload import Json, Malformed, get_object, get_string, get_strings, require_string

MAX_OPTIONS = 50
_VARIABLE = re.compile(r"\{(\w{1,50})\}")


def read_kind(kind: str, content: Json, mentions: FeishuMentions, names: FeishuNames) -> Quotation:
    """Read the content of a message of this type. Raises Malformed."""
    if kind == "share_user":
        return _named_contact(kind, names.find_person(require_string(content, "user_id")))
    if kind == "share_chat":
        return _named_contact(kind, names.find_group(require_string(content, "chat_id")), "group")
    if kind == "todo":
        return _read_task(content, mentions)
    read = _KINDS.get(kind)
    return read(content) if read is not None else _read_unknown(kind, content)


def _named_contact(kind: str, name: str, *details: str) -> Quotation:
    return contact(name, *details) if name else unsupported(kind)


def _read_sticker(content: Json) -> Quotation:
    del content  # it holds a key only, which nobody can fetch
    return sticker("")


def _read_folder(content: Json) -> Quotation:
    """Read a folder, which can't be fetched."""
    return unsupported(f"folder {get_string(content, 'file_name')}".strip())


def _read_location(content: Json) -> Quotation:
    latitude, longitude = _read_angle(content, "latitude"), _read_angle(content, "longitude")
    return location(latitude, longitude, get_string(content, "name"))


def _read_angle(content: Json, key: str) -> float:
    try:
        found = float(get_string(content, key))
    except ValueError:
        raise Malformed(f"{key} is not a number") from None
    if not math.isfinite(found):
        raise Malformed(f"{key} is not a number")
    return found


def _read_system(content: Json) -> Quotation:
    """Read a notice: a template with the names of the people involved."""
    template = require_string(content, "template")
    return notice(_VARIABLE.sub(lambda found: _read_variable(content.get(found[1])), template))


def _read_variable(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(read_plain, value)))
    return read_plain(value)


def _read_call(content: Json) -> Quotation:
    """Read a video call started by a person."""
    number = get_string(content, "meet_number")
    begins, ends = _read_times(content)
    parts = ["Video call", get_string(content, "topic"), f"meeting number {number}" if number else ""]
    parts.append(" to ".join(filter(None, [begins, ends])))
    return notice("\n".join(filter(None, parts)))


def _read_calendar(content: Json) -> Quotation:
    """Read a calendar event: an invitation, or a shared or transferred event."""
    begins, ends = _read_times(content)
    lines = [CardField(name, at) for name, at in (("Start", begins), ("End", ends)) if at]
    return card(Card(get_string(content, "summary"), author="Calendar event", lines=lines))


def _read_times(content: Json) -> tuple[str, str]:
    return _read_moment(content, "start_time"), _read_moment(content, "end_time")


def _read_moment(content: Json, key: str) -> str:
    """Return a time in words from a string of milliseconds, or "" if absent."""
    text = read_plain(content.get(key))
    return format_time(int(text)) if text.isascii() and text.isdecimal() and len(text) <= 16 else ""


def _read_task(content: Json, mentions: FeishuMentions) -> Quotation:
    summary = get_object(content, "summary")
    title = get_string(summary, "title")
    text, _ = read_rich_text({**summary, "title": ""}, "", mentions)
    due = _read_moment(content, "due_time")
    return checklist(title, [ChecklistTask(f"{text or title}{f' (due {due})' if due else ''}")])


def _read_poll(content: Json) -> Quotation:
    options = [PollOption(one) for one in get_strings(content, "options")[:MAX_OPTIONS]]
    return poll(get_string(content, "topic"), options, "closed" if content.get("status") == 1 else "")


def _read_unknown(kind: str, content: Json) -> Quotation:
    """Read an unknown type: its texts, if it has any."""
    texts = [read_plain(content.get(key)) for key in ("title", "topic", "summary", "text", "content")]
    found = list(filter(None, texts))
    return card(Card(author=f"[{kind}]", lines=found)) if found else unsupported(kind)


_KINDS: dict[str, Callable[[Json], Quotation]] = {
    "sticker": _read_sticker,
    "folder": _read_folder,
    "location": _read_location,
    "system": _read_system,
    "video_chat": _read_call,
    "calendar": _read_calendar,
    "share_calendar_event": _read_calendar,
    "general_calendar": _read_calendar,
    "vote": _read_poll,
}
