"""Every text function of the reply path costs linear time, whatever the text."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from bot.platforms.discord import renderer as discord_renderer
from bot.platforms.discord.renderer import DISCORD, render_discord
from bot.platforms.feishu.renderer import FEISHU, card_markdown
from bot.platforms.slack import mrkdwn_writer
from bot.platforms.slack.mrkdwn_writer import render_mrkdwn
from bot.platforms.slack.renderer import SLACK, SLACK_TEXT, render_slack
from bot.platforms.telegram import entity_renderer, rich_renderer
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES, render_entities
from bot.platforms.telegram.rich_renderer import TELEGRAM_RICH, rich_markdown
from bot.render import entities, html
from bot.render.entities import render_plain
from bot.render.html import render_html
from bot.render.parse import parse
from bot.render.partial_markdown import close_open
from bot.render.thread_paths import ThreadPaths

sys.path.append(str(Path(__file__).parents[2] / "packages/roebot-matrix/src"))
from roebot_matrix.rendering import MATRIX, text_content

SIZES = [(5_000, 20_000), pytest.param((10_000, 40_000), marks=pytest.mark.long)]
WORST_RATIO = 9
"""Linear cost has a ratio of 4, quadratic cost one of 16."""
NEGLIGIBLE = 0.025
PIECES = [
    "\n",
    "\r\n",
    "one two three.\n\n",
    "**k:** v\n",
    "[a](http://b.c/d) ",
    "- [a](http://b.c/d)\n",
    "![](http://a.b/c.png)\n",
    "[a][1]\n\n[1]: http://b.c\n\n",
    "*",
    "**a ",
    "`a``",
    "[a",
    "](",
    "> a\n",
    ">",
    "| a | b |\n|---|---|\n| c | d |\n\n",
    "| a `b` | c |\n",
    "```\na\n\n\n```\n",
    "<b>x</b>",
    "<a",
    "\\",
    "&amp;",
    "$a_1$ ",
    "**状态：**正常，",
    "https://a.b/_c_ ",
]
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "parse": parse,
    "page": render_html,
    "plain": render_plain,
    "stream": close_open,
    "paths": lambda text: ThreadPaths().clean(text),
    "discord": render_discord,
    "feishu": card_markdown,
    "slack": render_slack,
    "mrkdwn": render_mrkdwn,
    "entities": render_entities,
    "rich": rich_markdown,
    "matrix": text_content,
    "slack frame": SLACK.frame,
}
SPLITTERS = (DISCORD, FEISHU, SLACK, SLACK_TEXT, TELEGRAM_ENTITIES, TELEGRAM_RICH, MATRIX)
# A small text is only split if the limit is smaller still.
FUNCTIONS |= {f"split: {one.name}": one.split for one in (DISCORD, TELEGRAM_ENTITIES)}


PARSING = (entities, html, discord_renderer, entity_renderer, rich_renderer, mrkdwn_writer)
"""Modules that parse. Their functions are measured without it, since the parser is a function of its own."""
parse_once = lru_cache(maxsize=2)(parse)


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in PARSING:
            patch.setattr(module, "parse", parse_once)
        yield


def measure(function: Callable[[str], object], text: str) -> float:
    """Return the CPU time (s), without the collection of other tests' objects."""
    parse_once(text)
    gc.disable()
    start = time.thread_time()
    try:
        function(text)
        return time.thread_time() - start
    finally:
        gc.enable()


def repeat(piece: str, length: int) -> str:
    return ("x " + piece * (length // len(piece) + 1))[:length]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_cost_is_linear(name: str, piece: str, sizes: tuple[int, int]) -> None:
    small, large = (repeat(piece, size) for size in sizes)
    for _ in range(3):
        cost = measure(FUNCTIONS[name], large)
        if cost < NEGLIGIBLE or cost < WORST_RATIO * measure(FUNCTIONS[name], small):
            return
    pytest.fail(f"{name} of {piece!r}: {cost:.2f} s for {sizes[1]} characters")


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda one: one.name)
def test_runs_of_blank_lines_collapse(splitter: object) -> None:
    text = "a" + "\n" * 15_000 + "b\n\n```\nc\n\n\n\n\nd\n```"
    assert splitter.split(text) == ["a\n\n\nb\n\n```\nc\n\n\n\n\nd\n```"]
