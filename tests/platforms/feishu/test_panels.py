"""The steps in a folded panel of the card that grows: one call for each frame, nothing left at the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import OutboundMessage, ProgressItem, ProgressState, ReplyAddress
from bot.platforms.feishu.cards import STEP_TITLE
from bot.platforms.feishu.renderer import FEISHU_CARD_LIMIT

from .conftest import Running, says

PENDING, ACTIVE, DONE, FAILED = ProgressState
CALLS = ("element.content", "element.update", "card.update")


def frame(text: str, address: ReplyAddress, *states: ProgressState, key: str = "1:0") -> OutboundMessage:
    steps = (ProgressItem(str(n), f"Step {n}", state) for n, state in enumerate(states))
    return replace(says(text, address, key=key, final=False), progress=tuple(steps))


def calls(running: Running) -> list[int]:
    return [running.emulator.transcript.calls[name] for name in CALLS]


async def test_each_frame_is_one_call(running: Running) -> None:
    address = running.private()
    posted = await running.adapter.send(frame("", address, ACTIVE, PENDING))
    [shown] = running.shown()
    assert shown["text"] == ""
    assert shown["panels"] == [{"title": "▸ Step 0 · ○ Step 1", "text": "▸ Step 0\n○ Step 1"}]
    before = calls(running)
    for text, states, made in (
        ("", (DONE, ACTIVE), [0, 1, 0]),
        ("It is", (DONE, ACTIVE), [1, 1, 0]),
        ("It is so", (FAILED, DONE, ACTIVE), [1, 1, 1]),
        ("It is so.", (), [1, 1, 2]),
        ("It is so. And", (), [2, 1, 2]),
    ):
        await running.adapter.edit(frame(text, address, *states), posted)
        assert [now - then for now, then in zip(calls(running), before, strict=True)] == made
        [shown] = running.shown()
        assert shown["text"] == text
        assert len(shown["panels"]) == bool(states)
        assert shown["streaming"]
    await running.adapter.edit(frame("It is so. And", address, ACTIVE), posted)
    final = replace(frame("It is so. And that.", address, DONE), final=True)
    await running.adapter.edit(final, posted)
    [shown] = running.shown()
    assert (shown["text"], shown["panels"], shown["streaming"]) == ("It is so. And that.", [], False)


async def test_titles_are_plain_text_and_short(running: Running) -> None:
    title = '**a** <at id=all></at> "q" \\' + "北" * 200
    message = replace(frame("x", running.private()), progress=(ProgressItem("1", title, ACTIVE),))
    await running.adapter.send(message)
    [panel] = running.shown()[0]["panels"]
    assert panel["text"] == f"▸ {title[: STEP_TITLE - 1]}…"


@pytest.mark.parametrize("full", [True, False])
async def test_a_full_part_has_no_panel(running: Running, full: bool) -> None:
    address = running.private()
    posted = await running.adapter.send(frame("x", address, ACTIVE))
    text = "x" if full else "x" * FEISHU_CARD_LIMIT
    await running.adapter.edit(replace(frame(text, address, ACTIVE, ACTIVE), full=full), posted)
    [shown] = running.shown()
    assert (shown["text"], shown["panels"], shown["streaming"]) == (text, [], True)


async def test_a_card_that_the_platform_closed_is_opened_again_with_its_panel(running: Running) -> None:
    address = running.private()
    posted = await running.adapter.send(frame("x", address, ACTIVE))
    card = running.emulator.world.messages[posted].card
    assert card is not None
    card.streaming_until = 0.0
    await running.adapter.edit(frame("x y", address, ACTIVE), posted)
    [shown] = running.shown()
    assert (shown["text"], shown["streaming"], len(shown["panels"])) == ("x y", True, 1)
