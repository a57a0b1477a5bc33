"""Conversion of apps' blocks (docs.slack.dev/reference/block-kit/blocks) to the lines of a card.

Values, ids, colours and icons are omitted: a person does not see them either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.content import Card, CardField, CardLink
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string
from bot.platforms.slack.block_elements import read_element, read_elements
from bot.platforms.slack.mrkdwn import read_text_object
from bot.platforms.slack.names import Names
from bot.platforms.slack.rich_text import read_rich_text
from bot.platforms.slack.tables import read_chart, read_data_table, read_table

CardLine = str | CardField | CardLink
MAX_BLOCKS = 100
"""Blocks that are read of one level; a message has at most 50 (docs.slack.dev/reference/block-kit/blocks)."""
MAX_DEPTH = 4
_DONE = {"complete": "x", "completed": "x"}


def read_blocks(blocks: Sequence[Json], names: Names, depth: int = 0) -> list[CardLine]:
    """Return the content of blocks in reading order, with a line in place of unreadable blocks."""
    lines: list[CardLine] = []
    for block in blocks[:MAX_BLOCKS]:
        lines += _read_block(block, names, depth)
    return [line for line in lines if line and line != CardLink("")]


def read_block_card(blocks: Sequence[Json], names: Names) -> Card:
    """Return the card displayed by blocks; a leading header becomes its title."""
    if blocks and blocks[0].get("type") == "header":
        [title, *_] = [*_read_block(blocks[0], names, 0), ""]
        return Card(title=str(title), lines=read_blocks(blocks[1:], names))
    return Card(lines=read_blocks(blocks, names))


def _read_block(block: Json, names: Names, depth: int) -> Iterable[CardLine]:
    kind = str(block.get("type") or "")[:40]
    try:
        if kind in _NESTED and depth < MAX_DEPTH:
            return _NESTED[kind](block, names, depth + 1)
        read = _BLOCKS.get(kind)
        return read(block, names) if read is not None else _read_unknown(block, kind, names)
    except Malformed:
        return [f"[unreadable: {kind}]"]


def _read_unknown(block: Json, kind: str, names: Names) -> list[CardLine]:
    found = block.get("text")
    text = read_text_object(block, "text", names) if isinstance(found, str | dict) else ""
    return [f"[unsupported: {kind}]", text]


def _read_section(block: Json, names: Names) -> list[CardLine]:
    fields = [read_text_object({"text": one}, "text", names) for one in get_objects(block, "fields")]
    accessory = get_object(block, "accessory")
    return [read_text_object(block, "text", names), *fields, *read_element(accessory, names)]


def _read_context(block: Json, names: Names) -> list[CardLine]:
    """Read a line of texts and icons; the icons are omitted."""
    elements = [one for one in get_objects(block, "elements") if get_string(one, "type") != "image"]
    return [" · ".join(filter(None, (read_text_object({"text": one}, "text", names) for one in elements)))]


def _read_image(block: Json, names: Names) -> list[CardLine]:
    return [read_text_object(block, "title", names), *read_element({**block, "type": "image"}, names)]


def _read_video(block: Json, names: Names) -> list[CardLine]:
    title = CardLink(read_text_object(block, "title", names), get_string(block, "title_url"))
    source = [get_string(block, "author_name"), get_string(block, "provider_name")]
    return [title, read_text_object(block, "description", names), " · ".join(filter(None, source))]


def _read_card_block(block: Json, names: Names) -> list[CardLine]:
    texts = [read_text_object(block, key, names) for key in ("title", "subtitle", "body")]
    hero = get_object(block, "hero_image")
    return [*texts, *read_element(hero, names), *read_elements(get_objects(block, "actions"), names)]


def _read_input(block: Json, names: Names) -> list[CardLine]:
    label, hint = (read_text_object(block, key, names) for key in ("label", "hint"))
    return [label, *read_element(get_object(block, "element"), names), hint]


def _read_call(block: Json, names: Names) -> list[CardLine]:
    call = get_object(get_object(block, "call"), "v1")
    people = get_objects(call, "active_participants") or get_objects(call, "all_participants")
    shown = (_show_participant(one, names) for one in people[:50])
    link = CardLink(get_string(call, "name") or "Call", get_string(call, "join_url"))
    ended = "ended" if call.get("has_ended") is True else ""
    return [link, CardField("Participants", ", ".join(shown)) if people else "", ended]


def _show_participant(one: Json, names: Names) -> str:
    user = get_string(one, "slack_id")
    return names.show_person(user) if user else get_string(one, "display_name")


def _read_task(block: Json, names: Names) -> list[CardLine]:
    status = get_string(block, "status")
    state = f" ({status.replace('_', ' ')})" if status not in ("", *_DONE) else ""
    line = f"- [{_DONE.get(status, ' ')}] {get_string(block, 'title')}{state}"
    texts = [read_rich_text(get_object(block, key), names) for key in ("details", "output")]
    sources = [
        CardLink(get_string(one, "text"), get_string(one, "url")) for one in get_objects(block, "sources")
    ]
    return [line, *texts, *sources]


def _read_plan(block: Json, names: Names) -> list[CardLine]:
    tasks = [_read_task(task, names) for task in get_objects(block, "tasks")[:MAX_BLOCKS]]
    return [read_text_object(block, "title", names), *(line for task in tasks for line in task)]


def _read_shortcut(block: Json, names: Names) -> list[CardLine]:
    return [CardLink(get_string(block, "title"), get_string(block, "url")), get_string(block, "description")]


def _read_text(block: Json, names: Names) -> list[CardLine]:
    return [read_text_object(block, "text", names)]


def _read_nothing(block: Json, names: Names) -> list[CardLine]:
    return []


def _read_carousel(block: Json, names: Names, depth: int) -> list[CardLine]:
    return read_blocks(get_objects(block, "elements"), names, depth)


def _read_container(block: Json, names: Names, depth: int) -> list[CardLine]:
    titles = [read_text_object(block, key, names) for key in ("title", "subtitle")]
    return [*titles, *read_blocks(get_objects(block, "child_blocks"), names, depth)]


_NESTED: Mapping[str, Callable[[Json, Names, int], list[CardLine]]] = {
    "carousel": _read_carousel,
    "container": _read_container,
}
_BLOCKS: Mapping[str, Callable[[Json, Names], list[CardLine]]] = {
    "header": _read_text,
    "section": _read_section,
    "context": _read_context,
    "divider": _read_nothing,
    "actions": lambda block, names: read_elements(get_objects(block, "elements"), names),
    "context_actions": _read_nothing,
    "image": _read_image,
    "video": _read_video,
    "markdown": _read_text,
    "rich_text": lambda block, names: [read_rich_text(block, names)],
    "table": lambda block, names: [read_table(block, names)],
    "data_table": lambda block, names: [read_data_table(block, names)],
    "data_visualization": lambda block, names: [read_chart(block)],
    "alert": _read_text,
    "card": _read_card_block,
    "plan": _read_plan,
    "task_card": _read_task,
    "call": _read_call,
    "file": _read_nothing,
    "input": _read_input,
    "share_shortcut": _read_shortcut,
}
