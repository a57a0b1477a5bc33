"""Texts of which Slack would make too many blocks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.platforms.slack.block_limits import BLOCK_LIMIT, fit_blocks
from bot.platforms.slack.renderer import MARKDOWN_LIMIT
from roebot_testing.emulators.slack.markdown_blocks import count_blocks
from tests.harness.profile import examples

SECTIONS: dict[str, Callable[[int], str]] = {
    "headings": lambda number: f"## Part {number}\n\nText of it.",
    "underlined headings": lambda number: f"Part {number}\n===\nText of it.",
    "headings alone": lambda number: f"# {number}",
    "rules": lambda number: f"Text {number}.\n\n---",
    "tables": lambda number: f"Text {number}.\n\n| a | b |\n| - | - |\n| 1 | {number} |",
    "headings that look like rules": lambda number: "# ---\ntext",
}


def written(section: Callable[[int], str], count: int) -> str:
    return "\n\n".join(section(number) for number in range(count))


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_a_text_with_few_blocks_stays_as_it_is(section: Callable[[int], str]) -> None:
    text = written(section, BLOCK_LIMIT // 2)
    assert count_blocks(text) <= BLOCK_LIMIT
    assert fit_blocks(text) == text


@pytest.mark.parametrize("most", [2, BLOCK_LIMIT - 2, BLOCK_LIMIT])
@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_a_text_with_many_blocks_is_fitted(section: Callable[[int], str], most: int) -> None:
    text = written(section, 60)
    fitted = fit_blocks(text, most)
    assert count_blocks(text) > most
    assert most - 1 <= count_blocks(fitted) <= most
    assert fit_blocks(fitted, most) == fitted


def test_the_last_headings_become_bold() -> None:
    fitted = fit_blocks(written(SECTIONS["headings"], 30))
    assert "## Part 24\n" in fitted
    assert "**Part 25**\n\n" in fitted and "## Part 25" not in fitted
    assert fitted.count("Text of it.") == 30


def test_a_heading_in_code_is_no_heading() -> None:
    text = "```\n" + "# one\n" * 100 + "```"
    assert fit_blocks(text) == text


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_a_fitted_text_does_not_outgrow_a_message(section: Callable[[int], str]) -> None:
    text = section(0)
    while len(text) < MARKDOWN_LIMIT - 100:
        text += "\n\n" + section(len(text))
    fitted = fit_blocks(text)
    assert len(fitted) <= max(len(text), MARKDOWN_LIMIT)
    assert count_blocks(fitted) <= BLOCK_LIMIT


LINES = st.sampled_from(
    [
        "# a",
        "## *b*",
        "#",
        "---",
        "***",
        "text",
        "",
        "- item",
        "| a |",
        "| - |",
        "===",
        "```",
        "> quote",
        "    code",
    ]
)


@given(st.lists(LINES, max_size=40))
@settings(max_examples=examples(200), deadline=None, derandomize=True)
def test_any_text_is_fitted(lines: list[str]) -> None:
    assert count_blocks(fit_blocks("\n".join(lines), 5)) <= 5
