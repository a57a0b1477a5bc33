"""Telegram: entities in UTF-16 units, within every limit."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bot.platforms.telegram.entity_renderer import (
    TELEGRAM_ENTITY_LIMIT,
    TELEGRAM_TEXT_LIMIT,
    Entity,
    TelegramWeigher,
    render_entities,
    split_for_telegram,
)
from bot.render.measure import utf16_units
from bot.render.split import split_markdown
from tests.unit.bot.render.markdown_texts import addresses, long_documents, steady, texts
from tests.unit.bot.render.visible import visible, visible_parts


def covered(markdown: str) -> list[tuple[str, str]]:
    """Each entity's type with the text that it covers, by UTF-16 offsets."""
    rendered = render_entities(markdown)
    raw = rendered.text.encode("utf-16-le")
    return [
        (entity.type, raw[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le"))
        for entity in rendered.entities
    ]


def units(markdown: str) -> int:
    return utf16_units(render_entities(markdown).text)


def test_inline_entities_behind_wide_characters():
    assert covered("👍🏽 **b** *i* ~~s~~ `c` [l](http://a.b)") == [
        ("bold", "b"),
        ("italic", "i"),
        ("strikethrough", "s"),
        ("code", "c"),
        ("text_link", "l"),
    ]


def test_an_entity_carries_address_or_language():
    assert render_entities("[l](http://a.b)").entities == (Entity("text_link", 0, 1, url="http://a.b"),)
    assert render_entities("```py\nx\n```").entities == (Entity("pre", 0, 1, language="py"),)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("[dash](http://localhost:3000/x)", "dash (http://localhost:3000/x)"),
        ("[wiki](http://wiki)", "wiki (http://wiki)"),
        ("<http://localhost:3000>", "http://localhost:3000"),
        ("[a](https://a.example:99999)", "a (https://a.example:99999)"),
        ("[mail](mailto:a@b.c)", "mail (mailto:a@b.c)"),
        ("**see [a](http://a) and [b](http://b)**", "see a (http://a) and b (http://b)"),
        ("- [部署手册](http://wiki/运维/部署手册)", "• 部署手册 (http://wiki/运维/部署手册)"),
        ("[a](http://bücher/x)", "a (http://bücher/x)"),
        ("[a](http://wiki/%CE%C4?q=100%)", "a (http://wiki/%CE%C4?q=100%)"),
        ("<http://wiki/部署>", "http://wiki/部署"),
        ("<http://wiki/%CE%C4%26>", "http://wiki/%CE%C4%26"),
        ("[a@b.c](mailto:a@b.c) <a@b.c>", "a@b.c a@b.c"),
        ("[![a](http://i)](http://b)", "a (http://i) (http://b)"),
    ],
)
def test_an_address_that_telegram_refuses_is_spelled_out(markdown, text):
    rendered = render_entities(markdown)
    assert rendered.text == text
    assert "text_link" not in [one.type for one in rendered.entities]
    assert utf16_units(text) <= max(TelegramWeigher().text(markdown), 1)


def test_marks_around_a_spelled_out_address_move_with_it():
    assert covered("**see [a](http://a) now** *x*") == [("bold", "see a (http://a) now"), ("italic", "x")]
    assert covered("[a](http://a) [b](https://b.example:80/c?d)") == [("text_link", "b")]
    assert covered("**[a](http://a)** *x*") == [("bold", "a"), ("italic", "x")]


def test_an_address_at_the_end_of_a_quote_is_in_it():
    assert covered("> see [a](http://a)") == [("blockquote", "see a (http://a)")]
    assert covered("> a\n\n[b](http://b)\n\n> c") == [("blockquote", "a"), ("blockquote", "c")]


def test_links_that_are_not_ascii_fit_their_part():
    parts = split_for_telegram("- [部署手册](http://wiki/运维/部署手册)\n" * 130)
    assert [part.count("手册](") for part in parts] == [130]
    assert all(units(part) <= TELEGRAM_TEXT_LIMIT for part in parts)


def _count_calls(markdown: str) -> int:
    """Count the calls of functions while `markdown` is rendered."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        render_entities(markdown)
    finally:
        sys.setprofile(before)
    return calls


def test_the_cost_of_links_that_telegram_refuses_is_linear():
    lines = [f"[a{number}](http://a) **b**" for number in range(800)]
    render_entities(lines[0])
    assert _count_calls("\n".join(lines)) < 2.2 * _count_calls("\n".join(lines[:400]))


def test_blocks():
    text = render_entities(
        "# Head\n\npara\n\n1. a\n2. b\n   - c\n     - d\n\n> q\n\n---\n\n- [ ] t\n- [x] u"
    ).text
    assert text == "Head\n\npara\n\n1. a\n2. b\n  ◦ c\n    ▪ d\n\nq\n\n———\n\n☐ t\n☑ u"
    assert covered("# Head\n\n> q\n> > r") == [("bold", "Head"), ("blockquote", "q\nr")]


def test_items_of_several_blocks():
    text = render_entities("- a\n\n  b\n\n  ```\n  c\n  ```\n-\n- d").text
    assert text == "• a\n  b\nc\n• \n• d"


def test_code_is_verbatim_and_never_inside_other_formatting():
    assert covered("**a `b**` c**") == [("bold", "a "), ("code", "b**"), ("bold", " c")]
    assert covered("[x `y`](http://a.b)") == [("text_link", "x y")]
    assert covered("> `a`") == [("blockquote", "a"), ("code", "a")]
    assert covered("**`a`**") == [("code", "a")]


def test_a_table_is_drawn_as_wide_as_it_is_shown():
    table = "| a | 中文字 | n |\n|:--|:-:|--:|\n| 👍 | x | 10 |\n| long | y | 7 |"
    text = render_entities(table).text
    lines = text.split("\n")
    assert {cell_len(line) for line in lines} == {4 + 6 + 2 + 2 * 3}
    assert lines[3].endswith(" 7")
    assert covered(table) == [("pre", text)]


def test_a_relative_address_is_spelled_out():
    rendered = render_entities("[f](/mnt/x) [](http://a.b)")
    assert rendered.text == "f (/mnt/x) http://a.b"
    assert [entity.url for entity in rendered.entities] == ["http://a.b"]


def test_empty_blocks_leave_no_entity():
    assert render_entities("```\n```") == render_entities("")
    assert covered("** **") == []


def test_too_many_entities_lose_formatting_but_no_text():
    markdown = "*i* " * 90 + "**b** " * 30 + "[l](http://a.b) " * 20 + "`c` " * 40
    rendered = render_entities(markdown)
    kinds = [entity.type for entity in rendered.entities]
    assert len(kinds) == TELEGRAM_ENTITY_LIMIT
    assert kinds.count("text_link") == 20
    assert kinds.count("code") == 40
    assert kinds.count("bold") == 30
    assert [entity.offset for entity in rendered.entities] == sorted(e.offset for e in rendered.entities)
    assert rendered.text.count("i") == 90


@steady
@given(texts)
def test_entities_are_sound(markdown):
    rendered = render_entities(markdown)
    size = utf16_units(rendered.text)
    assert len(rendered.entities) <= TELEGRAM_ENTITY_LIMIT
    ends: list[int] = []
    for entity in rendered.entities:
        assert entity.length > 0
        assert entity.offset + entity.length <= size
        while ends and ends[-1] <= entity.offset:
            ends.pop()
        assert not ends or entity.offset + entity.length <= ends[-1]  # nested, never crossing
        ends.append(entity.offset + entity.length)


@steady
@given(addresses)
def test_a_line_weighs_at_least_as_much_as_it_renders_to(address):
    for line in ("[x]({})", "- [x](<{}>)", "<{}>", "![](<{}>)", "> [{}]({})", "[![]({})](<{}>)"):
        markdown = line.replace("{}", address)
        assert units(markdown) <= TelegramWeigher().text(markdown)


@steady
@given(texts, st.sampled_from([64, 100, 200, 400, 1000]))
def test_parts_are_within_the_limit_after_rendering(markdown, limit):
    for part in split_markdown(markdown, limit=limit, measure=units, weigher=TelegramWeigher()):
        assert units(part) <= limit


@steady
@given(long_documents)
def test_real_limits(markdown):
    parts = split_for_telegram(markdown)
    assert all(units(part) <= TELEGRAM_TEXT_LIMIT for part in parts)
    assert visible_parts(parts) == visible(markdown)


def test_links_do_not_make_messages_short():
    line = "A sentence with a [source](https://example.com/" + "path/" * 30 + ").\n\n"
    parts = split_for_telegram(line * 200)
    assert len(parts) == 2  # 5,400 visible units, 37,000 of source
    assert all(units(part) <= TELEGRAM_TEXT_LIMIT for part in parts)


@pytest.mark.parametrize("unit", ["👍", "中", "a", "🇩🇪"])
def test_one_endless_word(unit):
    parts = split_for_telegram(unit * 9000)
    assert "".join(parts) == unit * 9000
    assert all(units(part) <= TELEGRAM_TEXT_LIMIT for part in parts)
