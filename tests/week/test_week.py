"""A team's week on a virtual clock, with restarts, limits and faults; and the judge sees what is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roebot_testing.adapter import Shown
from tests.week import promptness
from tests.week.__main__ import SEED
from tests.week.evidence import Evidence, played
from tests.week.report import judged

pytestmark = pytest.mark.may_block


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A day, with 300 messages. The stage builds and starts a service itself, which blocks."""
    return asyncio.run(played(tmp_path_factory.mktemp("day"), SEED, days=1, messages=300))


def test_a_day(day: Evidence) -> None:
    report = judged(day)
    print(report)
    assert report.sound, str(report)


@pytest.mark.long
def test_the_same_seed_is_the_same_day(day: Evidence, tmp_path: Path) -> None:
    again = asyncio.run(played(tmp_path, SEED, days=1, messages=300))
    assert calls(again) == calls(day)


def calls(of: Evidence) -> list[Any]:
    """Everything that the bot has called, but for codes and ids that are drawn.

    By time: calls of one instant come from several tasks.
    """
    made = [call for platform in of.stage.platforms.values() for call in platform.calls]
    return sorted((call.at, call.chat, call.operation, call.key, call.outcome) for call in made)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_week(tmp_path: Path) -> None:
    report = judged(asyncio.run(played(tmp_path, SEED, days=7, messages=5000)))
    print(report)
    assert report.sound, str(report)


def a_message_of_a_final(of: Evidence) -> tuple[dict[str, Shown], str]:
    """Where it stands, and its id."""
    shown = of.stage.platforms["slack"].shown
    return shown, next(reversed(shown))


def it_is_gone(of: Evidence) -> str:
    shown, identity = a_message_of_a_final(of)
    del shown[identity]
    return "a turn has one final, and it stands"


def it_stands_twice(of: Evidence) -> str:
    shown, identity = a_message_of_a_final(of)
    shown["b0"] = replace(shown[identity], id="b0")
    return "nothing stands twice but what is marked"


def it_is_cut(of: Evidence) -> str:
    shown, identity = a_message_of_a_final(of)
    shown[identity] = replace(shown[identity], text="…")
    return "a turn has one final, and it stands"


def a_turn_is_open(of: Evidence) -> str:
    number = max(of.turns)
    of.turns[number] = {**of.turns[number], "state": "running"}  # type: ignore[assignment]
    return "no turn is left open"


def a_message_is_lost(of: Evidence) -> str:
    act = next(act for act in of.stage.crowd.meant.values() if act.person.trusted and act.deed == "says")
    del of.received[act.place.platform, f"e{act.number}"]
    return "what the team says is taken, once"


def a_firing_is_lost(of: Evidence) -> str:
    of.tables["firings"].pop(len(of.tables["firings"]) // 2)
    return "firings: none twice, none lost"


def somebody_else_decided(of: Evidence) -> str:
    agent = of.stage.agent
    decided = [runs[0] for name, runs in agent.resumed.items() if name in agent.approvals and runs]
    run = next(one for one in decided if agent.requests[one].messages)
    foreign = {"additional_kwargs": {"sender": "slack:U0009999"}}
    told = [{**one, **foreign} for one in agent.requests[run].messages]
    agent.requests[run] = replace(agent.requests[run], messages=told)
    return "approvals: once, by who may"


def two_turns_side_by_side(of: Evidence) -> str:
    agent = of.stage.agent
    of_one = {}
    for turn, runs in of.runs.items():
        of_one.setdefault(of.turns[turn]["conversation_id"], []).append(runs[0])
    first, second, *_ = next(runs for runs in of_one.values() if len(runs) > 2)
    agent.created[second] = agent.created[first] + 0.001
    return "order within a conversation"


def later(of: Evidence, turn: int) -> None:
    """A turn is answered a minute later."""
    finals = {**of.finals()}
    finals[turn] += 60.0
    of.finals = lambda: finals  # type: ignore[method-assign]


def a_command_waits_for_a_run(of: Evidence) -> str:
    """As one that came while a run was at work."""
    later(of, next(command for command, _, _ in promptness.beside_runs(of)))
    return "a command does not wait for a run"


def another_account_waits(of: Evidence) -> str:
    """As one whose neighbour was limited."""
    found = promptness.beside_trouble(of)
    later(of, next(turn["id"] for turn, _ in found if turn["kind"] == "command"))
    return "one account's trouble stays its own"


WRONGS = (
    it_is_gone,
    it_stands_twice,
    it_is_cut,
    a_turn_is_open,
    a_message_is_lost,
    a_firing_is_lost,
    somebody_else_decided,
    two_turns_side_by_side,
    a_command_waits_for_a_run,
    another_account_waits,
)


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.__name__)
def test_what_is_wrong_is_seen(day: Evidence, wrong: Callable[[Evidence], str]) -> None:
    of = Evidence(day.stage)
    platform, agent = day.stage.platforms["slack"], day.stage.agent
    before = dict(platform.shown), dict(agent.requests), dict(agent.created)
    try:
        expected = wrong(of)
        assert expected in [one.name for one in judged(of).verdicts if one.broken]
    finally:
        platform.shown, agent.requests, agent.created = before
