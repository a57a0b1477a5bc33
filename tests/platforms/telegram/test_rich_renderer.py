"""Rich messages: the same tree in Markdown of our own making, within the limits."""

from __future__ import annotations

import pytest
from hypothesis import given

from bot.platforms.telegram.entity_renderer import render_entities
from bot.platforms.telegram.rich_renderer import (
    RICH_BLOCK_LIMIT,
    RICH_COLUMN_LIMIT,
    RICH_TEXT_LIMIT,
    rich_markdown,
    split_for_rich,
)
from bot.render.ast import CodeBlock, ListBlock, MarkdownDocument, Quote
from bot.render.measure import utf16_units
from bot.render.parse import parse
from tests.unit.bot.render.markdown_texts import documents, long_texts, steady
from tests.unit.bot.render.visible import visible, visible_parts


@steady
@given(documents)
def test_the_tree_survives(markdown):
    written = rich_markdown(markdown)
    assert visible(written) == visible(markdown)
    assert rich_markdown(written) == written


@pytest.mark.parametrize(
    "text",
    [
        "<b>x</b>",
        "$a$",
        "||s||",
        "==m==",
        "2 * 3 * 4",
        "a_b_c",
        "[x]",
        "# no",
        "&amp;amp;",
        "a | b",
        "x^2^",
        "\\- a",
    ],
)
def test_other_dialects_are_escaped(text):
    written = rich_markdown(text)
    assert visible(written) == visible(text)
    for mark in ("<b>", "$a$", "||", "==", "^2^"):
        assert mark not in written


@pytest.mark.parametrize("text", ["a\n\\- b", "a\n\\+ b", "a\n1\\. b", "2\\) a"])
def test_escaped_list_markers_stay_text(text):
    assert parse(rich_markdown(text)) == parse(text)


@pytest.mark.parametrize(
    "markdown",
    [
        "# a *b*",
        "- a\n- b\n  1. c\n  2. d",
        "- [x] a\n- [ ] b",
        "> a\n> - b",
        "```py\na ``` b\n```",
        "````\n```\n````",
        "| a | b |\n|:--|--:|\n| `x\\|y` | **z** |",
        "`` a`b ``",
        "[a](http://b.c/d_e)",
        "a  \nb\nc",
        "---",
    ],
)
def test_constructs_survive_exactly(markdown):
    assert parse(rich_markdown(markdown)) == parse(markdown)


def test_images_are_links_and_unusable_links_are_text():
    assert rich_markdown("![a](http://b.c/d.png)") == "[a](<http://b.c/d.png>)"
    assert rich_markdown("[a](/b)") == "a (/b)"
    assert rich_markdown("[a]()") == "a"


def test_two_lists_stay_two():
    assert len([b for b in parse(rich_markdown("- a\n\n* b")).blocks if isinstance(b, ListBlock)]) == 2


def test_a_table_too_wide_becomes_code():
    columns = RICH_COLUMN_LIMIT + 1
    row = "|" + " x |" * columns
    (block,) = parse(rich_markdown(f"{row}\n|{'---|' * columns}\n{row}")).blocks
    assert isinstance(block, CodeBlock)
    assert block.text.count("x") == 2 * columns


def depth(blocks, level=0) -> int:
    inner = [level]
    for block in blocks:
        if isinstance(block, Quote):
            inner.append(depth(block.blocks, level + 1))
        elif isinstance(block, ListBlock):
            inner += [depth(item.blocks, level + 2) for item in block.items]
    return max(inner)


def test_deep_nesting_is_flattened_and_keeps_its_text():
    for deep in ("> " * 30 + "x", "- " * 15 + "x"):
        written = rich_markdown(deep)
        assert depth(parse(written).blocks) <= 12
        assert visible(written) == visible(deep)


@steady
@given(long_texts)
def test_parts_are_within_the_text_limit(markdown):
    for part in split_for_rich(markdown):
        assert utf16_units(render_entities(part).text) <= RICH_TEXT_LIMIT * 2
        assert utf16_units(part) <= RICH_TEXT_LIMIT


def blocks_in(document: MarkdownDocument) -> int:
    def count(blocks) -> int:
        total = 0
        for block in blocks:
            total += 1
            if isinstance(block, Quote):
                total += count(block.blocks)
            elif isinstance(block, ListBlock):
                total += sum(1 + count(item.blocks) for item in block.items)
        return total

    return count(document.blocks)


def test_parts_are_within_the_block_limit():
    markdown = "\n".join(f"- item {number}\n  - sub {number}" for number in range(700))
    parts = split_for_rich(markdown)
    assert len(parts) > 4
    assert all(blocks_in(parse(part)) <= RICH_BLOCK_LIMIT for part in parts)
    assert visible_parts(parts) == visible(markdown)


def test_long_code_and_tables_split():
    rows = "\n".join(f"| {number} | {'x' * 40} |" for number in range(900))
    markdown = "```\n" + "line of code\n" * 4000 + f"```\n\n| a | b |\n|---|---|\n{rows}"
    parts = split_for_rich(markdown)
    assert all(utf16_units(part) <= RICH_TEXT_LIMIT for part in parts)
    assert visible_parts(parts) == visible(markdown)


@pytest.mark.parametrize(
    "text", ["``***]*.*", "**|*a**", "**_*h**", "*****|** c**", "| a |\n|---|\n| **_*h** |", "**(*\n=**"]
)
def test_emphasis_that_would_not_be_read_is_left_out(text):
    assert visible(rich_markdown(text)) == visible(text)
