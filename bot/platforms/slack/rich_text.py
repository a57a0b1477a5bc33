"""Rich text, which contains information missing in a message's `text`: code languages, nested lists, and
references to messages and files (docs.slack.dev/reference/block-kit/blocks/rich-text-block).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from bot.platforms.payload import Json, get_int, get_object, get_objects, get_string
from bot.platforms.slack.mrkdwn import show_link
from bot.platforms.slack.names import BOT_MARK, Names, read_title

_STYLES = (("code", "`"), ("bold", "**"), ("italic", "_"), ("strike", "~~"))
_MAX_INDENT = 8


def read_rich_text(block: Json, names: Names) -> str:
    """Return a block's rich text as Markdown. Raises Malformed."""
    return "\n".join(_read_part(part, names) for part in get_objects(block, "elements"))


def _read_part(part: Json, names: Names) -> str:
    kind = get_string(part, "type")
    if kind == "rich_text_list":
        return _read_list(part, names)
    text = _read_section(part, names).removesuffix("\n")
    if kind == "rich_text_preformatted":
        return f"```{get_string(part, 'language')}\n{text}\n```"
    if kind == "rich_text_quote":
        return "\n".join(f"> {line}" for line in text.split("\n"))
    return text


def _read_list(part: Json, names: Names) -> str:
    indent = "  " * min(max(get_int(part, "indent"), 0), _MAX_INDENT)
    ordered, offset = get_string(part, "style") == "ordered", get_int(part, "offset")
    items = (_read_section(item, names) for item in get_objects(part, "elements"))
    lines = [f"{f'{offset + number}.' if ordered else '-'} {item}" for number, item in enumerate(items, 1)]
    return "\n".join(indent + line for line in lines)


def _read_section(section: Json, names: Names) -> str:
    return "".join(_read_element(element, names) for element in get_objects(section, "elements"))


def _read_element(element: Json, names: Names) -> str:
    read = _ELEMENTS.get(get_string(element, "type"))
    if read is not None:
        return read(element, names)
    return read_title(element).replace(BOT_MARK, "") or f"[{get_string(element, 'type')}]"


def _read_styled(element: Json, names: Names) -> str:
    text = get_string(element, "text").replace(BOT_MARK, "")
    style, bare = get_object(element, "style"), text.strip()
    if not bare:
        return text
    before, after = text[: text.index(bare[0])], text[len(text.rstrip()) :]
    for name, mark in _STYLES:
        if style.get(name) is True:
            bare = f"{mark}{bare}{mark}"
    return before + bare + after


def _read_emoji(element: Json, names: Names) -> str:
    try:
        signs = "".join(chr(int(code, 16)) for code in get_string(element, "unicode").split("-"))
        signs.encode()  # a lone surrogate cannot be stored
        return signs
    except (ValueError, OverflowError):
        return f":{get_string(element, 'name')}:"


def _read_date(element: Json, names: Names) -> str:
    shown = get_string(element, "fallback") or _format_time(get_int(element, "timestamp"))
    url = get_string(element, "url")
    return show_link(url, shown) if url else shown


def _format_time(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return ""


def _read_citation(element: Json, names: Names) -> str:
    details = get_object(element, "details")
    title = get_string(details, "title") or get_string(details, "display_name") or read_title(element)
    return show_link(get_string(element, "url"), title)


def _read_reference(element: Json, names: Names) -> str:
    return names.show_reference(element)


_ELEMENTS: Mapping[str, Callable[[Json, Names], str]] = {
    "text": _read_styled,
    "link": lambda one, names: show_link(get_string(one, "url"), get_string(one, "text")),
    "user": lambda one, names: names.show_person(get_string(one, "user_id")),
    "channel": lambda one, names: names.show_channel(get_string(one, "channel_id")),
    "usergroup": lambda one, names: names.show_group(get_string(one, "usergroup_id")),
    "broadcast": lambda one, names: f"@{get_string(one, 'range')}",
    "emoji": _read_emoji,
    "date": _read_date,
    "color": lambda one, names: get_string(one, "value"),
    "citation": _read_citation,
    "message_mention": _read_reference,
    "work_object_mention": _read_reference,
    "attachment_mention": _read_reference,
    "list_record": _read_reference,
    "workflow_mention": _read_reference,
    "file": _read_reference,
    "canvas": _read_reference,
}
