"""The saver passes LangGraph's own conformance suite for checkpointers, in full."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from agent.runtime.saver import RuntimeSaver


@pytest.mark.timeout(120)
async def test_the_saver_has_every_capability(tmp_path: Path) -> None:
    made = 0

    @checkpointer_test(name="RuntimeSaver")
    async def savers() -> AsyncGenerator[RuntimeSaver]:
        nonlocal made
        made += 1
        async with RuntimeSaver.open(tmp_path / f"{made}.db") as saver:
            yield saver

    report = await validate(savers)
    failures = {name: result.failures for name, result in report.results.items() if result.passed is not True}
    assert failures == {}
    assert made == len(report.results) >= 8
