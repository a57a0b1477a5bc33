"""The lead agent's configured chain: its features and the middleware around model calls.

Every `before_*` and `after_*` hook is a graph step that writes a checkpoint. Middleware therefore wraps the
model or tool call, and has a hook only if its contract is to write state before others run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from agent.config.models import AgentConfig
from agent.core.interfaces import MemoryStore, SandboxProvider
from agent.core.run_context import RunOptions
from agent.features import Middleware, RuntimeFeatures
from agent.guardrails.forbidden_commands import ForbiddenCommands
from agent.guardrails.providers import AllowlistProvider, load_guardrail
from agent.harness.assembly import assemble_chain, middleware_tools
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.harness.subagent_prompt import SubagentBriefing
from agent.harness.subagent_types import configure_types
from agent.middleware.blocking_hooks import with_async_hooks
from agent.middleware.conversation import ConversationMiddleware
from agent.middleware.current_date import CurrentDateMiddleware, utc_today
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.loop_detection import LoopDetectionMiddleware
from agent.middleware.memory import MemoryMiddleware, make_recorder
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.repair import AnswerRepairMiddleware, CallRepairMiddleware
from agent.middleware.requested_skills import RequestedSkillsMiddleware
from agent.middleware.run_limits import RunEndMiddleware, RunLimitsMiddleware
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.middleware.summarization import BeforeCut, SummarizationMiddleware
from agent.middleware.thread_files import ThreadDataMiddleware, UploadsMiddleware, ViewImageMiddleware
from agent.middleware.title import PROMPT as TITLE_PROMPT
from agent.middleware.title import TitleMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.middleware.tool_order import ToolOrderMiddleware
from agent.middleware.tool_results import ToolResultMiddleware
from agent.middleware.transcripts import Transcripts
from agent.models.calls import ModelCalls
from agent.models.capabilities import FallbackCapabilities, capability_middleware
from agent.models.guide_spec import CLASS as GUIDE
from agent.models.prompt_caching import PromptCachingMiddleware
from agent.models.retry import ModelRetry
from agent.models.spec import ModelSpec
from agent.sandbox.local import LocalSandboxProvider
from agent.shared.schemas import Failing
from agent.skills.skill import READER_TOOLS, SkillScope
from agent.subagents.runner import GraphSubagents
from agent.tools.sandbox import sandbox_tools
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import ShowLimits
from agent.uploads.store import UploadStore

BuiltModel = tuple[ModelSpec, BaseChatModel]


@dataclass(frozen=True, slots=True)
class ChainParts:
    """Input of a chain. `fallbacks` come with their built models; `summarizers` write summaries in order.

    `title_model` writes titles (None: they are the first words). `sandbox` None means the local one;
    `sandbox_tools` None means all of its tools. `always_shown` names the tools that need no search; None
    shows all tools to the model. `subagents_model`, `tools` and `briefing` are for subagents; without that
    model there are none. `subagent_models` are those of types with a model of their own, by its name, each
    before its fallbacks. `skills` None means that all skills may be opened. `failing`
    is that of the catalogue.
    """

    config: AgentConfig
    spec: ModelSpec
    options: RunOptions
    folders: ThreadFolders
    memory: MemoryStore
    sandbox: SandboxProvider | None = None
    sandbox_tools: Sequence[BaseTool] | None = None
    fallbacks: Sequence[BuiltModel] = ()
    summarizers: Sequence[BaseChatModel] = ()
    title_model: BaseChatModel | None = None
    always_shown: Sequence[str] | None = None
    subagents_model: BaseChatModel | None = None
    config_file: Path | None = None
    tools: Sequence[BaseTool] = ()
    subagent_models: Mapping[str, Sequence[BuiltModel]] = field(default_factory=dict)
    briefing: SubagentBriefing = field(default_factory=SubagentBriefing)
    skills: SkillScope | None = None
    today: Callable[[], date] = utc_today
    failing: dict[str, Failing] = field(default_factory=dict)


def build_chain(
    parts: ChainParts, features: RuntimeFeatures | None = None, extra: Sequence[Middleware] = ()
) -> list[Middleware]:
    """Return the chain, outermost first; `features` override the configured ones.

    A model without tool support gets no middleware that brings tools. Blocking. Raises ValueError for extras
    that cannot be placed, GuardrailUnavailable for a provider that cannot be created.
    """
    wanted = features or select_features(parts)
    files = UploadsMiddleware(
        store=UploadStore(parts.folders), limits=ShowLimits(vision=parts.spec.supports_vision)
    )
    chain = assemble_chain(
        wanted,
        extra,
        plan_mode=parts.options.plan_mode,
        defaults=_build_defaults(parts, wanted) | {"uploads": files},
        inner=[
            # Small models always have the current date: their conversations are too short to be cached.
            CurrentDateMiddleware(today=parts.today, is_fixed=parts.spec.context_tokens is None),
            *([] if parts.spec.context_tokens else [RequestedSkillsMiddleware(parts.briefing.skills)]),
            *_build_tripwire(parts, wanted),
            *_build_call_middleware(parts.config, parts.spec, parts.fallbacks, parts.failing),
        ],
    )
    if wanted.sandbox is False:
        # People can send files even without a sandbox.
        chain = [files, *chain]
    return chain if parts.spec.supports_tools else [one for one in chain if not middleware_tools(one)]


def select_features(parts: ChainParts) -> RuntimeFeatures:
    """Return the features requested by configuration, model and run options."""
    config, spec = parts.config, parts.spec
    sandbox = config.sandbox.enabled
    return RuntimeFeatures(
        sandbox=sandbox,
        memory=config.memory.enabled and spec.context_tokens is None,
        summarization=config.summarization.enabled and spec.context_tokens is None,
        subagent=_has_subagents(parts, has_tools=sandbox or bool(parts.tools)),
        vision=spec.supports_vision,
        auto_title=config.title.enabled and spec.context_tokens is None,
        guardrail=config.guardrails.enabled or spec.use == GUIDE,
        deferred_tools=parts.always_shown is not None,
        steering=parts.options.steerable,
    )


def _has_subagents(parts: ChainParts, *, has_tools: bool) -> bool:
    """Return whether to offer subagents: as requested, by default only if they would have tools."""
    wanted = parts.options.subagents
    able = parts.spec.supports_tools and parts.config.subagents.enabled
    return able and (has_tools if wanted is None else wanted)


def _build_defaults(parts: ChainParts, features: RuntimeFeatures) -> dict[str, Middleware]:
    """Return the configured built-in middleware by name."""
    given = _build_configured(parts, features)
    if features.subagent is not False and parts.subagents_model is not None:
        runner = _build_subagents(parts, features, given, (parts.spec, parts.subagents_model))
        most = parts.config.subagents.max_concurrent
        given["subagent_limit"] = SubagentLimitMiddleware(at_once=most, runner=runner)
    return given


def _build_subagents(
    parts: ChainParts, features: RuntimeFeatures, given: Mapping[str, Middleware], own: BuiltModel
) -> GraphSubagents:
    """Return the runner of the configured types; `own` is the default model for types."""
    config = parts.config.subagents

    def with_middleware(models: Sequence[BuiltModel], *, vision: bool) -> SubagentModel:
        (spec, model), others = models[0], models[1:]
        chain = _build_call_middleware(parts.config, spec, others, parts.failing)
        return SubagentModel(model, chain, spec.supports_tools, sees_images=vision)

    needed = SubagentParts(
        with_middleware([own, *parts.fallbacks], vision=features.vision is not False),
        parts.tools,
        [
            *subagent_chain(features, given, summarization=_subagent_summarization(parts, features)),
            CurrentDateMiddleware(today=parts.today),
            *_build_tripwire(parts, features),
        ],
        {
            name: with_middleware(models, vision=models[0][0].supports_vision)
            for name, models in parts.subagent_models.items()
        },
        parts.briefing,
        given.get("deferred_tools"),
        has_sandbox=features.sandbox is not False,
    )
    return GraphSubagents(
        SubagentGraphs(needed, configure_types(config)),
        max_concurrent=config.max_concurrent,
        seconds=config.timeout_seconds,
    )


def _build_configured(parts: ChainParts, features: RuntimeFeatures) -> dict[str, Middleware]:
    """Return the built-in middleware with configurable parameters, by name."""
    title = parts.config.title
    made: dict[str, Middleware] = {
        # Small models have a prompt of one line.
        "conversation": ConversationMiddleware(enabled=parts.spec.context_tokens is None),
        "memory": MemoryMiddleware(store=parts.memory),
        "thread_data": ThreadDataMiddleware(store=UploadStore(parts.folders)),
        "sandbox": SandboxMiddleware(provider=_find_provider(parts), tools=parts.sandbox_tools),
        "title": TitleMiddleware(
            model=parts.title_model,
            max_words=title.max_words,
            max_chars=title.max_chars,
            prompt_template=title.prompt_template or TITLE_PROMPT,
        ),
    }
    if features.run_limits is True:
        made["run_limits"] = RunLimitsMiddleware(
            limits=parts.config.run_limits.to_limits(parts.config.prices)
        )
    if features.summarization is True:
        made["summarization"] = _build_lead_summarization(parts, features)
    if features.sandbox is False:
        # Its tool opens files of the sandbox.
        made["view_image"] = ViewImageMiddleware(tools=())
    if features.deferred_tools is True:
        made["deferred_tools"] = DeferredToolFilterMiddleware(always=parts.always_shown or ())
    if features.guardrail is True:
        made["guardrail"] = _build_guardrail(parts)
    return made


def _build_call_middleware(
    config: AgentConfig, spec: ModelSpec, fallbacks: Sequence[BuiltModel], failing: dict[str, Failing]
) -> list[Middleware]:
    """Return the middleware around the model: capabilities, retries, error mapping, caching."""
    strict = not config.allow_degradation
    chain = capability_middleware(spec, strict=strict)
    others = [model for _, model in fallbacks]
    if config.model_calls.retries or others:
        chain.append(_build_retry(config, others))
    if fallbacks:
        chain.append(FallbackCapabilities([one for one, _ in fallbacks], strict=strict))
    chain.append(ModelCalls(model_name=spec.name, failing=failing))
    if config.prompt_caching.enabled:
        chain.append(PromptCachingMiddleware(lifetime=config.prompt_caching.lifetime))
    return chain


def _build_retry(config: AgentConfig, others: Sequence[BaseChatModel]) -> ModelRetry:
    calls = config.model_calls
    return ModelRetry(retries=calls.retries, delay=calls.retry_delay_seconds, fallbacks=others)


def build_summarization(
    config: AgentConfig,
    *,
    fallbacks: Sequence[BaseChatModel] = (),
    writers: Sequence[BaseChatModel] = (),
    before_cut: BeforeCut | None = None,
    transcripts: Transcripts | None = None,
) -> SummarizationMiddleware:
    """Return the configured summarization. The `writers` are tried in order; without any, the run's model and
    its `fallbacks`.
    """
    sizes = config.summarization
    return SummarizationMiddleware(
        model=writers[0] if writers else None,
        attempts=_build_retry(config, writers[1:] if writers else fallbacks),
        trigger=[size.as_tuple() for size in sizes.trigger],
        keep=sizes.keep.as_tuple(),
        before_cut=before_cut,
        transcripts=transcripts,
        skills_root=config.skills.container_path,
    )


def make_transcripts(provider: SandboxProvider | None, tools: Sequence[BaseTool]) -> Transcripts | None:
    """Return the transcripts for an agent with these sandbox tools; None if it could not read them."""
    can_read = any(tool.name in READER_TOOLS for tool in tools)
    return Transcripts(provider) if provider is not None and can_read else None


def _build_lead_summarization(parts: ChainParts, features: RuntimeFeatures) -> SummarizationMiddleware:
    tools = sandbox_tools() if parts.sandbox_tools is None else parts.sandbox_tools
    has_sandbox = features.sandbox is True and parts.spec.supports_tools
    return _build_own_summarization(
        parts,
        before_cut=make_recorder(parts.memory) if features.memory is True else None,
        transcripts=make_transcripts(_find_provider(parts), tools) if has_sandbox else None,
    )


def _find_provider(parts: ChainParts) -> SandboxProvider:
    return parts.sandbox or LocalSandboxProvider(UploadStore(parts.folders).folders)


def _build_own_summarization(
    parts: ChainParts, *, before_cut: BeforeCut | None = None, transcripts: Transcripts | None = None
) -> SummarizationMiddleware:
    return build_summarization(
        parts.config,
        fallbacks=[model for _, model in parts.fallbacks],
        writers=parts.summarizers,
        before_cut=before_cut,
        transcripts=transcripts,
    )


def _subagent_summarization(parts: ChainParts, features: RuntimeFeatures) -> Middleware | None:
    """Return the summarization for subagents, which does not update people's memory and leaves no
    transcripts.
    """
    if features.summarization is True:
        return _build_own_summarization(parts)
    return default_subagent_summarization(features)


def default_subagent_summarization(features: RuntimeFeatures) -> Middleware | None:
    """Return the default summarization for subagents; None for an agent without summaries."""
    return None if features.summarization is False else SummarizationMiddleware()


def _build_guardrail(parts: ChainParts) -> Middleware:
    config = parts.config.guardrails
    shows_approvals = parts.spec.use == GUIDE and not config.enabled
    provider = (
        AllowlistProvider(ask=["bash"])
        if shows_approvals
        else load_guardrail(config.provider.use, config.provider.extra_arguments())
    )
    return GuardrailMiddleware(
        provider=provider,
        forbidden=_forbidden_commands(parts),
        skills=parts.skills,
    )


def _build_tripwire(parts: ChainParts, features: RuntimeFeatures) -> list[Middleware]:
    """Return the middleware that refuses denied tools and skills, for an agent whose guardrail does not. It
    also refuses forbidden commands if the agent has a sandbox but no guardrail.
    """
    if features.guardrail is True or isinstance(features.guardrail, GuardrailMiddleware):
        return []
    is_checked = features.guardrail is False and features.sandbox is not False
    forbidden = _forbidden_commands(parts) if is_checked else ForbiddenCommands(())
    return [GuardrailMiddleware(forbidden=forbidden, skills=parts.skills)]


def _forbidden_commands(parts: ChainParts) -> ForbiddenCommands:
    rules = parts.config.guardrails.forbidden_commands
    return ForbiddenCommands(rules, data=parts.folders.home, config=parts.config_file)


SHARED = frozenset({"thread_data", "sandbox", "guardrail", "run_limits"})
"""Slots whose middleware the lead agent shares with its subagents."""


def subagent_chain(
    features: RuntimeFeatures, given: Mapping[str, Middleware], *, summarization: Middleware | None
) -> list[Middleware]:
    """Return the subagents' chain for an agent with these features.

    Subagents work in the lead agent's thread, folders and sandbox, which only the lead agent's run releases.
    Its guardrail, also one of another class, decides about their calls too, and they count for the limits of
    its run. `summarization` shortens their own conversations; None lets them grow.
    """
    chain: list[Middleware] = [ToolOrderMiddleware()]
    limits = given["run_limits"] if features.run_limits is True else features.run_limits
    if isinstance(limits, RunLimitsMiddleware):
        chain.append(limits)
    if features.sandbox is not False:
        chain.append(given["thread_data"])
        sandbox = given["sandbox"] if features.sandbox is True else features.sandbox
        if isinstance(sandbox, SandboxMiddleware):
            chain.append(sandbox.for_subagents())
    chain.append(CallRepairMiddleware())
    if features.guardrail is not False:
        chain.append(given["guardrail"] if features.guardrail is True else features.guardrail)
    chain = [with_async_hooks(one) for one in chain]
    chain.append(ToolErrorHandlingMiddleware())
    if summarization is not None:
        chain.append(summarization)
    chain += [TokenUsageMiddleware(), ToolResultMiddleware()]
    if features.loop_detection is not False:
        chain.append(LoopDetectionMiddleware())
    if isinstance(limits, RunLimitsMiddleware):
        chain.append(RunEndMiddleware())
    return [*chain, AnswerRepairMiddleware()]
