"""The thread state on the runtime's own saver: rolled back runs and copied threads."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from agent.factory import create_agent_graph
from agent.runtime.saver import RuntimeSaver
from agent.state import SNAPSHOT_EVERY
from agent.testing import ScriptedChatModel

Graph = CompiledStateGraph[Any, Any, Any, Any]
THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[tuple[Graph, RuntimeSaver]]:
    async with RuntimeSaver.open(path) as saver:
        yield create_agent_graph(ScriptedChatModel(environ={}), middleware=[], checkpointer=saver), saver


def texts(values: dict[str, Any]) -> list[str]:
    return [message.text for message in values["messages"]]


async def say(graph: Graph, text: str, config: RunnableConfig = THREAD, run: str = "") -> list[str]:
    with_run: RunnableConfig = {**config, "metadata": {"run_id": run}} if run else config
    return texts(await graph.ainvoke({"messages": [HumanMessage(text)]}, with_run, durability="async"))


async def stored(graph: Graph, config: RunnableConfig = THREAD) -> list[str]:
    return texts((await graph.aget_state(config)).values)


async def test_a_rolled_back_run_leaves_the_thread_as_before(tmp_path: Path) -> None:
    async with opened(tmp_path / "c.db") as (graph, saver):
        for number in range(SNAPSHOT_EVERY // 2 - 1):
            await say(graph, f"m{number}")
        base = (await graph.aget_state(THREAD)).config["configurable"]["checkpoint_id"]
        writes = await saver.pending_writes("t", base)
        kept = await stored(graph)
        await say(graph, "undone", run="r1")
        assert len(await stored(graph)) == len(kept) + 2
        await saver.rollback("t", "r1", base, writes)
        assert await stored(graph) == kept
        assert await say(graph, "next") == [*kept, "next", "next"]


async def test_a_copied_thread_is_whole_and_its_own(tmp_path: Path) -> None:
    other: RunnableConfig = {"configurable": {"thread_id": "copy"}}
    async with opened(tmp_path / "c.db") as (graph, saver):
        for number in range(SNAPSHOT_EVERY // 2 + 3):
            await say(graph, f"m{number}")
        await saver.copy_all("t", "copy")
        whole = await stored(graph)
        assert await stored(graph, other) == whole
        await say(graph, "only here", other)
        assert await stored(graph) == whole
