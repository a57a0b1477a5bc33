"""A turn as a plain LangGraph graph in process: one model call, streamed, with checkpoints in SQLite.

`python -m tests.benchmarks.plain_graph MODEL_URL AT_ONCE WAVES TEXT` prints the milliseconds of processor
time of a turn. Each measured turn is the second of its thread; the first ones are not measured.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph


async def measure_turn(url: str, at_once: int, waves: int, text: str, folder: Path) -> float:
    """Return the milliseconds of CPU time of a turn."""
    model = ChatOpenAI(model="scripted", base_url=url, api_key="x", max_retries=0)  # type: ignore[arg-type]

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        graph = builder.compile(checkpointer=saver)

        async def turn(thread: str) -> None:
            config: Any = {"configurable": {"thread_id": thread}}
            given: Any = {"messages": [{"role": "user", "content": text}]}
            parts = graph.astream(given, config, stream_mode="messages", durability="async")
            assert [message.text async for message, _ in parts]

        threads = [str(uuid4()) for _ in range(at_once * waves)]
        for start in range(0, len(threads), at_once):
            await asyncio.gather(*map(turn, threads[start : start + at_once]))
        began = time.process_time()
        for start in range(0, len(threads), at_once):
            await asyncio.gather(*map(turn, threads[start : start + at_once]))
        return (time.process_time() - began) / len(threads) * 1000


if __name__ == "__main__":
    address, at_once, waves, words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        print(asyncio.run(measure_turn(address, int(at_once), int(waves), words, Path(name))))
