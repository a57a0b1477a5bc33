"""The thread state on langgraph's SQLite saver: size, forks, replays, removals."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.graph.state import CompiledStateGraph

from agent.core.state import SNAPSHOT_EVERY
from agent.factory import create_agent_graph
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

Graph = CompiledStateGraph[Any, Any, Any, Any]
THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[tuple[Graph, AsyncSqliteSaver]]:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        model = ScriptedChatModel(environ={})
        yield create_agent_graph(model, middleware=[], checkpointer=saver), saver


async def say(graph: Graph, text: str, config: RunnableConfig = THREAD) -> list[str]:
    """The texts of the thread after this turn."""
    return texts(await graph.ainvoke({"messages": [HumanMessage(text)]}, config, durability="async"))


def texts(values: dict[str, Any]) -> list[str]:
    return [message.text for message in values["messages"]]


async def stored(graph: Graph, config: RunnableConfig = THREAD) -> list[str]:
    return texts((await graph.aget_state(config)).values)


@pytest.mark.long
async def test_a_long_thread_stays_small_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    turns = 300
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        model = ScriptedChatModel(script=Script(reply="b" * 200), environ={})
        graph = create_agent_graph(model, middleware=[], checkpointer=saver)
        for number in range(turns):
            await graph.ainvoke({"messages": [HumanMessage(f"{number:03}" + "a" * 197)]}, THREAD)
        await saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = sum(part.stat().st_size for part in tmp_path.iterdir())
    assert size < 5_000_000, f"{size:,} bytes"
    async with opened(path) as (graph, _):
        found = await stored(graph)
        assert [text[:3] for text in found[::2]] == [f"{number:03}" for number in range(turns)]
        assert found[1::2] == ["b" * 200] * turns


@pytest.mark.parametrize("turns", [3, SNAPSHOT_EVERY])
async def test_a_fork_from_any_checkpoint_sees_exactly_what_was_then(tmp_path: Path, turns: int) -> None:
    async with opened(tmp_path / "c.db") as (graph, _):
        for number in range(turns):
            await say(graph, f"m{number}")
        ends = [snapshot async for snapshot in graph.aget_state_history(THREAD) if not snapshot.next]
        assert len(ends) == turns
        for snapshot in (ends[0], ends[turns // 2], ends[-1]):
            before = texts(snapshot.values)
            after = await say(graph, "forked", snapshot.config)
            assert after == [*before, "forked", "forked"]
        assert await stored(graph, ends[0].config) == texts(ends[0].values), "the old branch is untouched"


async def test_a_turn_repeated_from_before_it_replaces_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "c.db") as (graph, _):
        await say(graph, "first")
        before = (await graph.aget_state(THREAD)).config
        await say(graph, "second")
        assert await say(graph, "second, again", before) == ["first"] * 2 + ["second, again"] * 2
        assert await say(graph, "third") == ["first"] * 2 + ["second, again"] * 2 + ["third"] * 2


async def test_old_checkpoints_can_go_once_the_state_is_written_whole(tmp_path: Path) -> None:
    """What pruning must do: a first checkpoint with the whole state; nothing is needed of the old."""
    async with opened(tmp_path / "c.db") as (graph, saver):
        for number in range(5):
            await say(graph, f"m{number}")
        values = (await graph.aget_state(THREAD)).values
        await saver.adelete_thread("t")
        await graph.aupdate_state(THREAD, values, as_node="model")
        assert await stored(graph) == texts(values)
        assert await say(graph, "next") == [*texts(values), "next", "next"]


async def test_messages_can_be_removed_and_replaced_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    async with opened(path) as (graph, _):
        await say(graph, "one")
        await say(graph, "two")
        first = (await graph.aget_state(THREAD)).values["messages"][0]
        await graph.aupdate_state(THREAD, {"messages": [RemoveMessage(id=first.id)]})
        second = (await graph.aget_state(THREAD)).values["messages"][0]
        await graph.aupdate_state(THREAD, {"messages": [HumanMessage("edited", id=second.id)]})
    async with opened(path) as (graph, _):
        assert await stored(graph) == ["edited", "two", "two"]
        await graph.aupdate_state(
            THREAD, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("summary")]}
        )
    async with opened(path) as (graph, _):
        assert await stored(graph) == ["summary"]


async def test_ids_are_the_same_at_every_reading(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    async with opened(path) as (graph, _):
        given: Any = {
            "messages": ["a plain text", ("user", "a pair"), {"role": "user", "content": "a mapping"}]
        }
        await graph.ainvoke(given, THREAD)
        first = [message.id for message in (await graph.aget_state(THREAD)).values["messages"]]
    async with opened(path) as (graph, _):
        assert [message.id for message in (await graph.aget_state(THREAD)).values["messages"]] == first
    assert len(set(first)) == 4
    assert all(first)


async def test_a_thread_of_the_default_channel_goes_on(tmp_path: Path) -> None:
    """Threads written before this channel, or by another graph, are read as they are."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        old = create_agent(ScriptedChatModel(environ={}), checkpointer=saver)
        await old.ainvoke({"messages": [HumanMessage("old")]}, THREAD)
        graph = create_agent_graph(ScriptedChatModel(environ={}), middleware=[], checkpointer=saver)
        assert await say(graph, "new") == ["old", "old", "new", "new"]


@tool
async def switch(name: str) -> str:
    """Switch a lamp on."""
    return "done"


async def test_calls_made_at_once_keep_results_that_are_alike(tmp_path: Path) -> None:
    calls = tuple(ToolUse("switch", {"name": name}) for name in ("a", "b", "c"))
    model = ScriptedChatModel(steps=(Script(tools=calls), Script(reply="All are on.")), environ={})
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        graph = create_agent_graph(model, [switch], middleware=[], checkpointer=saver)
        await say(graph, "light, please")
        results = [one for one in model.calls[-1].messages if isinstance(one, ToolMessage)]
        assert [one.text for one in results] == ["done"] * 3
        assert len({one.tool_call_id for one in results}) == 3
        assert (await stored(graph))[2:] == ["done", "done", "done", "All are on."]
