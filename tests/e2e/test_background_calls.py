"""Calls whose answer nobody reads in a chat are few, compared with those that do the work."""

from __future__ import annotations

import pytest

from tests.benchmarks.prompt_tokens import SHARE_LIMIT, measure_table_task

pytestmark = [pytest.mark.may_block, pytest.mark.bubblewrap, pytest.mark.long, pytest.mark.timeout(300)]


async def test_a_table_task_of_eight_calls_causes_few_others() -> None:
    figures = await measure_table_task()
    assert figures["table task: calls of the agent"] == 8
    assert figures["table task: share of background calls, %"] <= 100 * SHARE_LIMIT
