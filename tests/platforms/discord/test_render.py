"""Markdown for Discord: native but for tables and deep headings, within 2,000 characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.renderer import (
    DISCORD,
    DISCORD_TEXT_LIMIT,
    PART_LIMIT,
    growing_for_discord,
    render_discord,
    split_for_discord,
)
from roebot_testing.agent.graphs import long_markdown

TABLE = "| name | 数 |\n|---|--:|\n| a | 1 |\n| bcd | 22 |"
GRID = "```\nname | 数\n-----+---\na    |  1\nbcd  | 22\n```"


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "**a** *b* ~~c~~ `d`",
        "# one\n## two\n### three",
        "- a\n  - b\n1. c",
        "> q",
        "[a](https://b.c)",
    ],
)
def test_what_discord_knows_stays_as_it_is(text: str) -> None:
    assert render_discord(text) == text


def test_a_table_becomes_a_code_block() -> None:
    assert render_discord(f"before\n\n{TABLE}\n\nafter") == f"before\n\n{GRID}\n\nafter"


def test_two_tables_are_two_blocks() -> None:
    assert render_discord(f"{TABLE}\n\nand\n\n{TABLE}") == f"{GRID}\n\nand\n\n{GRID}"


def test_a_table_in_a_quote_stays_in_it() -> None:
    quoted = "\n".join(f"> {line}" for line in TABLE.split("\n"))
    assert render_discord(quoted) == "\n".join(f"> {line}" for line in GRID.split("\n"))


def test_a_table_in_code_is_code() -> None:
    code = f"```\n{TABLE}\n#### no heading\n```"
    assert render_discord(code) == code


def test_deep_headings_are_raised() -> None:
    assert render_discord("#### a\n\n###### b\n\n####c") == "### a\n\n### b\n\n####c"


def test_a_fence_in_a_cell_cannot_end_the_block() -> None:
    drawn = render_discord("| a |\n|---|\n| `` ``` `` |")
    assert drawn.count("```") == 2


def test_parts_fit_and_fences_are_whole() -> None:
    parts = split_for_discord(long_markdown())
    assert len(parts) >= 6
    for part in parts:
        shown = render_discord(part)
        assert len(shown) <= PART_LIMIT and shown.count("```") % 2 == 0


def test_a_long_table_repeats_its_header() -> None:
    rows = "\n".join(f"| row {number} | {number * 7} |" for number in range(200))
    parts = split_for_discord(f"| name | value |\n|---|---|\n{rows}")
    assert len(parts) > 1
    for part in parts:
        shown = render_discord(part)
        assert shown.startswith("```\nname") and shown.endswith("```")
        assert len(shown) <= PART_LIMIT


BLOCKS = [TABLE, "word " * 90, "```py\n" + "x = 1\n" * 60 + "```", "#### h", "- 漢字 " * 40]


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=12))
def test_every_part_and_every_frame_fits(blocks: list[str]) -> None:
    text = "\n\n".join(blocks)
    splitter = growing_for_discord()
    for end in (len(text) // 3, len(text) // 2, len(text)):
        for part in splitter.split(text[:end]):
            assert len(render_discord(part)) <= PART_LIMIT
            assert len(render_discord(DISCORD.frame(part))) <= DISCORD_TEXT_LIMIT


def test_tags_and_formulas_are_written_for_discord():
    assert render_discord("<b>a</b> <kbd>c</kbd> 10<sup>6</sup>") == "**a** c 10⁶"
    assert render_discord("$a\\,b$ and `$c\\,d$`") == "$a\\\\,b$ and `$c\\,d$`"
    assert render_discord("![](https://a.b/c.png)") == "https://a.b/c.png"
    assert render_discord('<a href="https://a.b/c_(d)">e</a>') == "[e](https://a.b/c_%28d%29)"
    assert render_discord('<a href="file:///etc">e</a>') == "e"
