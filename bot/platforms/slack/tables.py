"""Conversion of blocks of rows and numbers to Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string
from bot.platforms.slack.mrkdwn import read_text_object
from bot.platforms.slack.names import Names
from bot.platforms.slack.rich_text import read_rich_text

MAX_ROWS = 200
"""Rows that are read; a table has at most 100 (docs.slack.dev/reference/block-kit/blocks/table-block)."""


def read_table(block: Json, names: Names) -> str:
    """Return a table's rows; the first is its header. Raises Malformed."""
    rows = block.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Malformed("rows is not a list of rows")
    return _format_rows([[_read_cell(cell, names) for cell in row] for row in rows[:MAX_ROWS]])


def read_data_table(block: Json, names: Names) -> str:
    """Return a table with its caption. Raises Malformed."""
    return "\n".join(filter(None, [read_text_object(block, "caption", names), read_table(block, names)]))


def read_chart(block: Json) -> str:
    """Return a chart's title and numbers: segments of a pie, or series of points. Raises Malformed."""
    chart = get_object(block, "chart")
    lines = [get_string(block, "title"), *map(_read_point, get_objects(chart, "segments"))]
    for series in get_objects(chart, "series"):
        lines += [get_string(series, "name"), *map(_read_point, get_objects(series, "data")[:MAX_ROWS])]
    return "\n".join(filter(None, lines))


def _read_point(point: Json) -> str:
    return f"- {get_string(point, 'label')}: {point.get('value')}"


def _read_cell(cell: Any, names: Names) -> str:
    if not isinstance(cell, dict):
        return ""
    rich = get_string(cell, "type") == "rich_text"
    text = read_rich_text(cell, names) if rich else read_text_object(cell, "text", names)
    return text.replace("|", "\\|").replace("\n", " ")


def _format_rows(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines[:1], f"|{' --- |' * len(rows[0])}", *lines[1:]]) if lines else ""
