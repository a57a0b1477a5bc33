"""A reply's task list, which follows the agent's work and is closed with it."""

from __future__ import annotations

import pytest

from bot.domain import OutboundMessage, ProgressItem, ProgressState, ReplyAddress
from bot.platforms.base import ShowsProgress
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

PENDING, ACTIVE, DONE, FAILED = ProgressState
TITLES = ("Read the *figures*", 'Ask <a> & "b"', "写出来")


class Progress(Suite):
    @needs(ShowsProgress)
    async def test_it_is_beside_the_text_and_follows_the_work(self, stage: Stage) -> None:
        address = await stage.reply_address()
        assert _lists(stage, address)
        turn = stage.turn()
        first = stage.message("", address, turn=turn, final=False, progress=work(ACTIVE, PENDING))
        posted = await stage.post(first)
        assert (stage.one().text, stage.one().tasks) == ("", visible_tasks(ACTIVE, PENDING))
        for text, states in (("Well.", (DONE, ACTIVE)), ("Well. It is", (FAILED, DONE, ACTIVE))):
            frame = stage.message(text, address, turn=turn, final=False, progress=work(*states))
            await stage.edit(frame, posted)
            assert (stage.one().text, stage.one().tasks) == (text, visible_tasks(*states))
        await stage.edit(_final(stage, address, turn, DONE, DONE, DONE), posted)
        assert stage.one().text == "Well. It is done."
        assert stage.one().tasks in ((), visible_tasks(DONE, DONE, DONE))
        assert not stage.one().growing

    @needs(ShowsProgress)
    @pytest.mark.parametrize("last", [(), (DONE,), (FAILED, FAILED), (DONE, PENDING)], ids=str)
    async def test_nothing_in_it_goes_on_after_the_final(
        self, stage: Stage, last: tuple[ProgressState, ...]
    ) -> None:
        address = await stage.reply_address()
        turn = stage.turn()
        frame = stage.message("It is", address, turn=turn, final=False, progress=work(ACTIVE, ACTIVE))
        posted = await stage.post(frame)
        more = stage.message("It is.", address, turn=turn, final=False, progress=work(ACTIVE, ACTIVE))
        await stage.edit(more, posted)
        assert _states(stage) == [ACTIVE, ACTIVE]
        await stage.edit(_final(stage, address, turn, *last, text="It is. Done."), posted)
        assert stage.one().text == "It is. Done."
        assert ACTIVE not in _states(stage)

    @needs(ShowsProgress)
    async def test_an_attempt_that_begins_anew_leaves_nothing_of_the_old_list(self, stage: Stage) -> None:
        address = await stage.reply_address()
        turn = stage.turn()
        old = work(DONE, ACTIVE, PENDING)
        posted = await stage.post(stage.message("Old.", address, turn=turn, final=False, progress=old))
        await stage.edit(stage.message("New.", address, turn=turn, final=False), posted)
        assert stage.one().text == "New."
        assert not {ACTIVE, PENDING} & set(_states(stage))
        await stage.edit(_final(stage, address, turn, text="New. Done."), posted)
        assert stage.one().text == "New. Done."
        assert not {ACTIVE, PENDING} & set(_states(stage))


def work(*states: ProgressState) -> tuple[ProgressItem, ...]:
    """Build a task list in these states."""
    steps = zip(TITLES, states, strict=False)
    return tuple(ProgressItem(f"step:{number}", title, state) for number, (title, state) in enumerate(steps))


def visible_tasks(*states: ProgressState) -> tuple[tuple[str, ProgressState], ...]:
    """Return the task list in these states as people see it."""
    return tuple(zip(TITLES, states, strict=False))


def _final(
    stage: Stage,
    address: ReplyAddress,
    turn: int,
    *states: ProgressState,
    text: str = "Well. It is done.",
) -> OutboundMessage:
    return stage.message(text, address, turn=turn, progress=work(*states))


def _lists(stage: Stage, address: ReplyAddress) -> bool:
    return isinstance(stage.adapter, ShowsProgress) and stage.adapter.lists_in(address)


def _states(stage: Stage) -> list[ProgressState]:
    return [state for _, state in stage.one().tasks]
