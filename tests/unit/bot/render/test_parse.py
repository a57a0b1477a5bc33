"""Parsing: every construct, and no text lost."""

from __future__ import annotations

from hypothesis import given

from bot.render.ast import (
    Break,
    Code,
    CodeBlock,
    Emphasis,
    HeadingNode,
    Link,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    Strike,
    Strong,
    Table,
    Text,
)
from bot.render.parse import inline_text, parse, split_row

from .markdown_texts import noise, steady
from .visible import visible


def only(markdown: str):
    (block,) = parse(markdown).blocks
    return block


def test_inlines():
    assert only("a **b *c*** `d **e**` ~~f~~").children == (
        Text("a "),
        Strong((Text("b "), Emphasis((Text("c"),)))),
        Text(" "),
        Code("d **e**"),
        Text(" "),
        Strike((Text("f"),)),
    )


def test_breaks():
    assert only("a\nb  \nc").children == (Text("a"), Break(False), Text("b"), Break(True), Text("c"))


def test_links_and_images():
    assert only("[a *b*](http://c.d) ![e](http://f.g)").children == (
        Link("http://c.d", (Text("a "), Emphasis((Text("b"),)))),
        Text(" "),
        Link("http://f.g", (Text("e"),)),
    )


def test_bare_and_bracketed_addresses_are_links():
    assert only("http://a.b <http://c.d>").children == (
        Link("http://a.b", (Text("http://a.b"),)),
        Text(" "),
        Link("http://c.d", (Text("http://c.d"),)),
    )


def test_headings_rules_quotes():
    assert parse("## a\n\nb\n===\n\n---\n\n> c\n> > d").blocks == (
        HeadingNode(2, (Text("a"),)),
        HeadingNode(1, (Text("b"),)),
        Rule(),
        Quote((Paragraph((Text("c"),)), Quote((Paragraph((Text("d"),)),)))),
    )


def test_code_blocks_keep_everything():
    assert only("```python title=x\n**a**\n\n  b\n```") == CodeBlock("**a**\n\n  b", "python")
    assert only("~~~\n```\n~~~") == CodeBlock("```", "")
    assert only("    a\n      b") == CodeBlock("a\n  b", "")


def test_lists():
    bullets = only("- a\n  1) b\n- c")
    assert bullets.start is None
    assert bullets.items[0].blocks[1] == ListBlock((ListItem((Paragraph((Text("b"),)),), None),), 1)
    assert only("7. a\n8. b").start == 7


def test_tasks():
    items = only("- [ ] a\n- [x] **b**\n- [X] c\n- [y] d\n- [x]").items
    assert [item.checked for item in items] == [False, True, True, None, True]
    assert items[1].blocks == (Paragraph((Text(""), Strong((Text("b"),)))),)


def test_tables():
    table = only("| a | b | c | d |\n|---|:-:|--:|:--|\n| 1 | `x\\|y` |\n| p | q | r | s |")
    assert isinstance(table, Table)
    assert table.align == ("", "center", "right", "left")
    assert table.rows[0] == ((Text("1"),), (Code("x|y"),), (), ())


def test_cells_beyond_the_header_are_kept():
    table = only("| a | b |\n|---|---|\n| 1 | 2 | 3 |  | 4 |")
    assert [inline_text(cell) for cell in table.rows[0]] == ["1", "2 | 3 | 4"]


def test_rows_are_split_as_the_parser_does():
    assert split_row("| a | b\\|c |") == ["a", "b|c"]
    assert split_row("a | b") == ["a", "b"]
    assert split_row("|") == []
    assert split_row("\\| |") == ["|"]


def test_html_and_definitions_are_text():
    assert visible("<p>a</p>\n\n<div>\n\n[x]: http://y.z") == "<p>a</p><div>[x]:http://y.z"


def test_tags_that_format_are_markup():
    assert visible("<kbd>Ctrl</kbd>+<b>C *d*</b>") == "Ctrl+Cd"
    assert visible("10<sup>6</sup> CO<sub>2</sub> x<sup>ab</sup>") == "10⁶CO₂x^ab"
    assert visible("| a |\n|--|\n| b<br>c<BR /> |") == "abc"
    assert visible("the <b> tag, `<b>x</b>` and </b>") == "the<b>tag,<b>x</b>and</b>".replace(" ", "")
    assert visible('<a href="https://e.com">words</a> <code>a*b*</code>') == "wordsa*b*"


def test_a_link_that_cannot_be_opened_shows_its_address():
    assert visible("[report](/mnt/out/a.pdf)") == "report(/mnt/out/a.pdf)"
    assert visible("[](http://a.b)") == "http://a.b"


def test_dangerous_addresses_are_not_links():
    assert visible("[x](javascript:alert(1))") == "[x](javascript:alert(1))"


def test_nesting_without_end_loses_no_text():
    assert visible(">" * 500 + " deep").endswith("deep")
    assert visible("- " * 500 + "deep").endswith("deep")


@steady
@given(noise)
def test_any_text_has_a_tree(markdown):
    assert visible(markdown) == visible(markdown)


def test_lone_surrogates_are_replaced():
    assert visible("a\ud83d b\ud83d\ude00") == "a\ufffdb😀"
