"""The savers pass LangGraph's own conformance suite for checkpointers, in full."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from agent.runtime.postgres_saver import PostgresRuntimeSaver
from agent.runtime.run_saver import RunSaver
from agent.runtime.saver import RuntimeSaver
from tests.conftest import new_postgres_database


async def check(name: str, open_empty: Callable[[], AbstractAsyncContextManager[RunSaver]]) -> None:
    """Run the suite on savers, each on a database of its own."""
    made = 0

    @checkpointer_test(name=name)
    async def savers() -> AsyncGenerator[RunSaver]:
        nonlocal made
        made += 1
        async with open_empty() as saver:
            yield saver

    report = await validate(savers)
    failures = {name: result.failures for name, result in report.results.items() if result.passed is not True}
    assert failures == {}
    assert made == len(report.results) >= 8


@pytest.mark.timeout(120)
async def test_the_saver_on_sqlite_has_every_capability(tmp_path: Path) -> None:
    names = iter(range(99))
    await check("RuntimeSaver", lambda: RuntimeSaver.open(tmp_path / f"{next(names)}.db"))


@pytest.fixture
def postgres_urls(postgres_server: str) -> Iterator[Iterator[str]]:
    """Addresses of empty databases."""
    with ExitStack() as stack:
        yield (stack.enter_context(new_postgres_database(postgres_server)) for _ in range(99))


@pytest.mark.postgres
@pytest.mark.timeout(120)
@pytest.mark.may_block  # databases are created while the loop runs
async def test_the_saver_on_postgres_has_every_capability(postgres_urls: Iterator[str]) -> None:
    await check("PostgresRuntimeSaver", lambda: PostgresRuntimeSaver.open(next(postgres_urls)))
