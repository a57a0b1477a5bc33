"""The counts of a run, what they cost, and how close they are to a limit."""

from __future__ import annotations

from contextvars import copy_context

import pytest
from structlog.contextvars import bound_contextvars, get_contextvars

from agent.core.run_meter import (
    CallSize,
    LimitKind,
    Phase,
    Price,
    RunLimits,
    RunMeter,
    current_meter,
    isolated_context,
    use_meter,
)
from agent.shared.tracing import traceparent

NO_SIZE = CallSize(0)


def meter(**limits: object) -> RunMeter:
    return RunMeter("r", RunLimits(**limits))  # type: ignore[arg-type]


def admit(one: RunMeter, *tools: str) -> list[LimitKind | None]:
    states = [one.admit_call(f"{one.calls.total()}", tool) for tool in tools]
    return [state.kind if state else None for state in states]


@pytest.mark.parametrize(
    ("price", "usage", "cost"),
    [
        (Price(2, 10), {"input_tokens": 1_000_000, "output_tokens": 100_000}, 3.0),
        (Price(2, 10, 0.2), {"input_tokens": 1_000_000, "input_token_details": {"cache_read": 500_000}}, 1.1),
        (Price(2, 10), {"input_tokens": 1_000_000, "input_token_details": {"cache_read": 500_000}}, 2.0),
        (Price(2, 10, 0.0), {"input_tokens": 10, "input_token_details": {"cache_read": 50}}, 0.0),
        (Price(2, 10), {}, 0.0),
        (
            Price(2, 10, 0.2, 4),
            {
                "input_tokens": 1_000_000,
                "input_token_details": {
                    "cache_read": 500_000,
                    "cache_creation": 0,
                    "ephemeral_5m_input_tokens": 200_000,
                    "ephemeral_1h_input_tokens": 50_000,
                },
            },
            0.25 * 2 + 0.5 * 0.2 + 0.25 * 4,
        ),
        (Price(2, 10, 0.2, 4), {"input_tokens": 9, "input_token_details": {"cache_creation": 9}}, 0.000036),
        (Price(2, 10, 0), {"input_tokens": 9, "input_token_details": {"priority_cache_read": 9}}, 0.0),
    ],
)
def test_what_a_call_costs(price: Price, usage: dict[str, object], cost: float) -> None:
    assert price.cost_of(usage) == pytest.approx(cost)


def test_usage_is_charged_at_the_price_of_the_model_that_answered() -> None:
    one = meter(prices={"a": Price(1, 1), "b": Price(10, 10)})
    one.charge({"input_tokens": 500_000, "output_tokens": 500_000, "total_tokens": 1_000_000}, "a")
    one.charge({"input_tokens": 100_000, "output_tokens": 0}, "b")
    one.charge({"input_tokens": 7, "output_tokens": 0}, None)
    assert (one.tokens, one.cost) == (1_100_007, pytest.approx(2.0))


def test_calls_beyond_a_limit_are_forbidden_and_counted() -> None:
    one = meter(tool_calls=5, calls_of_one_tool=2, single_tools={"bash": 3})
    assert admit(one, "ls", "ls", "ls") == [None, None, LimitKind.ONE_TOOL]
    assert admit(one, "bash", "bash", "bash") == [None, None, LimitKind.TOOL_CALLS]
    assert one.calls == {"ls": 3, "bash": 3}


def test_a_call_that_is_repeated_after_an_interrupt_counts_once() -> None:
    one = meter(tool_calls=1)
    assert one.admit_call("m/1", "ls") is None
    assert one.admit_call("m/1", "ls") is None
    assert one.admit_call("m/2", "ls") is not None
    assert one.admit_call("m/2", "ls") is not None
    assert one.calls.total() == 2


def test_no_limit_is_none() -> None:
    one = meter(tool_calls=0, calls_of_one_tool=0)
    assert admit(one, *["ls"] * 1_000) == [None] * 1_000
    one.charge({"total_tokens": 10**9}, None)
    assert one.assess(CallSize(10**6)) is None


@pytest.mark.parametrize(
    ("calls", "phase"),
    [(7, None), (8, Phase.WARNING), (9, Phase.WARNING), (10, Phase.LAST), (12, Phase.LAST)],
)
def test_the_phases_of_calls(calls: int, phase: Phase | None) -> None:
    one = meter(tool_calls=10)
    admit(one, *["ls"] * calls)
    state = one.assess(NO_SIZE)
    assert (state.phase if state else None) == phase


@pytest.mark.parametrize(
    ("used", "step", "phase"),
    [
        (0, 100, None),
        (790, 50, None),
        (800, 50, Phase.WARNING),
        (900, 50, Phase.WARNING),
        (901, 50, Phase.LAST),
        (950, 50, Phase.LAST),
        (951, 50, Phase.OVER),
        (0, 501, Phase.LAST),
        (0, 1001, Phase.OVER),
    ],
)
def test_the_phases_of_tokens_and_money_leave_room_for_a_last_answer(
    used: int, step: int, phase: Phase | None
) -> None:
    tokens = meter(tokens=1_000)
    tokens.charge({"total_tokens": used}, None)
    money = meter(cost=1.0, prices={"m": Price(1_000, 1_000)})
    money.charge({"input_tokens": used}, "m")
    for state in (tokens.assess(CallSize(step)), money.assess(CallSize(0, step / 1_000))):
        assert (state.phase if state else None) == phase


def test_the_closest_limit_matters() -> None:
    one = meter(tool_calls=10, calls_of_one_tool=5, tokens=1_000)
    admit(one, *["ls"] * 4)
    state = one.assess(NO_SIZE)
    assert state is not None
    assert (state.kind, state.tool) == (LimitKind.ONE_TOOL, "ls")
    one.charge({"total_tokens": 900}, None)
    assert one.assess(NO_SIZE).kind is LimitKind.TOKENS  # type: ignore[union-attr]
    assert one.assess(CallSize(200)).phase is Phase.OVER  # type: ignore[union-attr]


def test_parallel_calls_see_each_other() -> None:
    one = meter(tokens=1_000)
    with one.reserve(CallSize(600)):
        assert one.assess(CallSize(600)).phase is Phase.OVER  # type: ignore[union-attr]
    assert one.assess(CallSize(400)) is None


def test_a_stored_meter_goes_on() -> None:
    one = meter(tool_calls=3)
    admit(one, "ls", "bash")
    one.charge({"total_tokens": 5}, None)
    one.done["ls"] += 1
    stored = one.to_state()
    assert stored == {"run": "r", "calls": {"ls": 1, "bash": 1}, "done": {"ls": 1}, "tokens": 5, "cost": 0.0}
    again = RunMeter("r", one.limits, stored)
    assert again.to_state() == stored
    assert admit(again, "ls", "ls") == [None, LimitKind.TOOL_CALLS]


def test_an_isolated_context_has_nothing_but_the_meter_the_span_and_the_ids() -> None:
    assert len(isolated_context()) == 0
    one = meter()
    with use_meter(one):
        context = isolated_context()
        assert len(context) == 1
        assert context.run(current_meter) is one
        assert copy_context().run(current_meter) is one
    assert current_meter() is None
    token = traceparent.set("a span")
    with bound_contextvars(run_id="r"):
        context = isolated_context()
    traceparent.reset(token)
    assert (context.run(traceparent.get), context.run(get_contextvars)) == ("a span", {"run_id": "r"})
