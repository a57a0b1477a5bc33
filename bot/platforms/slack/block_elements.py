"""Elements of blocks: buttons with their links, menus and inputs with their options or selection
(docs.slack.dev/reference/block-kit/block-elements).
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.content import CardField, CardLink
from bot.platforms.payload import Json, get_object, get_objects, get_string
from bot.platforms.slack.mrkdwn import read_text_object
from bot.platforms.slack.names import Names

MAX_ELEMENTS = 100
"""Elements and options that are read: a menu has at most 100 options (docs.slack.dev, option groups)."""
_INITIAL = ("initial_value", "initial_date", "initial_time")
_TICKED = frozenset({"checkboxes", "radio_buttons"})
_BUTTONS = frozenset({"button", "workflow_button"})


def read_elements(elements: Sequence[Json], names: Names) -> list[str | CardField | CardLink]:
    """Return a block's elements as lines of a card. Raises Malformed."""
    return [line for one in elements[:MAX_ELEMENTS] for line in read_element(one, names)]


def read_element(element: Json, names: Names) -> list[str | CardField | CardLink]:
    """Return one element as lines of a card. Raises Malformed."""
    kind = get_string(element, "type")
    if kind in _BUTTONS:
        return [CardLink(read_text_object(element, "text", names), get_string(element, "url"))]
    if kind == "image":
        alt, url = get_string(element, "alt_text"), get_string(element, "image_url")
        return [CardLink(f"image: {alt}" if alt else "image", url)]
    chosen = [get_string(element, key) for key in _INITIAL]
    return [*filter(None, chosen), *_read_options(element, kind, names)]


def _read_options(element: Json, kind: str, names: Names) -> list[str | CardField | CardLink]:
    """Read the options: with ticks for menus that show them, otherwise with the selection marked."""
    groups = get_objects(element, "option_groups")[:MAX_ELEMENTS]
    options = [*get_objects(element, "options"), *(one for group in groups for one in _options(group))]
    initial = [get_object(element, "initial_option"), *get_objects(element, "initial_options")]
    picked = {get_string(one, "value") for one in initial if one}
    lines: list[str | CardField | CardLink] = []
    for option in options[:MAX_ELEMENTS]:
        text, note = (read_text_object(option, key, names) for key in ("text", "description"))
        is_picked = get_string(option, "value") in picked
        label = f"{text} ({note})" if note else text
        if url := get_string(option, "url"):
            lines.append(CardLink(label, url))
        elif kind in _TICKED:
            lines.append(f"- [{'x' if is_picked else ' '}] {label}")
        else:
            lines.append(f"- {label}{' (chosen)' if is_picked else ''}")
    return lines


def _options(group: Json) -> list[Json]:
    return get_objects(group, "options")
