"""The lead agent: what `langgraph.json` registers as `lead_agent`."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from agent.assembly import tools_of
from agent.chain import Parts, chain_of
from agent.config.models import AgentConfig
from agent.errors import ModelUnavailable, ToolUnavailable
from agent.factory import create_agent_graph
from agent.features import Middleware, RuntimeFeatures
from agent.memory.process import ProcessMemory
from agent.models.lineup import LineUp, line_up
from agent.models.resolve import build
from agent.models.source import ModelSource, source_of
from agent.models.spec import Catalog, ModelSpec
from agent.profiles import Profile, groups_of, model_of, read_profile
from agent.prompt import system_prompt
from agent.switches import Switches
from agent.tools.loading import load_tools
from agent.uploads.folders import ThreadFolders

Graph = CompiledStateGraph[Any, Any, Any, Any]
HOME_VARIABLE = "ROEBOT_HOME"
GRAPHS_KEPT = 32


def home_from_environment() -> Path:
    """`ROEBOT_HOME`, else `.roebot` in the current folder."""
    return Path(os.environ.get(HOME_VARIABLE) or ".roebot")


@dataclass(frozen=True, slots=True)
class Additions:
    """What code adds to the configuration. `features` None: those of the configuration."""

    features: RuntimeFeatures | None = None
    extra_middleware: Sequence[Middleware] = ()
    checkpointer: Checkpointer = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a graph is made for."""

    switches: Switches
    today: date
    profile: Profile | None


class LeadAgent:
    """Makes the lead agent's graphs; one is kept for each (switches, agent of one's own, day)."""

    def __init__(
        self,
        source: ModelSource,
        home: Path,
        *,
        additions: Additions | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        make_model: Callable[..., BaseChatModel] = build,
    ) -> None:
        self._source = source
        self._home = home
        self._additions = additions or Additions()
        self._memory = ProcessMemory()
        self._today = today
        self._make_model = make_model
        self._current: tuple[Catalog, AgentConfig] | None = None
        self._graphs: OrderedDict[_Wanted, Graph] = OrderedDict()

    async def graph(self, switches: Switches) -> Graph:
        """The graph for a run.

        Raises ModelUnknown, ModelUnavailable, ToolUnavailable, GuardrailUnavailable, ProfileError or
        ConfigErrors; ValueError where extra middleware finds no place.
        """
        config, catalog = await self._source.config(), await self._source.catalog()
        if self._current is None or self._current[0] is not catalog or self._current[1] is not config:
            self._current = (catalog, config)
            self._graphs.clear()
        current = self._current
        profile = await self._profile(switches.agent_name)
        own = model_of(profile, catalog.names) if profile and not switches.model_name else None
        spec = catalog.pick(switches.model_name or own)
        fit = fitted(spec, switches, degrade=catalog.allow_degradation)
        fit = replace(fit, model_name=spec.name, agent_name=profile.name if profile else None)
        wanted = _Wanted(fit, self._today(), profile)
        if wanted not in self._graphs:
            graph, whole = await asyncio.to_thread(self._build, spec, wanted, catalog, config)
            if current is not self._current or not whole:
                return graph
            self._graphs[wanted] = graph
            while len(self._graphs) > GRAPHS_KEPT:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(wanted)
        return self._graphs[wanted]

    def reset(self) -> None:
        """Forget the graphs that are kept; the next run makes its own."""
        self._graphs.clear()

    async def _profile(self, name: str | None) -> Profile | None:
        if name is None:
            return None
        return await asyncio.to_thread(read_profile, self._home, name, os.environ)

    def _build(
        self, spec: ModelSpec, wanted: _Wanted, catalog: Catalog, config: AgentConfig
    ) -> tuple[Graph, bool]:
        """The graph, and whether all of its models could be made; if not, the next run tries again."""
        profile = wanted.profile
        line = self._line(catalog, config, spec, wanted.switches)
        spec, model = line.models[0]
        switches = fitted(spec, wanted.switches, degrade=True)
        writer = config.summarization.model_name if config.summarization.enabled else None
        writers = self._line(catalog, config, catalog.pick(writer), Switches()) if writer else None
        parts = Parts(
            config,
            spec,
            switches,
            ThreadFolders(self._home),
            self._memory,
            fallbacks=line.models[1:],
            summarizers=[one for _, one in writers.models] if writers else (),
        )
        tools = tools_for(config, profile) if spec.supports_tools else []
        chain = chain_of(parts, self._additions.features, self._additions.extra_middleware)
        _check_names(tools, chain)
        prompt = system_prompt(
            wanted.today,
            small_model=spec.context_tokens is not None,
            tools=bool(tools) or any(map(tools_of, chain)),
            personality=profile.personality if profile else "",
        )
        graph = create_agent_graph(
            model,
            tools,
            system_prompt=prompt,
            middleware=chain,
            checkpointer=self._additions.checkpointer,
            name="lead_agent",
        )
        return graph, line.whole and (writers is None or writers.whole)

    def _line(self, catalog: Catalog, config: AgentConfig, spec: ModelSpec, switches: Switches) -> LineUp:
        """The model and those that it falls back on."""

        def make(one: ModelSpec) -> BaseChatModel:
            fit = fitted(one, switches, degrade=True)
            return self._make_model(one, thinking=fit.thinking, effort=fit.effort)

        others = [name for name in config.model_calls.fallback_models if name != spec.name]
        return line_up([spec, *map(catalog.pick, others)], make)


def tools_for(config: AgentConfig, profile: Profile | None) -> list[BaseTool]:
    """The configured tools that the agent gets. Blocking. Raises ToolUnavailable or ProfileBroken."""
    return load_tools(config.tools, groups_of(profile, config) if profile else None)


def _check_names(tools: Sequence[BaseTool], chain: Sequence[Middleware]) -> None:
    """Providers refuse two tools of one name."""
    built_in = {tool.name for middleware in chain for tool in tools_of(middleware)}
    for tool in tools:
        if tool.name in built_in:
            raise ToolUnavailable("has the name of a built-in one; rename it.", name=tool.name)


def fitted(spec: ModelSpec, switches: Switches, *, degrade: bool) -> Switches:
    """The switches without what the model lacks; raises ModelUnavailable instead unless `degrade`."""
    lacking = []
    if switches.thinking and not spec.supports_thinking:
        lacking.append("thinking")
    if switches.effort and not spec.supports_reasoning_effort:
        lacking.append("a reasoning effort")
    if switches.plan_mode and not spec.supports_tools:
        lacking.append("plan mode")
    if switches.subagents and not spec.supports_tools:
        lacking.append("subagents")
    if lacking and not degrade:
        raise ModelUnavailable(f'The model "{spec.name}" does not support {" or ".join(lacking)}.')
    return replace(
        switches,
        thinking=switches.thinking and spec.supports_thinking,
        effort=switches.effort if spec.supports_reasoning_effort else None,
        plan_mode=switches.plan_mode and spec.supports_tools,
        subagents=switches.subagents and spec.supports_tools,
    )


_agents: dict[Path, LeadAgent] = {}


async def make_lead_agent(config: RunnableConfig) -> Graph:
    """The graph factory: reads `configurable` for the switches, environment and file for the rest.

    The configuration is found by `ROEBOT_CONFIG_PATH`, `./config.yaml` or `../config.yaml`; the home by
    `ROEBOT_HOME`. Raises ModelUnknown (naming the known ones), ModelUnavailable or ConfigErrors.
    """
    home = home_from_environment()
    agent = _agents.get(home)
    if agent is None:
        agent = _agents[home] = LeadAgent(source_of(home), home)
    return await agent.graph(Switches.of(config.get("configurable") or {}))
