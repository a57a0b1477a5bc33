"""Limits of Block Kit, one table: each block is checked as `chat.postMessage` does it.

The numbers are those of the reference pages of blocks, block elements and composition objects
(docs.slack.dev/reference/block-kit), which the models of slack_sdk carry too. The texts of the refusals are
those that applications report, such as "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
and "no more than 25 items allowed [json-pointer:/blocks/1/elements]" (grafana-cold-storage/oncall#5121,
adobe/spacecat-api-service#176).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.fields import find_values, json_pointer
from roebot_testing.emulators.slack.arguments import Unit, find_size_problem
from roebot_testing.emulators.slack.errors import SlackApiError
from roebot_testing.emulators.slack.markdown_blocks import count_blocks

BLOCK_LIMIT = 50
"""Blocks of a message (docs.slack.dev/reference/block-kit/blocks)."""
MARKDOWN_LIMIT = 12_000
"""Characters of all markdown blocks of a message, and of `markdown_text` in one call (docs.slack.dev,
markdown block, chat.postMessage and chat.startStream)."""
ANY = ""
"""Kind of a limit for objects of every type."""


@dataclass(frozen=True, slots=True)
class BlockLimit:
    """Limit of one field: at most `most` (0: any number) and at least `least` characters of a text, or items
    of a list.

    `kind` is the type of the block, element or text object that has the field; `path` leads to it
    (see `emulators.fields`). A `required` field must be there.
    """

    kind: str
    path: str
    most: int = 0
    least: int = 0
    required: bool = False


BLOCK_LIMITS: Sequence[BlockLimit] = (
    BlockLimit(ANY, "block_id", 255),
    BlockLimit(ANY, "action_id", 255),
    BlockLimit("plain_text", "text", 3000, 1, required=True),
    BlockLimit("mrkdwn", "text", 3000, 1, required=True),
    BlockLimit("raw_text", "text", least=1, required=True),
    BlockLimit("section", "fields", 10),
    BlockLimit("section", "fields[].text", 2000),
    BlockLimit("header", "text", required=True),
    BlockLimit("header", "text.text", 150),
    BlockLimit("context", "elements", 10, required=True),
    BlockLimit("actions", "elements", 25, required=True),
    BlockLimit("context_actions", "elements", 5, required=True),
    BlockLimit("markdown", "text", MARKDOWN_LIMIT, 1, required=True),
    BlockLimit("image", "image_url", 3000),
    BlockLimit("image", "alt_text", 2000, required=True),
    BlockLimit("image", "title.text", 2000),
    BlockLimit("video", "title.text", 199),
    BlockLimit("video", "author_name", 49),
    BlockLimit("table", "rows", 100, required=True),
    BlockLimit("table", "rows[]", 20),
    BlockLimit("table", "column_settings", 20),
    BlockLimit("card", "title.text", 150),
    BlockLimit("card", "subtitle.text", 150),
    BlockLimit("card", "body.text", 200),
    BlockLimit("carousel", "elements", 10, required=True),
    BlockLimit("container", "child_blocks", 10, required=True),
    BlockLimit("container", "title.text", 150),
    BlockLimit("container", "subtitle.text", 150),
    BlockLimit("input", "label.text", 2000),
    BlockLimit("input", "hint.text", 2000),
    BlockLimit("button", "text", required=True),
    BlockLimit("button", "text.text", 75),
    BlockLimit("button", "value", 2000),
    BlockLimit("button", "url", 3000),
    BlockLimit("button", "accessibility_label", 75),
    BlockLimit("feedback_buttons", "positive_button", required=True),
    BlockLimit("feedback_buttons", "negative_button", required=True),
    BlockLimit("feedback_buttons", "positive_button.text.text", 75),
    BlockLimit("feedback_buttons", "negative_button.text.text", 75),
    BlockLimit("feedback_buttons", "positive_button.value", 2000),
    BlockLimit("feedback_buttons", "negative_button.value", 2000),
    BlockLimit("feedback_buttons", "positive_button.accessibility_label", 75),
    BlockLimit("feedback_buttons", "negative_button.accessibility_label", 75),
    BlockLimit(ANY, "placeholder.text", 150),
    BlockLimit(ANY, "confirm.title.text", 100),
    BlockLimit(ANY, "confirm.text.text", 300),
    BlockLimit(ANY, "confirm.confirm.text", 30),
    BlockLimit(ANY, "confirm.deny.text", 30),
    BlockLimit("static_select", "options", 100),
    BlockLimit("static_select", "option_groups", 100),
    BlockLimit("multi_static_select", "options", 100),
    BlockLimit("multi_static_select", "option_groups", 100),
    BlockLimit("overflow", "options", 5, required=True),
    BlockLimit("checkboxes", "options", 10, required=True),
    BlockLimit("radio_buttons", "options", 10, required=True),
    BlockLimit(ANY, "options[].text.text", 75),
    BlockLimit(ANY, "options[].value", 150),
    BlockLimit(ANY, "options[].description.text", 75),
)
_TABLES = frozenset({"table", "data_table"})


def check_blocks(blocks: Any) -> list[dict[str, Any]]:
    """Return the blocks of a message.

    Raises SlackApiError: invalid_blocks_format for anything but a list of objects with types, invalid_blocks
    with one line for each limit that is exceeded, msg_blocks_too_long for too much Markdown,
    invalid_attachments for a second table.
    """
    if not isinstance(blocks, list) or not all(isinstance(one, dict) and "type" in one for one in blocks):
        raise SlackApiError("invalid_blocks_format")
    problems = list(dict.fromkeys([*_check_count(blocks), *_check_fields(blocks), *_check_ids(blocks)]))
    if problems:
        raise invalid_blocks(problems)
    if sum(len(_read(one, "text")) for one in blocks if one["type"] == "markdown") > MARKDOWN_LIMIT:
        raise SlackApiError("msg_blocks_too_long")
    if sum(one.get("type") in _TABLES for _, one in _objects(blocks, "/blocks")) > 1:
        raise SlackApiError("invalid_attachments", errors=["only_one_table_allowed"])
    return blocks


def invalid_blocks(problems: Sequence[str]) -> SlackApiError:
    """Build the refusal of blocks, with its reasons in both places where Slack writes them."""
    messages = [f"[ERROR] {problem}" for problem in problems]
    return SlackApiError("invalid_blocks", errors=[*problems], response_metadata={"messages": messages})


def _check_count(blocks: Sequence[dict[str, Any]]) -> Iterator[str]:
    made = sum(count_blocks(_read(one, "text")) if one["type"] == "markdown" else 1 for one in blocks)
    if problem := find_size_problem(Unit.ITEMS, made, BLOCK_LIMIT, 0, "/blocks"):
        yield problem


def _check_fields(blocks: Sequence[dict[str, Any]]) -> Iterator[str]:
    for pointer, found in _objects(blocks, "/blocks"):
        for limit in BLOCK_LIMITS:
            if limit.kind in (ANY, found.get("type")):
                yield from _check_field(limit, found, pointer)
        if found.get("type") == "section" and not found.get("text") and not found.get("fields"):
            yield f"must define either `text` or `fields` [json-pointer:{pointer}/type]"


def _check_field(limit: BlockLimit, found: dict[str, Any], pointer: str) -> Iterator[str]:
    name = limit.path.partition(".")[0]
    if limit.required and not found.get(name) and found.get(name) != "":
        yield f"missing required field: {name} [json-pointer:{pointer}]"
    for place, value in find_values(found, limit.path):
        if isinstance(value, str | list):
            unit = Unit.CHARACTERS if isinstance(value, str) else Unit.ITEMS
            where = pointer + json_pointer(place)
            if problem := find_size_problem(unit, len(value), limit.most, limit.least, where):
                yield problem


def _check_ids(blocks: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Check that no id of an action is used twice in a block (docs.slack.dev, button element)."""
    for number, block in enumerate(blocks):
        actions: set[str] = set()
        for pointer, found in _objects(block, f"/blocks/{number}"):
            action = found.get("action_id")
            if action and action in actions:
                yield f'`action_id` "{action}" already exists [json-pointer:{pointer}/action_id]'
            actions.add(str(action))


def _objects(value: Any, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object below a value with its JSON pointer."""
    if isinstance(value, dict):
        yield pointer, value
        for key, below in value.items():
            yield from _objects(below, f"{pointer}/{key}")
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _objects(below, f"{pointer}/{number}")


def _read(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""
