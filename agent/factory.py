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

from agent.assembly import assemble, brought
from agent.features import RuntimeFeatures
from agent.state import ThreadState


def create_agent_graph(
    model: BaseChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]] | None = None,
    *,
    system_prompt: str | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any]] | None = None,
    features: RuntimeFeatures | None = None,
    extra_middleware: Sequence[AgentMiddleware[Any, Any]] | None = None,
    plan_mode: bool = False,
    state_schema: type[ThreadState] | None = None,
    checkpointer: Checkpointer = None,
    name: str = "default",
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Assemble an agent from its arguments alone: no file, environment or global is read.

    Without `middleware`, the chain is the built-in one that `features` and `plan_mode` switch, with
    `extra_middleware` in its places (see `agent.features`). A default's parameters are changed by giving an
    instance. `middleware` is the whole chain instead, outermost first, and excludes those three.
    `state_schema` extends `ThreadState`, which is also its default. Without `checkpointer` the graph takes
    the one of the server that runs it. Raises ValueError for a chain that can't be built.
    """
    own = list(tools or ())
    if middleware is None:
        wanted = features or RuntimeFeatures()
        chain = assemble(wanted, extra_middleware or (), plan_mode=plan_mode)
        own += brought(wanted)
    else:
        others = {"features": features, "extra_middleware": extra_middleware, "plan_mode": plan_mode}
        _check_exclusive([name for name, value in others.items() if value])
        chain = list(middleware)
    return create_agent(
        model,
        tools=own,
        system_prompt=system_prompt,
        middleware=chain,
        state_schema=state_schema or ThreadState,
        checkpointer=checkpointer,
        name=name,
    )


def _check_exclusive(given: Sequence[str]) -> None:
    if given:
        raise ValueError(
            f"`middleware` is the whole chain; it can't be given together with {' and '.join(given)}."
        )
