"""Nothing of a deleted thread stays, in any database or file."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph

from agent.core.state import ThreadState
from agent.runtime.run_saver import compressing_serde
from tests.runtime.serving import SOURCES, Served, serve

SECRET = "plumtree9931"
BEN_SAID = "Ben: the regatta starts on sunday"
GROUP = "0b1f9c3e-0000-4000-8000-000000000001"
OTHER = "0b1f9c3e-0000-4000-8000-000000000002"


def echoing() -> StateGraph[Any, Any, Any, Any]:
    """Repeats the newest message and titles the thread with it."""

    async def answer(state: ThreadState) -> dict[str, Any]:
        said = str(state["messages"][-1].content)
        return {"messages": [AIMessage(f"You said: {said}")], "title": said}

    graph = StateGraph(ThreadState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A server with the echoing graph."""
    async with serve(tmp_path, sources={**SOURCES, "echo": echoing}) as server:
        yield server


async def say(served: Served, thread: str, text: str) -> None:
    """A run on a thread."""
    run = await served.client.runs.create(
        thread,
        "echo",
        input={"messages": [{"type": "human", "content": text}]},
        if_not_exists="create",
        stream_mode=["messages-tuple", "values"],
        stream_resumable=True,
    )
    await served.client.runs.join(thread, run["run_id"])


async def offer(served: Served, thread: str, text: str) -> None:
    """A message waits to join a run on a thread."""
    value = {"turn": "9", "number": 1, "message": {"type": "human", "content": text}}
    await served.client.store.put_item(("steer", thread), key="w1", value=value, index=False)


def stored_values(home: Path) -> str:
    """Everything that the databases hold, decompressed, as one text."""
    serde = compressing_serde(JsonPlusSerializer())
    found = []
    for path in (home / "checkpoints.db", home / "agent.db"):
        with closing(sqlite3.connect(path)) as database:
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            for table in tables:
                rows = database.execute(f"SELECT * FROM {table}")
                names = [column[0] for column in rows.description]
                for row in rows:
                    entry = dict(zip(names, row, strict=True))
                    value = entry.get("checkpoint") or entry.get("value")
                    if isinstance(value, bytes) and entry.get("type"):
                        found.append(repr(serde.loads_typed((entry["type"], value))))
                    found += [
                        one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in row
                    ]
    return "\n".join(found)


async def test_no_file_holds_the_words_of_a_deleted_thread(served: Served, tmp_path: Path) -> None:
    for number in range(6):
        await say(served, GROUP, f"my harbour code is {SECRET} {number}")
        await say(served, OTHER, BEN_SAID)
    await offer(served, GROUP, f"and {SECRET} too")
    await offer(served, OTHER, "wait for me")
    assert SECRET in stored_values(tmp_path)
    await served.client.threads.delete(GROUP)
    done = await served.http.post("/storage/compact")
    assert done.json() == {
        name: {"rewritten": True, "log_emptied": True} for name in ("agent.db", "checkpoints.db")
    }
    stored = stored_values(tmp_path)
    assert SECRET not in stored
    assert stored.count(BEN_SAID) > 6
    assert "wait for me" in stored
    files = b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert SECRET.encode() not in files
