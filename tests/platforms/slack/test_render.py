"""Parts and frames for Slack: prefix-stable, so that a stream can go on from what it shows."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.platforms.slack.renderer import MARKDOWN_LIMIT, PART_LIMIT, SLACK, certain
from bot.render.html import render_html
from bot.render.partial_markdown import close_open
from roebot_testing.agent.graphs import long_markdown
from tests.harness.profile import examples


@pytest.mark.parametrize(
    ("begun", "shown"),
    [
        ("", ""),
        ("Hello", "Hello"),
        ("Hello **wor", "Hello"),
        ("Hello **world** and", "Hello **world** and"),
        ("a\n\n- x **bo", "a\n\n- x"),
        ("x `cod", "x"),
        ("see [link](http", "see"),
        ("```python\nx = 1\nfor", "```python\nx = 1\nfor"),
        ("text\n\n```\na\n", "text\n\n```\na\n"),
        ("| a | b |\n|--", ""),
        ("# Head", "# Head"),
        ("**all of it is bold", ""),
        ("first **para\n\nsecond *one", "first **para\n\nsecond"),
    ],
)
def test_what_is_certain(begun: str, shown: str) -> None:
    assert certain(begun, close_open(begun)) == shown


def test_a_long_span_is_not_held_back() -> None:
    begun = "so **" + "word " * 200
    assert certain(begun, close_open(begun)).startswith("so **word")


@pytest.mark.parametrize("markdown", [long_markdown(6000), "word " * 500, "**bold** `code` " * 200])
def test_frames_only_grow_and_end_in_the_text(markdown: str) -> None:
    shown = ""
    for end in range(0, len(markdown) + 1, 7):
        text = certain(markdown[:end], close_open(markdown[:end]))
        assert markdown.startswith(text)
        if len(text) >= len(shown):
            assert text.startswith(shown)
            shown = text
    assert markdown.startswith(shown) and len(markdown) - len(shown) < 100


@given(st.integers(0, 2**32), st.integers(0, 6000))
@settings(max_examples=examples(60), deadline=None, derandomize=True)
def test_a_frame_is_a_beginning_that_shows_no_stray_marks(seed: int, end: int) -> None:
    markdown = long_markdown(6000)
    start = Random(seed).randrange(len(markdown))
    begun = markdown[start : start + end]
    text = certain(begun, close_open(begun))
    assert begun.startswith(text)
    if "```" not in text and "`" not in text:
        assert "**" not in render_html(close_open(text)).replace("&ast;", "*") or "**" in render_html(begun)


def test_a_frame_is_a_beginning_of_its_text() -> None:
    assert SLACK.frame("done") == "done"
    assert SLACK.frame("done **wi") == "done"
    assert SLACK.frame("**") == "" == SLACK.frame("")


def test_parts_fit_with_a_mark_in_front() -> None:
    parts = SLACK.split(long_markdown(40_000))
    assert len(parts) == 4
    assert all(len(part) <= PART_LIMIT < MARKDOWN_LIMIT for part in parts)
    assert SLACK.split(" \n ") == []


def test_a_growing_reply_keeps_its_full_parts() -> None:
    markdown = long_markdown(30_000)
    splitter = SLACK.growing()
    before: list[str] = []
    for end in range(0, len(markdown) + 1, 500):
        parts = splitter.split(markdown[:end])
        assert parts[: max(0, len(before) - 1)] == before[:-1]
        before = parts
    assert splitter.split(markdown) == SLACK.split(markdown)


def test_frames_of_a_growing_text_are_the_same() -> None:
    markdown = long_markdown(6000)
    frame = SLACK.framing()
    for end in [*range(0, len(markdown), 11), len(markdown) // 2]:
        assert frame(markdown[:end]) == SLACK.frame(markdown[:end])
