"""A graph for processes that are killed: it writes down each call of its tool."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph

from tests.runtime.graphs import TokenModel, asking

__all__ = ["asking", "counted", "patient"]


def patient() -> StateGraph[Any, Any, Any, Any]:
    """As `counted`, but it talks for seconds."""
    return counted(delay=0.1)


def counted(delay: float = 0.005) -> StateGraph[Any, Any, Any, Any]:
    """A tool that notes its call in `calls.txt` below the home, then a model that talks."""
    model = TokenModel(tokens=40, delay=delay)

    def tool(state: MessagesState) -> dict[str, Any]:
        with (Path(os.environ["ROEBOT_HOME"]) / "calls.txt").open("a") as file:
            file.write("call\n")
        return {"messages": [("ai", "tool done")]}

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("tool", tool)
    graph.add_node("talk", talk)
    graph.add_edge(START, "tool")
    graph.add_edge("tool", "talk")
    return graph
