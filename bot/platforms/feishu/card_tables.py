"""Rows of tables and charts in cards (open.feishu.cn, components table and chart)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.platforms.feishu.card_values import objects, read_plain
from bot.platforms.feishu.markup import format_time
from bot.platforms.payload import Json

MAX_ROWS = 50
MAX_COLUMNS = 50

ReadText = Callable[[object], str]
ReadPerson = Callable[[object], str]


def table_lines(element: Json, read_text: ReadText, read_person: ReadPerson) -> Iterator[str]:
    """Yield a table as lines of Markdown."""
    columns = objects(element.get("columns"))[:MAX_COLUMNS]
    rows = objects(element.get("rows"))
    if not columns:
        return
    heads = [read_text(one.get("display_name")) or read_text(one.get("name")) for one in columns]
    yield _row(heads)
    yield _row(["---"] * len(columns))
    for row in rows[:MAX_ROWS]:
        yield _row(
            [_cell(row.get(read_plain(one.get("name"))), one, read_text, read_person) for one in columns]
        )
    if len(rows) > MAX_ROWS:
        yield f"({len(rows) - MAX_ROWS} more rows)"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"


def _cell(value: object, column: Json, read_text: ReadText, read_person: ReadPerson) -> str:
    kind, values = read_plain(column.get("data_type")), value if isinstance(value, list) else [value]
    if kind == "persons":
        return ", ".join(read_person(one) for one in values[:MAX_COLUMNS] if isinstance(one, str) and one)
    if kind == "date" and isinstance(value, int | float):
        return format_time(value)
    text = ", ".join(filter(None, (read_text(one) for one in values[:MAX_COLUMNS])))
    style = column.get("format")
    symbol = read_text(style.get("symbol")) if kind == "number" and isinstance(style, dict) else ""
    return f"{symbol}{text}" if text else ""


def chart_lines(element: Json, read_text: ReadText) -> Iterator[str]:
    """Yield a chart's title and values, one row per line."""
    spec = element.get("chart_spec")
    if not isinstance(spec, dict):
        return
    yield f"[chart: {read_text(spec.get('title')) or read_text(spec.get('type'))}]"
    data = spec.get("data")
    series = [data] if isinstance(data, dict) else objects(data)
    rows = [row for one in series for row in objects(one.get("values"))]
    names = [_field_name(spec, "xField", "categoryField"), _field_name(spec, "yField", "valueField")]
    for row in rows[:MAX_ROWS]:
        yield _chart_row(row, names, read_text)
    if len(rows) > MAX_ROWS:
        yield f"({len(rows) - MAX_ROWS} more values)"


def _field_name(spec: Json, *keys: str) -> str:
    for key in keys:
        value = spec.get(key)
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(first, str):
            return first
    return ""


def _chart_row(row: Json, names: list[str], read_text: ReadText) -> str:
    """Return `category: value`, with other values of the row (its series) before the colon."""
    label, amount = (read_text(row.get(name)) for name in names)
    others = [read_text(value) for key, value in row.items() if key not in names]
    return f"{', '.join(filter(None, [label, *others[:5]]))}: {amount}"
