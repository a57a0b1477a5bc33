"""The pure-argument factory: from a model and its companions to a compiled graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from agent.state import ThreadState


def create_agent_graph(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    *,
    system_prompt: str | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any]] | None = None,
    state_schema: type[ThreadState] | None = None,
    checkpointer: Checkpointer = None,
    name: str = "default",
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Assemble an agent from its arguments alone: no file, environment or global is read.

    `middleware` is the whole chain, outermost first. `state_schema` extends `ThreadState`, which is also
    its default. Without `checkpointer` the graph takes the one of the server that runs it.
    """
    return create_agent(
        model,
        tools=list(tools or ()),
        system_prompt=system_prompt,
        middleware=list(middleware or ()),
        state_schema=state_schema or ThreadState,
        checkpointer=checkpointer,
        name=name,
    )
