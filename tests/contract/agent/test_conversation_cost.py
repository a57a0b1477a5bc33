"""What a turn costs is bounded by the window, however long the conversation is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.long_conversation import PRICE, Way, hold, price_of

TURNS, WINDOW = 30, 4_000
MILLION = 1_000_000


async def test_a_turn_costs_what_its_window_costs(tmp_path: Path) -> None:
    found = await hold(Way("summaries, cached", WINDOW, cached=True), tmp_path, TURNS)
    fixed = found.turns[0].uses[0].total
    assert found.largest < 1.25 * (WINDOW + fixed)
    # Two requests of the conversation, and in some turns the summary of what leaves it.
    bound = 3 * 1.25 * (WINDOW + fixed) * PRICE["cache_write"] / MILLION
    assert max(turn.cost for turn in found.turns) < bound
    assert found.mean(20, 30) < 1.3 * found.mean(10, 20)


async def test_the_threads_cost_is_that_of_the_published_prices(tmp_path: Path) -> None:
    found = await hold(Way("everything, cached", cached=True), tmp_path, 6)
    inputs = sum(price_of(use) for turn in found.turns for use in turn.uses)
    assert found.cost == pytest.approx(inputs + found.output * PRICE["output"] / MILLION)
    assert found.read > 0
