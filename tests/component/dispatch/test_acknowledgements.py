"""A message has a reaction while it is answered; nothing waits for it, and nothing fails by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.manifest import Budget, Operation, Scope
from bot.turn import Busy, TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_steer import ends, joins

REACTIONS = ("react", "unreact")


def calls(at: Bench) -> list[tuple[str, str]]:
    """The calls about reactions, with their messages."""
    return [(operation, text) for operation, _, text in at.adapter.calls if operation in REACTIONS]


@pytest.fixture(autouse=True)
def reacting(at: Bench) -> None:
    at.adapter.reacts = True


async def test_a_message_is_marked_until_its_answer_is_posted(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.adapter.marked == {"u1"})
        assert "post" not in [operation for operation, *_ in at.adapter.calls]
        run = at.runtime.runs["run-1"]
        run.say("yes")
        run.end()
        assert await closed(at) == [TurnState.DONE]
        await at.until(lambda: not at.adapter.marked)
    assert calls(at) == [("react", "u1"), ("unreact", "u1")]
    assert [operation for operation, *_ in at.adapter.calls][-2:] == ["post", "unreact"]


async def test_nothing_is_called_where_no_reaction_is_configured(at: Bench) -> None:
    at.adapter.reacts = False
    at.runtime.script = answer_with("yes")
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
        await at.rest()
    assert calls(at) == []


async def test_messages_that_wait_are_marked_at_once(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("one")
        await at.until(lambda: at.runtime.runs)
        await at.adapter.hears("two")
        await at.until(lambda: at.adapter.marked == {"u1", "u2"})
        for answered, waiting in ((1, {"u2"}), (2, set())):
            await at.until(lambda count=answered: len(at.runtime.runs) == count)
            run = list(at.runtime.runs.values())[-1]
            run.say("yes")
            run.end()
            await at.until(lambda left=waiting: at.adapter.marked == left)


async def test_a_message_that_joins_a_run_is_marked_until_then(at: Bench) -> None:
    at.busy = Busy.STEER
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        written = await joins(at)
        await at.until(lambda: at.adapter.marked == {"u1", written})
        await ends(at)
        await at.until(lambda: not at.adapter.marked)


async def test_commands_and_clicks_are_not_marked(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("/whoami")
        await at.until(lambda: at.adapter.texts())
        await at.rest()
    assert calls(at) == []


async def test_only_addressed_messages_are_marked(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("just talk", kind=ChatKind.GROUP, addressed=False)
        await at.rest()
    assert calls(at) == []


@pytest.mark.parametrize(
    "error",
    [
        DeliveryError(DeliveryCategory.PERMISSION, "no"),
        DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "unknown emoji"),
        DeliveryError(DeliveryCategory.TRANSIENT, "lost", unknown_outcome=True),
    ],
)
async def test_a_refused_reaction_does_not_concern_the_answer(at: Bench, error: DeliveryError) -> None:
    at.runtime.script = answer_with("yes")
    at.adapter.fail("react", error, commit=error.unknown_outcome)
    async with at.running():
        await at.adapter.hears("hi")
        assert await closed(at) == [TurnState.DONE]
        await at.rest()
    assert at.adapter.texts() == ["yes"]
    assert not at.adapter.marked
    assert [operation for operation, _ in calls(at)].count("unreact") == error.unknown_outcome


class Broken(RecordingAdapter):
    """An adapter with a bug, as a plug-in's may have."""

    async def react(self, address: ReplyAddress, message_id: str) -> None:
        raise KeyError(message_id)


async def test_a_bug_in_an_adapter_costs_the_reaction_alone(at: Bench) -> None:
    at.adapter = Broken()
    at.adapter.reacts = True
    at.runtime.script = answer_with("yes")
    async with at.running():
        for count in (1, 2):
            await at.adapter.hears("hi")
            await at.until(lambda answers=count: at.adapter.texts() == ["yes"] * answers)
        await at.rest()


async def test_a_pause_for_reactions_holds_up_no_answer(at: Bench) -> None:
    at.runtime.script = answer_with("yes")
    at.adapter.fail("react", RateLimited(30.0))
    async with at.running():
        began = at.clock.now()
        await at.adapter.hears("hi")
        await at.until(lambda: at.adapter.texts() == ["yes"])
        assert at.clock.now() - began < 5.0
        await at.rest(60.0, step=1.0)
    assert not at.adapter.marked


async def test_a_reaction_is_tried_again_after_a_pause(at: Bench) -> None:
    at.adapter.fail("react", RateLimited(2.0))
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.adapter.marked == {"u1"})
    assert calls(at) == [("react", "u1")] * 2


async def test_reactions_stay_within_their_budget(at: Bench) -> None:
    budget = Budget(Scope.ACCOUNT, 1, 20.0, "test", frozenset({Operation.REACTION}))
    at.manifest = replace(at.manifest, budgets=(budget,))
    at.runtime.script = answer_with("yes")
    async with at.running():
        for person in ("7", "8"):
            await at.adapter.hears("hi", chat=f"c{person}", person=person)
        await at.until(lambda: at.adapter.texts("c7") and at.adapter.texts("c8"))
        await at.rest()
        assert calls(at) == [("react", "u1")]
        await at.rest(30.0, step=1.0)
    assert calls(at) == [("react", "u1"), ("unreact", "u1")]


async def test_the_next_process_removes_what_this_one_added(at: Bench) -> None:
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.adapter.marked == {"u1"})
    await at.clock.advance(1.0)
    async with at.running():
        run = at.runtime.runs["run-1"]
        run.say("yes")
        run.end()
        assert await closed(at) == [TurnState.DONE]
        await at.until(lambda: not at.adapter.marked)
    assert calls(at) == [("react", "u1"), ("unreact", "u1")]
