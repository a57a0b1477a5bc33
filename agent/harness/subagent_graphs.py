"""Graphs of subagent types."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import structlog
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from agent.features import Middleware
from agent.harness.assembly import middleware_tools
from agent.harness.subagent_budget import SubagentBudget, SubagentState
from agent.harness.subagent_prompt import SubagentBriefing, subagent_prompt
from agent.middleware.thread_files import ViewImageMiddleware
from agent.subagents.kinds import SUBAGENT_TYPES, SubagentType

log = structlog.get_logger(__name__)
GRAPHS_KEPT = 8


@dataclass(frozen=True, slots=True)
class SubagentModel:
    """A subagent model with the middleware around its calls; `sees_images` if it supports images."""

    model: BaseChatModel
    middleware: Sequence[Middleware] = ()
    supports_tools: bool = True
    sees_images: bool = False


@dataclass(frozen=True, slots=True)
class SubagentParts:
    """Input of the graphs.

    `tools` are the lead agent's; `middleware` is the chain of all subagents, outermost first, whose tools
    they get too. `models` are those of types with a model of their own, by its name. `deferral` finds tools
    by search if there are too many; types that name their tools see all of them. Without `has_sandbox` a
    model with vision sees the images of its tools' results, but has no tool that opens files.
    """

    model: SubagentModel
    tools: Sequence[BaseTool]
    middleware: Sequence[Middleware] = ()
    models: Mapping[str, SubagentModel] = field(default_factory=dict)
    briefing: SubagentBriefing = field(default_factory=SubagentBriefing)
    deferral: Middleware | None = None
    has_sandbox: bool = True


class SubagentGraphs:
    """Builds and caches graphs of types, because building one takes as long as several turns.

    `types` are those that can work: their model was built, and the tools that they need are available.
    """

    def __init__(self, parts: SubagentParts, types: Iterable[SubagentType] = SUBAGENT_TYPES) -> None:
        self._parts = parts
        self._graphs: dict[tuple[SubagentType, int], Any] = {}
        self.types: Mapping[str, SubagentType] = {kind.name: kind for kind in types if self._is_usable(kind)}

    async def get_graph(self, kind: SubagentType, turns: int) -> Any:
        """Return a type's graph for tasks of at most `turns` model calls."""
        graph = self._graphs.get((kind, turns))
        if graph is None:
            graph = await asyncio.to_thread(self._build_graph, kind, turns)
            if len(self._graphs) >= GRAPHS_KEPT:
                self._graphs.clear()
            self._graphs[kind, turns] = graph
        return graph

    def _is_usable(self, kind: SubagentType) -> bool:
        used = self._find_model(kind)
        if used is None:
            log.warning("subagent_type_left_out", type=kind.name, detail=f"no model {kind.model_name}")
            return False
        names = {tool.name for tool in self._parts.tools if used.supports_tools}
        names |= {tool.name for tool in _brought_tools(self._build_chain(used))}
        if not kind.needs <= names:
            return False
        if kind.tools and not any(map(kind.allows_tool, names)):
            detail = f"none of its tools is available: {', '.join(kind.tools)}"
            log.warning("subagent_type_left_out", type=kind.name, detail=detail)
            return False
        return True

    def _find_model(self, kind: SubagentType) -> SubagentModel | None:
        return self._parts.models.get(kind.model_name) if kind.model_name else self._parts.model

    def _build_chain(self, used: SubagentModel) -> list[Middleware]:
        chain: list[Middleware] = [*self._parts.middleware, *used.middleware]
        if used.sees_images:
            # Outermost, so that it finds the images of every tool.
            images = ViewImageMiddleware() if self._parts.has_sandbox else ViewImageMiddleware(tools=())
            chain.insert(0, images)
        return chain if used.supports_tools else [one for one in chain if not middleware_tools(one)]

    def _build_graph(self, kind: SubagentType, turns: int) -> Any:
        used = self._find_model(kind)
        assert used is not None, "types without a model are left out"
        chain = [_narrow_tools(one, kind) for one in self._build_chain(used)]
        if self._parts.deferral is not None and used.supports_tools and kind.tools is None:
            chain.append(self._parts.deferral)
        brought = [tool.name for tool in _brought_tools(chain)]
        tools = kind.select_tools(self._parts.tools) if used.supports_tools else []
        tools = [tool for tool in tools if tool.name not in brought]
        names = [*brought, *(tool.name for tool in tools)]
        return create_agent(
            used.model,
            tools,
            system_prompt=subagent_prompt(kind, names, self._parts.briefing, turns),
            middleware=[SubagentBudget(turns=turns, tokens=kind.tokens), *chain],
            state_schema=SubagentState,
            name=f"subagent-{kind.name}",
        )


def _narrow_tools(one: Middleware, kind: SubagentType) -> Middleware:
    """Return the middleware with only those of its tools that the type may use."""
    brought = list(middleware_tools(one))
    allowed = kind.select_tools(brought)
    if len(allowed) == len(brought):
        return one
    narrowed = copy(one)
    narrowed.tools = allowed
    return narrowed


def _brought_tools(chain: Iterable[Middleware]) -> list[BaseTool]:
    return [tool for one in chain for tool in middleware_tools(one)]
