"""A reply of 12,000 characters with code and a table, as an assistant writes it."""

from __future__ import annotations

import re

from bot.platforms.telegram.entity_renderer import TELEGRAM_TEXT_LIMIT, render_entities, split_for_telegram
from bot.render.ast import CodeBlock, Table
from bot.render.measure import utf16_units
from bot.render.parse import parse
from bot.render.partial_markdown import close_open
from tests.unit.bot.render.visible import leaves, visible, visible_parts

CODE = '''```python
from collections.abc import Iterator


def batches(items: list[str], size: int) -> Iterator[list[str]]:
    """Yield the items in lists of at most `size`; **never** an empty one."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def total(**options: int) -> int:
    return sum(value ** 2 for value in options.values())
```'''

TABLE = "| # | Name | Größe | 备注 |\n|--:|:-----|:-----:|------|\n" + "\n".join(
    f"| {n} | `file_{n}.py` | {n * 17 % 900} kB | 第 {n} 个文件 👍 |" for n in range(1, 41)
)

PROSE = (
    "Splitting a list into batches is **simple**, but there are _three_ things to watch: the last batch is "
    "shorter, an empty list has none, and the size must be positive. See [the notes](https://example.com/n) "
    "for more. "
    "中文段落也要正确处理，不能在字符中间断开。Emoji such as 👨‍👩‍👧 and 👍🏽 count as more than one unit.\n"
)

STEPS = "\n".join(
    f"{n}. Step **{n}**: read the file, check it\n   - with `check --fast {n}`\n   - and write it down"
    for n in range(1, 31)
)


def document() -> str:
    parts = [
        "# A long answer",
        PROSE * 3,
        "## Code",
        CODE,
        PROSE,
        "## Steps",
        STEPS,
        PROSE * 2,
        "## Files",
        TABLE,
    ]
    parts += [
        "## Why",
        PROSE * 5,
        "## More code",
        PROSE,
        CODE.replace("python", "py"),
        "> " + PROSE,
        "## Again",
        PROSE * 3,
        CODE,
        PROSE * 3,
    ]
    return "\n\n".join(part.strip() for part in parts)


def test_it_is_long_enough():
    assert 11_000 < len(document()) < 14_000


def test_every_message_is_within_the_limit_and_nothing_is_lost():
    parts = split_for_telegram(document())
    assert 3 <= len(parts) <= 5
    assert all(0 < utf16_units(render_entities(part).text) <= TELEGRAM_TEXT_LIMIT for part in parts)
    assert visible_parts(parts) == visible(document())


def test_fences_are_whole():
    parts = split_for_telegram(document())
    blocks = [leaf for part in parts for leaf in leaves(parse(part).blocks) if isinstance(leaf, CodeBlock)]
    assert [block.language for block in blocks] == ["python", "py", "python"]
    assert all("value ** 2" in block.text and "**never**" in block.text for block in blocks)
    for part in parts:
        assert len(re.findall("^```", part, re.M)) % 2 == 0


def test_the_table_keeps_its_rows_and_header():
    parts = split_for_telegram(document())
    tables = [leaf for part in parts for leaf in leaves(parse(part).blocks) if isinstance(leaf, Table)]
    assert sum(len(table.rows) for table in tables) == 40
    assert len({table.header for table in tables}) == 1


def test_it_streams_with_borders_that_stay():
    text = document()
    whole = split_for_telegram(text)
    for end in range(0, len(text), 211):
        parts = split_for_telegram(text[:end])
        assert parts[:-1] == whole[: max(0, len(parts) - 1)]
        if parts:
            frame = close_open(parts[-1])
            assert utf16_units(render_entities(frame).text) <= TELEGRAM_TEXT_LIMIT
            assert visible(whole[len(parts) - 1]).startswith(visible(frame)) or len(parts) < len(whole)
