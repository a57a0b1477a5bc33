"""Who may decide about tool calls and steer runs, by the profiles of a place and of its people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.config.profiles import ProfileRule
from bot.domain import ChatKind, Isolation, IsolationPolicy, Sender
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.turns import load_turn
from bot.turn import Turn
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_approvals import ANN, BEN, CALL, EVE

GROUP = ChatKind.GROUP
PLACE: dict[str, Any] = {"account": "rec", "chat": "c1"}


def configure(at: Bench, *rules: dict[str, Any]) -> None:
    at.profiles = tuple(ProfileRule.model_validate(rule) for rule in rules)


def ask_first(run: ScriptedRun) -> None:
    if run.request.answers:
        run.say("Decided.")
        run.end()
    else:
        run.emit(RunInterrupted("i1", CALL), RunEnded("interrupted"))


@pytest.mark.parametrize("isolation", [Isolation.CHAT, Isolation.TOPIC])
async def test_the_rules_of_a_topic_count_wherever_somebody_decides(at: Bench, isolation: Isolation) -> None:
    at.adapter, at.runtime.script, at.role = Asking(), ask_first, None
    at.policy = IsolationPolicy(isolation)
    configure(at, {**PLACE, "topic": "t1", "approvers": "recording:8"})
    async with at.running():
        await at.adapter.hears("go", person=ANN, kind=GROUP, topic="t1")
        await at.until(lambda: any("Approval needed" in text for text in at.adapter.texts()))
        for text, person in (("/approve 1", EVE), ("/approve 1", ANN), ("approve", ANN), ("approve", EVE)):
            await at.adapter.hears(text, person=person, kind=GROUP)
            await at.rest(1.0)
            assert "Decided." not in at.adapter.texts(), (text, person)
        await at.adapter.hears("/approve 1", person=BEN, kind=GROUP)
        await at.until(lambda: "Decided." in at.adapter.texts())


async def turn_of(at: Bench, person: str) -> Turn:
    await at.adapter.hears("go", person=person, kind=GROUP)
    await at.until(lambda: len(at.runtime.runs) == 1)
    known = await at.db.transact(load_turn, 1)
    assert known is not None
    return known.turn


@pytest.mark.parametrize(
    ("asker", "rule", "sender", "may"),
    [
        (ANN, {}, Sender(BEN), False),
        (ANN, {"steer": "members"}, Sender(BEN), True),
        (ANN, {"steer": "members"}, Sender("hook", is_bot=True), False),
        (ANN, {"steer": "admins"}, Sender(BEN), False),
        (ANN, {"steer": "admins"}, Sender(EVE), True),
        (ANN, {"steer": ["recording:8"]}, Sender(BEN), True),
        (ANN, {"steer": ["recording:team:T1"]}, Sender(BEN, belongs=("team:T1",)), True),
        (ANN, {"steer": ["recording:8"]}, Sender(EVE), False),
        (EVE, {"steer": "members"}, Sender(BEN), False),
    ],
)
async def test_who_may_steer(at: Bench, asker: str, rule: dict[str, Any], sender: Sender, may: bool) -> None:
    """The last one has not the role with which the run works."""
    at.runtime.script, at.role = answer_with("ok"), None
    async with at.running():
        turn = await turn_of(at, asker)
        configure(at, {**PLACE, **rule})
        assert at.core is not None
        assert at.core.account("rec").may_steer(turn, sender) is may


async def test_who_may_do_less_steers_nobody_who_may_do_more(at: Bench) -> None:
    at.runtime.script, at.role = answer_with("ok"), None
    async with at.running():
        turn = await turn_of(at, ANN)
        assert at.core is not None
        everybody, view = {**PLACE, "steer": "members"}, lambda: at.core.account("rec")  # type: ignore[union-attr]
        for limit in ({"denied_tools": "bash"}, {"skills": "pdf-*"}):
            configure(at, everybody, {"person": "recording:8", **limit})
            assert not view().may_steer(turn, Sender(BEN)), limit
            configure(at, everybody, {**PLACE, **limit})
            assert view().may_steer(turn, Sender(BEN)), "both have the limit"
        two = replace(turn, askers=(Sender(EVE),))
        configure(at, everybody, {"person": "recording:9", "steer": "requester"})
        assert not view().may_steer(two, Sender(BEN)), "one of the two does not want it"
