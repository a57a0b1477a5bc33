"""The lead agent: what `langgraph.json` registers as `lead_agent`."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from agent.errors import ModelUnavailable
from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls
from agent.models.resolve import build
from agent.models.source import ModelSource
from agent.models.spec import Catalog, ModelSpec
from agent.models.window import ContextWindow
from agent.prompt import system_prompt
from agent.switches import Switches
from agent.uploads.folders import ThreadFolders
from agent.uploads.shown import ShowLimits, ShowUploads
from agent.uploads.store import UploadStore

Graph = CompiledStateGraph[Any, Any, Any, Any]
HOME_VARIABLE = "ROEBOT_HOME"
GRAPHS_KEPT = 32


def home_from_environment() -> Path:
    """`ROEBOT_HOME`, else `.roebot` in the current folder."""
    return Path(os.environ.get(HOME_VARIABLE) or ".roebot")


class LeadAgent:
    """Makes the lead agent's graphs; one is kept for each (model, switches, day)."""

    def __init__(
        self,
        source: ModelSource,
        home: Path,
        *,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        make_model: Callable[..., BaseChatModel] = build,
    ) -> None:
        self._source = source
        self._folders = ThreadFolders(home)
        self._today = today
        self._make_model = make_model
        self._catalog: Catalog | None = None
        self._graphs: OrderedDict[tuple[Switches, date], Graph] = OrderedDict()

    async def graph(self, switches: Switches) -> Graph:
        """The graph for a run. Raises ModelUnknown, ModelUnavailable or ConfigErrors."""
        catalog = await self._source.catalog()
        if catalog is not self._catalog:
            self._catalog = catalog
            self._graphs.clear()
        spec = catalog.pick(switches.model_name)
        wanted = replace(fitted(spec, switches, degrade=catalog.allow_degradation), model_name=spec.name)
        key = (wanted, self._today())
        if key not in self._graphs:
            graph = await asyncio.to_thread(self._build, spec, *key)
            if catalog is not self._catalog:
                return graph
            self._graphs[key] = graph
            while len(self._graphs) > GRAPHS_KEPT:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        return self._graphs[key]

    def _build(self, spec: ModelSpec, switches: Switches, today: date) -> Graph:
        model = self._make_model(spec, thinking=switches.thinking, effort=switches.effort)
        return create_agent_graph(
            model,
            system_prompt=system_prompt(today, small_model=spec.context_tokens is not None),
            middleware=self._middleware(spec),
            name="lead_agent",
        )

    def _middleware(self, spec: ModelSpec) -> list[AgentMiddleware[Any, Any]]:
        chain: list[AgentMiddleware[Any, Any]] = [
            ShowUploads(UploadStore(self._folders), ShowLimits(vision=spec.supports_vision)),
        ]
        if spec.context_tokens is not None:
            chain.append(ContextWindow(tokens=spec.context_tokens))
        return [*chain, ModelCalls(model_name=spec.name)]


def fitted(spec: ModelSpec, switches: Switches, *, degrade: bool) -> Switches:
    """The switches without what the model lacks; raises ModelUnavailable instead unless `degrade`."""
    lacking = []
    if switches.thinking and not spec.supports_thinking:
        lacking.append("thinking")
    if switches.effort and not spec.supports_reasoning_effort:
        lacking.append("a reasoning effort")
    if lacking and not degrade:
        raise ModelUnavailable(f'The model "{spec.name}" does not support {" or ".join(lacking)}.')
    return Switches(
        switches.model_name,
        thinking=switches.thinking and spec.supports_thinking,
        effort=switches.effort if spec.supports_reasoning_effort else None,
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
        agent = _agents[home] = LeadAgent(ModelSource(), home)
    return await agent.graph(Switches.of(config.get("configurable") or {}))
