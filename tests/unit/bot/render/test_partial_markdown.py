"""Frames of a text that is being written: well-formed, and what is shown only grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render.html import render_html
from bot.render.partial_markdown import close_open

from .markdown_texts import documents, noise, steady
from .visible import visible


@steady
@given(documents, st.data())
def test_what_is_shown_only_grows(markdown, data):
    first, second = sorted(data.draw(st.tuples(st.integers(0, len(markdown)), st.integers(0, len(markdown)))))
    early, late = visible(close_open(markdown[:first])), visible(close_open(markdown[:second]))
    assert late.startswith(early)
    assert visible(markdown).startswith(early)


@steady
@given(noise)
def test_any_text_has_a_frame(markdown):
    assert isinstance(close_open(markdown), str)


@steady
@given(documents, st.lists(st.floats(0, 1), max_size=5))
def test_no_frame_shows_a_delimiter_that_the_text_does_not(markdown, ends):
    shown = visible(markdown)
    for end in ends:
        frame = visible(close_open(markdown[: round(end * len(markdown))]))
        assert frame.count("**") <= shown.count("**")
        assert frame.count("](") <= shown.count("](")


@pytest.mark.parametrize(
    ("begun", "frame"),
    [
        ("", ""),
        ("Hello", "Hello"),
        ("Hello **wor", "Hello **wor**"),
        ("Hello **", "Hello"),
        ("Hello **world*", "Hello **world**"),
        ("a *b **c", "a *b **c***"),
        ("a ~~b", "a ~~b~~"),
        ("a ~", "a"),
        ("use `co", "use `co`"),
        ("use `", "use"),
        ("use ``a`b", "use ``a`b``"),
        ("use ``a`", "use ``a``"),
        ("`**a", "`**a`"),
        ("see [x](htt", "see"),
        ("see [x]", "see"),
        ("see [x](http://a.b)", "see [x](http://a.b)"),
        ("see ![pic", "see"),
        ("see !", "see"),
        ("see <https://a", "see"),
        ("fish &am", "fish"),
        ("back\\", "back"),
        ("text\n#", "text"),
        ("text\n## ", "text"),
        ("text\n-", "text"),
        ("text\n---", "text"),
        ("text\n\n1.", "text"),
        ("text\n\n>", "text"),
        ("text\n``", "text"),
        ("- one\n- [", "- one"),
        ("- one\n- [x] ", "- one"),
        ("- one\n- [a", "- one"),
        ("```", ""),
        ("a\n\n```py", "a"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("```py\nx = 1\n", "```py\nx = 1\n```"),
        ("```py\nx = 1\n``", "```py\nx = 1\n```"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("~~~\n`", "~~~\n`\n~~~"),
        ("- a\n  ```\n  x", "- a\n  ```\n  x\n  ```"),
        ("> ```\n> x", "> ```\n> x\n> ```"),
        ("a\n\n| h | i |", "a\n\n"),
        ("a\n\n| h | i |\n|--", "a\n\n"),
        ("a\n\n| h | i |\n|---|---|", "a"),
        ("a\n\n| h | i |\n|---|---|\n", "a\n\n| h | i |\n|---|---|"),
        ("| h | i |\n|---|---|\n| 1", "| h | i |\n|---|---|"),
        ("| h | i |\n|---|---|\n| 1 | 2 |", "| h | i |\n|---|---|\n| 1 | 2 |"),
        ("## Hea", "## Hea"),
        ("## **Hea", "## **Hea**"),
        ("a\nb **c", "a\nb **c**"),
        ("    code *", "    code *"),
    ],
)
def test_half_written_markup(begun, frame):
    assert close_open(begun).rstrip() == frame.rstrip()


def test_a_bracket_left_open_for_long_is_text():
    text = "see [" + "word " * 100
    assert close_open(text).startswith("see [word")


@pytest.mark.parametrize("half", ["<a", "&a", "[", "![", "[a](b\n", "*a ", "`"])
def test_endless_half_markup_has_a_frame(half):
    assert close_open("start " + half * 3000).startswith("start")


def test_finished_text_is_unchanged():
    text = "# a\n\n**b** `c` [d](http://e.f)\n\n- g\n\n| h |\n|---|\n| i |\n\n```\nj\n```"
    assert close_open(text) == text


def test_a_frame_of_raw_html_stays_text():
    assert "<script" not in render_html(close_open("a <script>alert(1)</scr"))


@pytest.mark.parametrize("sign", ["_", "*", "`", "~"])
def test_a_long_run_of_delimiters_is_read_in_linear_time(sign):
    assert close_open(f"a{sign * 300_000}b").startswith("a")
