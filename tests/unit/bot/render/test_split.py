"""The splitter: nothing lost, nothing over the limit, borders that stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render.ast import CodeBlock, ListBlock, Quote, Table
from bot.render.measure import characters, is_grapheme_border, utf8_bytes, utf16_units
from bot.render.parse import parse
from bot.render.split import LEAST_LIMIT, GrowingSplit, split_markdown

from .markdown_texts import documents, noise, steady, texts
from .visible import leaves, visible, visible_parts

limits = st.sampled_from([64, 100, 200, 400, 1000])
units = st.sampled_from([characters, utf16_units, utf8_bytes])


def split(markdown: str, limit: int) -> list[str]:
    return split_markdown(markdown, limit=limit, measure=characters)


@steady
@given(texts, limits, units)
def test_every_part_is_within_the_limit(markdown, limit, unit):
    for part in split_markdown(markdown, limit=limit, measure=unit):
        assert unit(part) <= limit
        assert part.strip()


@steady
@given(documents, st.sampled_from([400, 700, 1500]))
def test_nothing_is_lost_and_nothing_invented(markdown, limit):
    assert visible_parts(split(markdown, limit)) == visible(markdown)


@steady
@given(texts, limits, st.data())
def test_borders_of_full_parts_stay_while_the_text_grows(markdown, limit, data):
    whole = split(markdown, limit)
    end = data.draw(st.integers(0, len(markdown)))
    begun = split(markdown[:end], limit)
    assert begun[:-1] == whole[: max(0, len(begun) - 1)]


@steady
@given(texts, limits, st.lists(st.integers(1, 200), max_size=12))
def test_a_growing_split_gives_what_a_split_gives(markdown, limit, steps):
    growing = GrowingSplit(limit=limit, measure=characters)
    end = 0
    for step in [*steps, len(markdown)]:
        end += step
        assert growing.split(markdown[:end]) == split(markdown[:end], limit)


@steady
@given(noise, noise)
def test_a_growing_split_starts_anew_with_another_text(first, second):
    growing = GrowingSplit(limit=100, measure=characters)
    growing.split(first)
    assert growing.split(second) == split(second, 100)


@steady
@given(st.text(alphabet="👍🏽👨\u200d👩🇩🇪e\u0301中", min_size=70, max_size=400), limits)
def test_no_part_ends_inside_a_visible_character(markdown, limit):
    at = 0
    for part in split(markdown, limit)[:-1]:
        at += len(part)
        assert is_grapheme_border(markdown, at)


def test_blank_text_has_no_part():
    assert split("", 100) == split(" \n\n\t\n", 100) == []


def test_text_that_fits_is_one_part():
    assert split("# a\n\n- b\n  - c", 100) == ["# a\n\n- b\n  - c"]


def test_a_limit_too_small_is_refused():
    with pytest.raises(ValueError, match=str(LEAST_LIMIT)):
        split("a", LEAST_LIMIT - 1)


def test_line_ends_of_other_systems_are_the_same():
    text = "one two three.\r\n\r\n" * 20
    assert split(text, 100) == split(text.replace("\r\n", "\n"), 100)


def test_paragraphs_are_preferred_to_lines_and_lines_to_sentences():
    first, second = "a" * 60, "b" * 30 + "\n" + "c" * 30
    assert split(f"{first}\n\n{second}", 100) == [first, second]
    assert split("d" * 60 + "\n" + "e. " * 20, 100) == ["d" * 60, ("e. " * 20).strip()]
    sentence = "One two three four. "
    assert split(sentence * 6, 100) == [(sentence * 4).strip(), (sentence * 2).strip()]


def test_words_are_whole_and_endless_ones_are_cut():
    for part in split("lorem ipsum dolor " * 20, 100):
        assert set(part.split()) <= {"lorem", "ipsum", "dolor"}
    assert "".join(split("x" * 500, 100)) == "x" * 500


def test_chinese_is_cut_after_its_own_punctuation():
    parts = split("这是一句很长的话。" * 30, 100)
    assert all(part.endswith("。") for part in parts)


def test_a_fence_that_fits_a_part_stays_whole():
    code = "```python\n" + "x = 1\n" * 10 + "```"
    assert split("word " * 10 + "\n\n" + code, 100)[1:] == [code]


def test_a_longer_fence_is_closed_and_opened_again_with_its_language():
    code = "\n".join(f"line {number}" for number in range(40))
    parts = split(f"~~~python\n{code}\n~~~", 100)
    assert all(part.startswith("~~~python\n") and part.endswith("\n~~~") for part in parts)
    assert "\n".join(leaf.text for part in parts for leaf in leaves(parse(part).blocks)) == code


def test_a_long_line_of_code_is_cut_within_the_fence():
    parts = split("```\n" + "value = 1; " * 40 + "\n```", 100)
    blocks = [parse(part).blocks for part in parts]
    assert all(len(found) == 1 and isinstance(found[0], CodeBlock) for found in blocks)


def test_a_fence_in_a_list_keeps_its_item():
    code = "\n".join(f"    line {number}" for number in range(30))
    parts = split(f"10. item\n\n    ```sh\n{code}\n    ```\n11. next", 120)
    assert len(parts) > 1
    for part in parts:
        (block,) = parse(part).blocks
        assert isinstance(block, ListBlock)
        assert block.start in (10, 11)
    assert visible("\n\n".join(parts)) == visible(f"10. item\n\n    ```sh\n{code}\n    ```\n11. next")


def test_a_table_repeats_its_header():
    rows = "\n".join(f"| {number} | name {number} |" for number in range(30))
    parts = split(f"| id | name |\n|---:|:----|\n{rows}", 120)
    for part in parts:
        (table,) = parse(part).blocks
        assert isinstance(table, Table)
        assert [cell[0].text for cell in table.header] == ["id", "name"]
        assert table.align == ("right", "left")
    assert sum(len(parse(part).blocks[0].rows) for part in parts) == 30


def test_a_header_too_heavy_to_repeat_gives_way_to_an_empty_one():
    rows = "\n".join(f"| {number} | {number} |" for number in range(12))
    parts = split(f"| {'long ' * 8} | {'head ' * 4} |\n|---|---|\n{rows}", 100)
    assert all(isinstance(parse(part).blocks[-1], Table) for part in parts)
    assert visible_parts(parts).endswith("10101111")


def test_a_row_longer_than_a_part_is_cut():
    parts = split("| a | b |\n|---|---|\n| " + "word " * 60 + "| end |", 100)
    assert all(isinstance(parse(part).blocks[0], Table) for part in parts)
    assert visible_parts(parts) == "ab" + "word" * 60 + "end"


def test_a_table_inside_a_paragraph_is_not_cut_from_its_delimiter():
    markdown = "text " * 12 + "\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    parts = split(markdown, 84)
    assert isinstance(parse(parts[1]).blocks[0], Table)


def test_nested_lists_keep_their_depth():
    items = "\n".join(f"    - sub {number} of the second" for number in range(10))
    parts = split(f"- top\n  - second\n{items}\n- last", 100)
    (outer,) = parse(parts[1]).blocks
    assert isinstance(outer.items[0].blocks[0], ListBlock)
    assert isinstance(outer.items[0].blocks[0].items[0].blocks[0], ListBlock)


def test_numbers_go_on_after_a_border():
    markdown = "\n".join(f"1. item of the list {number}" for number in range(9))
    parts = split(markdown, 64)
    starts = [parse(part).blocks[0].start for part in parts]
    assert starts == [1, 3, 5, 7, 9]


def test_a_quote_goes_on_quoted():
    parts = split("> " + "quoted words here. " * 20, 100)
    assert len(parts) > 2
    assert all(isinstance(parse(part).blocks[0], Quote) for part in parts)


def test_a_lazy_line_of_a_quote_goes_on_quoted():
    parts = split("> " + "first " * 12 + "\nlazy " * 10, 100)
    assert all(isinstance(parse(part).blocks[0], Quote) for part in parts)


def test_emphasis_over_a_border_is_closed_and_opened_again():
    parts = split("**" + "bold words " * 20 + "end**", 100)
    assert all(part.startswith("**") and part.endswith("**") for part in parts)
    assert visible_parts(parts) == "boldwords" * 20 + "end"


def test_a_border_before_emphasis_is_preferred_to_one_within():
    parts = split("word " * 14 + "**" + "bold " * 6 + "end**", 100)
    assert parts[1].startswith("**bold")


def test_links_and_code_spans_are_not_cut():
    parts = split("word " * 16 + "[a label of four](https://example.com/x) `code **x** code` " * 3, 100)
    assert visible_parts(parts) == "word" * 16 + ("alabeloffourcode**x**code") * 3


def test_a_heading_stays_with_what_follows():
    parts = split("word " * 12 + "\n\n## Title\n\n" + "text " * 12, 100)
    assert parts[1].startswith("## Title\n\ntext")


def test_a_heading_longer_than_a_part_stays_a_heading():
    parts = split("## " + "title " * 30, 100)
    assert len(parts) == 2
    assert all(part.startswith("## title") for part in parts)


@pytest.mark.parametrize("marker", ["# a", "- a", "+ a", "> a", "12. a", "3) a", "--- a", "___ a"])
def test_text_that_looks_like_markup_after_a_border_stays_text(marker):
    markdown = ("word " * 10).strip() + " " + (marker + " more ") * 12
    parts = split(markdown, 64)
    assert len(parts) > 2
    assert visible_parts(parts) == visible(markdown)


def test_indented_code_is_cut_between_lines():
    markdown = "\n".join(f"    code {number}" for number in range(30))
    parts = split(markdown, 100)
    assert all(isinstance(parse(part).blocks[0], CodeBlock) for part in parts)
    assert visible_parts(parts) == visible(markdown)


def test_hostile_nesting_and_runs_end():
    for markdown in (
        ">" * 3000,
        "- " * 3000,
        "`" * 3000,
        "[" * 3000,
        "*a " * 2000,
        "~" * 500 + "\n" + "x\n" * 500,
    ):
        for part in split(markdown, 64):
            assert len(part) <= 64


def test_a_code_span_reopened_does_not_become_a_fence():
    parts = split("word " * 4 + "``` " + "code " * 30 + "```", 64)
    assert visible_parts(parts).replace("`", "") == "word" * 4 + "code" * 30


def test_a_fence_whose_opening_line_fills_a_part():
    parts = split("```" + "x" * 58 + "\n\na\nb\n```", 64)
    assert all(len(part) <= 64 for part in parts)
    assert visible_parts(parts).endswith("ab")


def test_rows_below_containers_too_heavy_to_repeat_go_on_as_text():
    quotes = "> " * 16
    rows = "\n".join(f"{quotes}| row {number} | {'cell ' * 30}|" for number in range(4))
    parts = split(f"{quotes}| a | b |\n{quotes}|---|---|\n{rows}", 64)
    assert all(len(part) <= 64 for part in parts)
    assert "row3" in visible("\n\n".join(parts))


def test_tildes_after_a_border_stay_text():
    assert visible_parts(split("x" * 60 + " ~~~~ y " + "z" * 60, 64)) == "x" * 60 + "~~~~y" + "z" * 60
