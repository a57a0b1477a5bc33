"""Graphs that the runtime's benchmark serves and runs in process."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, MessagesState, StateGraph

from tests.runtime.graphs import chat

TOKENS = 200


def noop() -> StateGraph[Any, Any, Any, Any]:
    """A graph that does nothing."""
    graph = StateGraph(MessagesState)
    graph.add_node("pass", _nothing)
    graph.add_edge(START, "pass")
    return graph


async def _nothing(state: MessagesState) -> dict[str, Any]:
    return {}


def tokens() -> StateGraph[Any, Any, Any, Any]:
    """One call of a native-async model that gives `TOKENS` chunks."""
    return chat(tokens=TOKENS)
