"""What a turn came to is kept over a restart in the middle of its delivery."""

from __future__ import annotations

import pytest

from bot.errors import DeliveryCategory, DeliveryError
from bot.store.read_models import list_turns
from bot.store.turns import stop_turn
from bot.turn import TurnState
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.adapters import Lines
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed

BUSY = DeliveryError(DeliveryCategory.TRANSIENT, "busy")


def failing(run: ScriptedRun) -> None:
    """A script whose run fails."""
    run.end("error")


async def restarted(at: Bench) -> list[TurnState]:
    """Somebody asks, the service is shut down between two tries of the answer, and starts again."""
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: not at.adapter.faults)
    async with at.running():
        return await closed(at)


@pytest.mark.parametrize(
    ("script", "state"), [(failing, TurnState.FAILED), (answer_with("yes"), TurnState.DONE)]
)
async def test_a_turn_ends_as_its_run_did(at: Bench, script: object, state: TurnState) -> None:
    at.runtime.script = script  # type: ignore[assignment]
    at.adapter.fail("post", BUSY)
    assert await restarted(at) == [state]
    assert len(at.adapter.texts()) == 1


async def test_a_stopped_turn_stays_stopped(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        await at.db.transact(stop_turn, 1, None, at.clock.now())
        await at.rest(0.2)
    at.adapter.fail("post", BUSY)
    async with at.running():
        await at.until(lambda: not at.adapter.faults)
    async with at.running():
        assert await closed(at) == [TurnState.CANCELLED]
    assert at.adapter.texts() == ["*(stopped)*"]


async def test_a_part_that_was_given_up_is_not_forgotten(at: Bench) -> None:
    at.adapter.renderer = Lines()
    at.runtime.script = answer_with("one\ntwo")
    at.adapter.fail("post", DeliveryError(DeliveryCategory.PERMISSION, "no"))
    at.adapter.fail("post", BUSY)
    assert await restarted(at) == [TurnState.FAILED]
    assert at.adapter.texts() == ["two"]
    [view] = await at.db.transact(list_turns, 1)
    assert view.error == "undelivered"


async def test_a_repeat_stays_marked_where_it_was_refused_in_between(at: Bench) -> None:
    at.runtime.script = answer_with("yes")
    lost = DeliveryError(DeliveryCategory.TRANSIENT, "no answer", unknown_outcome=True)
    at.adapter.fail("post", lost, commit=True)
    at.adapter.fail("post", BUSY)
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
    assert at.adapter.texts() == ["yes", "(possible duplicate)\n\nyes"]
