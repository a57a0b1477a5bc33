"""The thread state on the runtime's own saver: rolled back runs, copied threads, compressed checkpoints."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph

from agent.core.state import SNAPSHOT_EVERY
from agent.factory import create_agent_graph
from agent.runtime.run_saver import HUGE_BYTES, LARGE_BYTES, SMALL_BYTES, RunSaver, compressing_serde
from roebot_testing.agent import ScriptedChatModel
from tests.harness.saver_database import SaverDatabase, saver_on_sqlite

Graph = CompiledStateGraph[Any, Any, Any, Any]
THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


@asynccontextmanager
async def opened(database: SaverDatabase) -> AsyncIterator[tuple[Graph, RunSaver]]:
    async with database.open() as saver:
        yield create_agent_graph(ScriptedChatModel(environ={}), middleware=[], checkpointer=saver), saver


def texts(values: dict[str, Any]) -> list[str]:
    return [message.text for message in values["messages"]]


async def say(graph: Graph, text: str, config: RunnableConfig = THREAD, run: str = "") -> list[str]:
    with_run: RunnableConfig = {**config, "metadata": {"run_id": run}} if run else config
    return texts(await graph.ainvoke({"messages": [HumanMessage(text)]}, with_run, durability="async"))


async def stored(graph: Graph, config: RunnableConfig = THREAD) -> list[str]:
    return texts((await graph.aget_state(config)).values)


async def test_a_rolled_back_run_leaves_the_thread_as_before(saver_database: SaverDatabase) -> None:
    async with opened(saver_database) as (graph, saver):
        for number in range(SNAPSHOT_EVERY // 2 - 1):
            await say(graph, f"m{number}")
        base = (await graph.aget_state(THREAD)).config["configurable"]["checkpoint_id"]
        writes = await saver.pending_writes("t", base)
        kept = await stored(graph)
        await say(graph, "undone", run="r1")
        assert len(await stored(graph)) == len(kept) + 2
        await saver.roll_back_run("t", "r1", base, writes)
        assert await stored(graph) == kept
        assert await say(graph, "next") == [*kept, "next", "next"]


async def test_a_copied_thread_is_whole_and_its_own(saver_database: SaverDatabase) -> None:
    other: RunnableConfig = {"configurable": {"thread_id": "copy"}}
    async with opened(saver_database) as (graph, saver):
        for number in range(SNAPSHOT_EVERY // 2 + 3):
            await say(graph, f"m{number}")
        await saver.acopy_thread("t", "copy")
        whole = await stored(graph)
        assert await stored(graph, other) == whole
        await say(graph, "only here", other)
        assert await stored(graph) == whole


async def test_a_thread_that_was_stored_without_compression_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as plain:
        old = create_agent_graph(ScriptedChatModel(environ={}), middleware=[], checkpointer=plain)
        for number in range(3):
            await say(old, f"m{number}")
        ends = [state.config async for state in old.aget_state_history(THREAD) if not state.next]
    before = ["m0", "m0", "m1", "m1", "m2", "m2"]
    async with opened(saver_on_sqlite(path)) as (graph, _):
        assert await stored(graph) == before
        for number in range(SNAPSHOT_EVERY):
            await say(graph, f"n{number}")
        assert (await stored(graph))[:6] == before
        assert (await stored(graph))[-1] == f"n{SNAPSHOT_EVERY - 1}"
        assert await say(graph, "forked", ends[-1]) == ["m0", "m0", "forked", "forked"]
        assert await say(graph, "on") == ["m0", "m0", "forked", "forked", "on", "on"]


@pytest.mark.parametrize(
    "size", [0, 1, SMALL_BYTES - 50, SMALL_BYTES, LARGE_BYTES, LARGE_BYTES + 1, HUGE_BYTES + 1]
)
def test_whatever_its_size_a_value_comes_back(size: int) -> None:
    serde = compressing_serde()
    kind, data = serde.dumps_typed({"text": "x" * size})
    assert serde.loads_typed((kind, data)) == {"text": "x" * size}
    assert (len(data) < size) is (SMALL_BYTES <= size <= HUGE_BYTES)


def test_nothing_comes_back_as_nothing() -> None:
    serde = compressing_serde()
    assert serde.loads_typed(serde.dumps_typed(None)) is None
