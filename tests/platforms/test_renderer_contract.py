"""What every renderer promises to the dispatcher."""

from __future__ import annotations

import dataclasses
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.discord.renderer import DISCORD
from bot.platforms.feishu.renderer import FEISHU
from bot.platforms.local.adapter import TerminalRenderer
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.platforms.telegram.rich_renderer import TELEGRAM_RICH
from bot.render.renderer import WEB, Renderer
from tests.unit.bot.render.markdown_texts import long_documents, long_texts, steady
from tests.unit.bot.render.visible import visible, visible_parts

RENDERERS = [TELEGRAM_ENTITIES, TELEGRAM_RICH, WEB, TerminalRenderer(), FEISHU, DISCORD]
every_renderer = pytest.mark.parametrize("renderer", RENDERERS, ids=lambda renderer: renderer.name)


def test_names_are_unique():
    assert len({renderer.name for renderer in RENDERERS}) == len(RENDERERS)


@every_renderer
def test_it_is_frozen(renderer: Renderer):
    with pytest.raises(dataclasses.FrozenInstanceError):
        renderer.name = "other"


@every_renderer
@pytest.mark.parametrize("blank", ["", " ", "\n\n \t\n"])
def test_blank_text_has_no_part(renderer: Renderer, blank: str):
    assert renderer.split(blank) == []


@every_renderer
def test_a_short_text_is_one_part(renderer: Renderer):
    assert renderer.split("**a**\n\n- b") == ["**a**\n\n- b"]


@every_renderer
@steady
@given(markdown=long_documents)
def test_nothing_is_lost(renderer: Renderer, markdown: str):
    assert visible_parts(renderer.split(markdown)) == visible(markdown)


@every_renderer
@steady
@given(markdown=long_texts, data=st.data())
def test_full_parts_stay_while_the_text_grows(renderer: Renderer, markdown: str, data: st.DataObject):
    end = data.draw(st.integers(0, len(markdown)))
    begun, whole = renderer.split(markdown[:end]), renderer.split(markdown)
    assert begun[:-1] == whole[: max(0, len(begun) - 1)]


@every_renderer
@steady
@given(markdown=long_texts, steps=st.lists(st.integers(1, 900), max_size=6))
def test_a_growing_splitter_agrees(renderer: Renderer, markdown: str, steps: list[int]):
    splitter = renderer.growing()
    end = 0
    for step in [*steps, len(markdown)]:
        end += step
        assert splitter.split(markdown[:end]) == renderer.split(markdown[:end])


@every_renderer
@steady
@given(markdown=long_texts, steps=st.lists(st.integers(1, 90), max_size=20))
def test_frames_of_a_growing_text_agree(renderer: Renderer, markdown: str, steps: list[int]):
    frame = renderer.framing()
    for end in [*accumulate(steps), len(markdown), len(markdown) // 2]:
        assert frame(markdown[:end]) == renderer.frame(markdown[:end])


@every_renderer
@steady
@given(markdown=long_texts)
def test_the_same_text_gives_the_same_answer(renderer: Renderer, markdown: str):
    assert renderer.split(markdown) == renderer.split(markdown)
    assert renderer.frame(markdown) == renderer.frame(markdown)


def test_a_frame_of_the_terminal_is_as_written():
    assert TerminalRenderer().frame("a **b\n") == "a **b"


@pytest.mark.parametrize("renderer", [one for one in RENDERERS if one.name != "terminal"])
def test_a_frame_is_well_formed(renderer: Renderer):
    assert renderer.frame("a **b") == "a **b**"
    assert renderer.frame("```py\nx") == "```py\nx\n```"
