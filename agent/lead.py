"""The lead agent, registered as `lead_agent` in `langgraph.json`."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from agent.acp.runner import AcpRunner
from agent.acp.tool import enabled_agents, render_acp_section
from agent.catalog.source import ModelSource, find_source
from agent.config.custom_agents import CustomAgent, check_model, read_custom_agent
from agent.config.extensions import Extensions
from agent.config.extensions_file import ExtensionsSource
from agent.config.harness import MemoryConfig, SandboxConfig, SkillsConfig
from agent.config.models import AgentConfig, default_web_tools
from agent.core.background_loop import PerLoop
from agent.core.interfaces import SandboxProvider, SandboxUnavailable
from agent.core.paths import home_from_environment
from agent.core.run_context import RunOptions
from agent.core.run_meter import RunLimits
from agent.errors import ModelError, ModelUnavailable
from agent.factory import create_agent_graph
from agent.features import Middleware, RuntimeFeatures
from agent.harness.assembly import middleware_tools
from agent.harness.compaction import build_compaction_graph
from agent.harness.lead_chain import ChainParts, build_chain, build_summarization, make_transcripts
from agent.harness.lead_prompt import PromptParts, render_prompt, render_short_prompt
from agent.harness.subagent_prompt import SubagentBriefing
from agent.mcp.pool import NO_TOOLS, McpPool, McpToolSet, current_pool
from agent.mcp.sign_ins import SignIns
from agent.memory.extraction import ExtractionModel
from agent.memory.store import FileMemoryStore
from agent.middleware.memory import MemoryMiddleware, make_recorder
from agent.middleware.summarization import SummarizationMiddleware
from agent.middleware.transcripts import Transcripts
from agent.models.resolve import FallbackChain, build_fallback_chain, build_model
from agent.models.spec import Catalog, ModelSpec
from agent.sandbox.options import Surroundings, load_provider
from agent.shared.recent_items import RecentItems
from agent.skills.library import SkillLibrary
from agent.skills.skill import CATEGORIES, Skill, SkillScope, SkillSet, render_skills_section
from agent.tools.assembly import agent_tools, always_shown, sandbox_tools_for, without_built_in
from agent.tools.default_web import DEFAULT_ENTRIES, WebReach
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore

Graph = CompiledStateGraph[Any, Any, Any, Any]
MAX_GRAPHS = 32

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Additions:
    """Code-level additions to the configuration; `features` None uses the configured ones."""

    features: RuntimeFeatures | None = None
    extra_middleware: Sequence[Middleware] = ()
    checkpointer: Checkpointer = None


@dataclass(frozen=True, slots=True)
class _GraphKey:
    """Everything that determines a graph."""

    options: RunOptions
    profile: CustomAgent | None
    skills: SkillSet
    mcp: McpToolSet
    web: tuple[str, ...] = ()


class LeadAgent:
    """Builds the lead agent's graphs, cached by run options and custom agent."""

    def __init__(
        self,
        source: ModelSource,
        home: Path,
        *,
        additions: Additions | None = None,
        extensions: ExtensionsSource | None = None,
        mcp: McpPool | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
        make_model: Callable[..., BaseChatModel] = build_model,
        web: WebReach | None = None,
    ) -> None:
        self._source = source
        self._home = home
        self._additions = additions or Additions()
        self._extensions = extensions or ExtensionsSource(read_file=False)
        self._skills = SkillLibrary(home)
        self._mcp = mcp
        self._mcp_pools = PerLoop(lambda: McpPool(sign_ins=SignIns(home, None)))
        self._acp = AcpRunner(ThreadFolders(home))
        self._today = today
        self._make_model = make_model
        self._web = web or WebReach()
        self.memory = FileMemoryStore(home, self._memory_settings, ExtractionModel(source, make_model).ask)
        self._current: tuple[Catalog, AgentConfig] | None = None
        self._graphs = RecentItems[_GraphKey, Graph](MAX_GRAPHS)
        self._building = threading.Lock()
        self._last_built: tuple[_GraphKey, Catalog, AgentConfig, Graph] | None = None
        self._provider: tuple[tuple[SandboxConfig, SkillsConfig], SandboxProvider] | None = None
        self._old_providers: list[SandboxProvider] = []

    async def get_graph(self, switches: RunOptions) -> Graph:
        """Return the graph for a run.

        Raises ModelUnknown, ModelUnavailable, ToolUnavailable, GuardrailUnavailable, SandboxUnavailable,
        ProfileError or ConfigErrors, and ValueError if extra middleware finds no place.
        """
        config, catalog = await self._source.config(), await self._source.catalog()
        if self._current is None or self._current[0] is not catalog or self._current[1] is not config:
            self._current = (catalog, config)
            self._graphs.clear()
        current = self._current
        profile, spec = await self._choose_model(catalog, switches)
        fit = fit_options(spec, switches, degrade=catalog.allow_degradation)
        fit = replace(fit, model_name=spec.name, agent_name=profile.name if profile else None)
        extensions = await self._extensions.get_extensions()
        skills = await self._skills.load_enabled(config.skills, extensions)
        mcp = await self._mcp_tools(extensions) if spec.supports_tools else NO_TOOLS
        web = await self._web_tools(config) if spec.supports_tools and not spec.context_tokens else ()
        wanted = _GraphKey(fit, profile, skills, mcp, web)
        if wanted not in self._graphs:
            graph, whole = await asyncio.to_thread(self._build_once, spec, wanted, catalog, config)
            if current is not self._current or not whole:
                return graph
            self._graphs[wanted] = graph
        self._graphs.move_to_end(wanted)
        return self._graphs[wanted]

    async def prepare_summaries(self, switches: RunOptions) -> tuple[BaseChatModel, SummarizationMiddleware]:
        """Return the model of such a run, and the middleware that summarizes its thread, even if disabled.

        Raises ModelUnknown, ModelUnavailable, ProfileError or ConfigErrors.
        """
        config, catalog = await self._source.config(), await self._source.catalog()
        profile, spec = await self._choose_model(catalog, switches)
        line = await asyncio.to_thread(self._build_models, catalog, config, spec, RunOptions())
        writers = await asyncio.to_thread(self._build_summarizers, catalog, config)
        remembers = config.memory.enabled and spec.context_tokens is None
        return line.models[0][1], build_summarization(
            config,
            fallbacks=[model for _, model in line.models[1:]],
            writers=[model for _, model in writers.models] if writers else (),
            before_cut=make_recorder(self.memory) if remembers else None,
            transcripts=await asyncio.to_thread(self._make_transcripts, config, spec, profile),
        )

    def _make_transcripts(
        self, config: AgentConfig, spec: ModelSpec, profile: CustomAgent | None
    ) -> Transcripts | None:
        features = self._additions.features
        has_sandbox = config.sandbox.enabled if features is None else features.sandbox is True
        if not has_sandbox or not spec.supports_tools:
            return None
        with self._building:
            provider = self._sandbox_provider(config)
        return make_transcripts(provider, sandbox_tools_for(config, profile))

    async def load_limits(self) -> RunLimits:
        """Return a run's configured limits, including the models' prices. Raises ConfigErrors."""
        config = await self._source.config()
        return config.run_limits.to_limits(config.prices)

    async def _choose_model(
        self, catalog: Catalog, switches: RunOptions
    ) -> tuple[CustomAgent | None, ModelSpec]:
        profile = await self._read_profile(switches.agent_name)
        own = check_model(profile, catalog.names) if profile and not switches.model_name else None
        return profile, catalog.pick(switches.model_name or own)

    def _build_summarizers(self, catalog: Catalog, config: AgentConfig) -> FallbackChain | None:
        """Return the models configured in `summarization`, or None to use the run's models."""
        name = config.summarization.model_name
        return self._build_models(catalog, config, catalog.pick(name), RunOptions()) if name else None

    def _build_once(
        self, spec: ModelSpec, wanted: _GraphKey, catalog: Catalog, config: AgentConfig
    ) -> tuple[Graph, bool]:
        """Build a graph once for all simultaneous runs with the same key.

        The flag is False if a model could not be built.
        """
        with self._building:
            last = self._last_built
            if last is not None and last[0] == wanted and last[1] is catalog and last[2] is config:
                return last[3], True
            graph, whole = self._build_graph(spec, wanted, catalog, config)
            self._last_built = (wanted, catalog, config, graph) if whole else None
            return graph, whole

    async def _mcp_tools(self, extensions: Extensions) -> McpToolSet:
        if self._find_pool() is None and not extensions.mcpServers:
            return NO_TOOLS
        return await self.mcp_pool().load_tools(extensions.mcpServers)

    async def _web_tools(self, config: AgentConfig) -> tuple[str, ...]:
        """Return the default web tools that are requested and usable here."""
        wanted = default_web_tools(config)
        found = await self._web.find_tools() if wanted else ()
        return tuple(name for name in found if name in wanted)

    def mcp_pool(self) -> McpPool:
        """Return the MCP pool: the one passed in, the running loop's, or a new one for this loop."""
        return self._find_pool() or self._mcp_pools.get()

    def _find_pool(self) -> McpPool | None:
        return self._mcp or current_pool() or self._mcp_pools.find()

    async def aclose(self) -> None:
        """Stop background work, namely memory and this agent's MCP sessions. Call it on the loop of the
        runs.
        """
        await self.memory.close()
        for pool in (self._mcp, self._mcp_pools.find()):
            if pool is not None:
                await pool.aclose()

    async def close_sandboxes(self) -> None:
        """Close the warm sandboxes. Call it on the loop of the runs, after they have finished.

        A server does not call it, so that the sandboxes are still warm at its next start.
        """
        used = [*self._old_providers, *([self._provider[1]] if self._provider else [])]
        for provider in used:
            try:
                await provider.close()
            except SandboxUnavailable as error:
                log.warning("a sandbox could not be stopped: %s", error)

    def reset(self) -> None:
        """Clear the graph cache, so that the next run builds a new graph."""
        self._graphs.clear()
        self._last_built = None

    async def _memory_settings(self) -> MemoryConfig:
        return (await self._source.config()).memory

    async def _read_profile(self, name: str | None) -> CustomAgent | None:
        if name is None:
            return None
        return await asyncio.to_thread(read_custom_agent, self._home, name, os.environ)

    def _build_graph(
        self, spec: ModelSpec, wanted: _GraphKey, catalog: Catalog, config: AgentConfig
    ) -> tuple[Graph, bool]:
        """Return the graph and whether all its models could be built; if not, the next run retries."""
        profile = wanted.profile
        line = self._build_models(catalog, config, spec, wanted.options)
        spec, model = line.models[0]
        switches = fit_options(spec, wanted.options, degrade=True)
        writers = self._build_summarizers(catalog, config) if config.summarization.enabled else None
        delegates = self._build_subagent_models(catalog, config)
        tools = self._load_tools(config, wanted) if spec.supports_tools else []
        skills = _visible_skills(wanted, profile)
        parts = ChainParts(
            *(config, spec, switches, ThreadFolders(self._home), self.memory),
            sandbox=self._sandbox_provider(config),
            sandbox_tools=sandbox_tools_for(config, profile),
            fallbacks=line.models[1:],
            summarizers=[one for _, one in writers.models] if writers else (),
            title_model=self._build_title_model(catalog, config),
            always_shown=always_shown(tools),
            subagents_model=model,
            subagent_models={name: one.models for name, one in delegates.items() if one},
            briefing=SubagentBriefing(skills),
            skills=SkillScope(config.skills.container_path, skills) if switches.allowed_skills else None,
            tools=tools,
            config_file=self._source.config_file,
            today=self._today,
            failing=catalog.failing,
        )
        chain = build_chain(parts, self._additions.features, self._additions.extra_middleware)
        built_in = [tool.name for one in chain for tool in middleware_tools(one)]
        tools = without_built_in(tools, built_in)
        names = [*(tool.name for tool in tools), *built_in]
        prompt = PromptParts(
            names,
            in_chat=switches.in_chat,
            memory=any(isinstance(one, MemoryMiddleware) for one in chain),
            skills=render_skills_section(skills, names),
            acp=render_acp_section(enabled_agents(config.acp_agents), names),
            personality=profile.personality if profile else "",
        )
        is_small = spec.context_tokens is not None
        graph = create_agent_graph(
            model,
            tools,
            system_prompt=render_short_prompt(prompt) if is_small else render_prompt(prompt),
            middleware=chain,
            checkpointer=self._additions.checkpointer,
            name="lead_agent",
        )
        others = [one is not None and one.complete for one in delegates.values()]
        return graph, all((line.complete, writers is None or writers.complete, *others))

    def _load_tools(self, config: AgentConfig, wanted: _GraphKey) -> list[BaseTool]:
        web = [DEFAULT_ENTRIES[name] for name in wanted.web]
        return agent_tools(config, wanted.profile, wanted.mcp, self._acp, web)

    def _build_subagent_models(
        self, catalog: Catalog, config: AgentConfig
    ) -> Mapping[str, FallbackChain | None]:
        """Return the models of subagent types by name; None for one that can't be built."""
        if not config.subagents.enabled:
            return {}
        built: dict[str, FallbackChain | None] = {}
        kinds = config.subagents.types.values()
        for name in {kind.model_name for kind in kinds if kind.enabled and kind.model_name is not None}:
            try:
                built[name] = self._build_models(catalog, config, catalog.pick(name), RunOptions())
            except ModelError as error:
                log.warning("a subagent's model is not available: %s", error)
                built[name] = None
        return built

    def _build_title_model(self, catalog: Catalog, config: AgentConfig) -> BaseChatModel | None:
        """Return the model configured in `title`; None if there is none or it can't be built."""
        if not config.title.enabled or config.title.model_name is None:
            return None
        spec = catalog.pick(config.title.model_name)
        try:
            return self._make_model(spec)
        except ModelUnavailable as error:
            log.warning("the title model %s is not available: %s", spec.name, error)
            return None

    def _sandbox_provider(self, config: AgentConfig) -> SandboxProvider:
        """Return the configured provider; one for all graphs, since it tracks the acquired sandboxes."""
        wanted = (config.sandbox, config.skills)
        if self._provider is None or self._provider[0] != wanted:
            folders = UploadStore(ThreadFolders(self._home)).folders
            roots = self._skills.resolve_roots(config.skills)
            shared = {f"{roots.container}/{category}": roots.folder_of(category) for category in CATEGORIES}
            around = Surroundings(folders, self._home.absolute(), shared)
            made = load_provider(config.sandbox.use, around, config.sandbox.extra_arguments())
            if self._provider is not None:
                self._old_providers.append(self._provider[1])
            self._provider = (wanted, made)
        return self._provider[1]

    def _build_models(
        self, catalog: Catalog, config: AgentConfig, spec: ModelSpec, switches: RunOptions
    ) -> FallbackChain:
        def make(one: ModelSpec) -> BaseChatModel:
            fit = fit_options(one, switches, degrade=True)
            return self._make_model(one, thinking=fit.thinking, effort=fit.effort)

        others = [name for name in config.model_calls.fallback_models if name != spec.name]
        return build_fallback_chain([spec, *map(catalog.pick, others)], make)


def _visible_skills(wanted: _GraphKey, profile: CustomAgent | None) -> Sequence[Skill]:
    names, allows = None if profile is None else profile.skills, wanted.options.allows_skill
    return [one for one in wanted.skills.skills if (names is None or one.name in names) and allows(one.name)]


def fit_options(spec: ModelSpec, switches: RunOptions, *, degrade: bool) -> RunOptions:
    """Drop the options that the model does not support; raise ModelUnavailable unless `degrade`."""
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
_compactions: dict[Path, Graph] = {}


async def make_lead_agent(config: RunnableConfig) -> Graph:
    """Return the graph for a run; `configurable` contains the run options.

    The configuration comes from `ROEBOT_CONFIG_PATH`, `./config.yaml` or `../config.yaml`, the data directory
    from `ROEBOT_HOME`. Raises ModelUnknown (listing the known names), ModelUnavailable or ConfigErrors.
    """
    return await get_lead_agent(home_from_environment()).get_graph(
        RunOptions.of(config.get("configurable") or {})
    )


async def make_compaction_graph(_: RunnableConfig) -> Graph:
    """Return the graph that summarizes a thread of the lead agent; its run builds the models.

    LangGraph's own server passes one argument to every factory.
    """
    home = home_from_environment()
    if home not in _compactions:
        agent = get_lead_agent(home)
        _compactions[home] = build_compaction_graph(agent.prepare_summaries, agent.load_limits)
    return _compactions[home]


def get_lead_agent(home: Path) -> LeadAgent:
    """Return this process's lead agent for a data directory, using its registered configuration."""
    if home not in _agents:
        _agents[home] = LeadAgent(find_source(home), home, extensions=ExtensionsSource())
    return _agents[home]
