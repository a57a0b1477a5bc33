"""Construction of a compiled agent graph from its arguments alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.types import Checkpointer

from agent.core.state import ThreadState
from agent.core.threaded_saver import with_async_methods
from agent.features import Middleware, RuntimeFeatures
from agent.harness.assembly import BUILT_INS, assemble_chain, missing_feature_tools
from agent.harness.blocking_calls import AgentGraph
from agent.harness.lead_chain import SHARED, default_subagent_summarization, subagent_chain
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.middleware.blocking_hooks import with_async_hooks
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.models.http import use_per_loop_client
from agent.subagents.kinds import TASK
from agent.subagents.runner import GraphSubagents


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
) -> AgentGraph:
    """Build an agent from its arguments without reading files, environment or globals.

    Without `middleware` the chain is the built-in one, controlled by `features` and `plan_mode`, with
    `extra_middleware` at its places (see `agent.features`). To change a default's parameters, pass an
    instance. `middleware` is the complete chain instead, outermost first, and excludes those three.
    `state_schema` is a subclass of `ThreadState`, the default. Without `checkpointer` the graph uses the one
    of the server that runs it. The graph works with blocking calls, too, and so do blocking hooks of
    middleware. Raises ValueError for a chain that cannot be built.
    """
    model = use_per_loop_client(model)
    own = list(tools or ())
    if middleware is None:
        wanted = features or RuntimeFeatures()
        given = _default_subagents(model, own, wanted)
        chain = assemble_chain(wanted, extra_middleware or (), plan_mode=plan_mode, defaults=given)
        own += missing_feature_tools(wanted, given)
    else:
        others = {"features": features, "extra_middleware": extra_middleware, "plan_mode": plan_mode}
        _check_exclusive([name for name, value in others.items() if value])
        chain = list(middleware)
    graph = create_agent(
        model,
        tools=own,
        system_prompt=system_prompt,
        middleware=[with_async_hooks(one) for one in chain],
        state_schema=state_schema or ThreadState,
        checkpointer=with_async_methods(checkpointer),
        name=name,
    )
    return AgentGraph.of(graph)


def _default_subagents(
    model: BaseChatModel, tools: Sequence[BaseTool | Callable[..., Any]], features: RuntimeFeatures
) -> Mapping[str, Middleware]:
    """Return the default subagent middleware, which uses the agent's model and tools.

    It includes the middleware that the agent shares with its subagents. Empty if subagents are off or a tool
    `task` is passed.
    """
    made = [one if isinstance(one, BaseTool) else as_tool(one) for one in tools]
    if features.subagent is False or any(one.name == TASK for one in made):
        return {}
    shared = {slot.name: slot.make_default() for slot in BUILT_INS if slot.name in SHARED}
    own = SubagentModel(model, sees_images=features.vision is not False)
    chain = subagent_chain(features, shared, summarization=default_subagent_summarization(features))
    parts = SubagentParts(own, made, chain, has_sandbox=features.sandbox is not False)
    runner = GraphSubagents(SubagentGraphs(parts))
    return {**shared, "subagent_limit": SubagentLimitMiddleware(runner=runner)}


def _check_exclusive(given: Sequence[str]) -> None:
    if given:
        raise ValueError(f"`middleware` is the whole chain; it can't be combined with {' and '.join(given)}.")
