"""The lead agent's chain as the configuration has it: its features, and what stands around model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from agent.config.harness import GuardrailsConfig
from agent.config.models import AgentConfig
from agent.core.interfaces.memory import MemoryStore
from agent.core.interfaces.sandbox import SandboxProvider
from agent.core.run_options import Switches
from agent.features import Middleware, RuntimeFeatures
from agent.guardrails.loading import load_provider
from agent.harness.assembly import assemble, tools_of
from agent.harness.subagent_chain import subagent_chain
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.memory import MemoryMiddleware, remembering
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.middleware.summarization import BeforeCut, SummarizationMiddleware
from agent.middleware.thread_data import ThreadDataMiddleware
from agent.middleware.title import PROMPT as TITLE_PROMPT
from agent.middleware.title import TitleMiddleware
from agent.middleware.uploads import UploadsMiddleware
from agent.middleware.view_image import ViewImageMiddleware
from agent.models.calls import ModelCalls
from agent.models.capabilities import FitsFallbacks, fitting_for
from agent.models.retry import ModelAttempts
from agent.models.spec import ModelSpec
from agent.sandbox.local import LocalSandboxProvider
from agent.subagents.runner import GraphSubagents
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import ShowLimits
from agent.uploads.store import UploadStore


@dataclass(frozen=True, slots=True)
class Parts:
    """What a chain is made from: `fallbacks` come with their built models; `summarizers` write summaries in
    turn where one is configured.

    `sandbox` None is the local one; `sandbox_tools` None are all that it brings. `always_shown` None: the
    model sees all tools; else the names of those that are not left to a search. `subagents_model` and `tools`
    are what subagents work with; without that model there are none.
    """

    config: AgentConfig
    spec: ModelSpec
    switches: Switches
    folders: ThreadFolders
    memory: MemoryStore
    sandbox: SandboxProvider | None = None
    sandbox_tools: Sequence[BaseTool] | None = None
    fallbacks: Sequence[tuple[ModelSpec, BaseChatModel]] = ()
    summarizers: Sequence[BaseChatModel] = ()
    always_shown: Sequence[str] | None = None
    subagents_model: BaseChatModel | None = None
    tools: Sequence[BaseTool] = ()


def chain_of(
    parts: Parts, features: RuntimeFeatures | None = None, extra: Sequence[Middleware] = ()
) -> list[Middleware]:
    """The chain, outermost first. `features` stand for those of the configuration where they are given.

    A model without tools gets no middleware that brings some. Blocking. Raises ValueError for extras that
    find no place, GuardrailUnavailable for a provider that can't be made.
    """
    wanted = features or features_of(parts)
    files = UploadsMiddleware(
        store=UploadStore(parts.folders), limits=ShowLimits(vision=parts.spec.supports_vision)
    )
    chain = assemble(
        wanted,
        extra,
        plan_mode=parts.switches.plan_mode,
        given=_given(parts, wanted) | {"uploads": files},
        inner=_around_calls(parts),
    )
    if wanted.sandbox is False:
        # People send files whether there is a sandbox or not.
        chain = [files, *chain]
    return chain if parts.spec.supports_tools else [one for one in chain if not tools_of(one)]


def features_of(parts: Parts) -> RuntimeFeatures:
    """The features that configuration, model and switches ask for."""
    config, spec = parts.config, parts.spec
    sandbox = config.sandbox.enabled
    return RuntimeFeatures(
        sandbox=sandbox,
        memory=config.memory.enabled and spec.context_tokens is None,
        summarization=config.summarization.enabled,
        subagent=_delegates(parts, has_tools=sandbox or bool(parts.tools)),
        vision=spec.supports_vision,
        auto_title=config.title.enabled and spec.context_tokens is None,
        guardrail=config.guardrails.enabled,
        deferred_tools=parts.always_shown is not None,
        steering=parts.switches.steerable,
    )


def _delegates(parts: Parts, *, has_tools: bool) -> bool:
    """Whether there are subagents: when asked for, else where they would have tools."""
    wanted = parts.switches.subagents
    able = parts.spec.supports_tools and parts.config.subagents.enabled
    return able and (has_tools if wanted is None else wanted)


def _given(parts: Parts, features: RuntimeFeatures) -> dict[str, Middleware]:
    """The built-in middleware as the configuration and the disk have it, by slot."""
    given = {**_configured(parts, features), **_on_disk(parts)}
    if features.subagent is not False and parts.subagents_model is not None:
        config = parts.config.subagents
        runner = GraphSubagents(
            parts.subagents_model,
            parts.tools,
            middleware=[*subagent_chain(features, given), *_around_calls(parts)],
            at_once=config.max_concurrent,
            seconds=config.timeout_seconds,
        )
        given["subagent_limit"] = SubagentLimitMiddleware(most=config.max_concurrent, runner=runner)
    return given


def _configured(parts: Parts, features: RuntimeFeatures) -> dict[str, Middleware]:
    """The built-in middleware that has parameters in the configuration, by slot."""
    title = parts.config.title
    made: dict[str, Middleware] = {
        "memory": MemoryMiddleware(store=parts.memory),
        "title": TitleMiddleware(
            max_words=title.max_words,
            max_chars=title.max_chars,
            prompt_template=title.prompt_template or TITLE_PROMPT,
        ),
    }
    if features.summarization is True:
        before_cut = remembering(parts.memory) if features.memory is True else None
        made["summarization"] = _summarization(parts, before_cut)
    if features.sandbox is False:
        # Its tool opens files of the sandbox.
        made["view_image"] = ViewImageMiddleware(tools=())
    if features.deferred_tools is True:
        made["deferred_tools"] = DeferredToolFilterMiddleware(always=parts.always_shown or ())
    if features.guardrail is True:
        made["guardrail"] = _guardrail(parts.config.guardrails)
    return made


def _on_disk(parts: Parts) -> dict[str, Middleware]:
    """The built-in middleware that works with the thread's folders, by slot."""
    store = UploadStore(parts.folders)
    provider = parts.sandbox or LocalSandboxProvider(store.folders)
    return {
        "thread_data": ThreadDataMiddleware(store=store),
        "sandbox": SandboxMiddleware(provider=provider, tools=parts.sandbox_tools),
    }


def _around_calls(parts: Parts) -> list[Middleware]:
    """What stands around the model itself: fits the messages to it, tries again, names what went wrong."""
    spec = parts.spec
    strict = not parts.config.allow_degradation
    chain = fitting_for(spec, strict=strict)
    others = [model for _, model in parts.fallbacks]
    if parts.config.model_calls.retries or others:
        chain.append(_attempts(parts.config, others))
    if parts.fallbacks:
        chain.append(FitsFallbacks([spec for spec, _ in parts.fallbacks], strict=strict))
    return [*chain, ModelCalls(model_name=spec.name)]


def _attempts(config: AgentConfig, others: Sequence[BaseChatModel]) -> ModelAttempts:
    calls = config.model_calls
    return ModelAttempts(retries=calls.retries, delay=calls.retry_delay_seconds, fallbacks=others)


def _summarization(parts: Parts, before_cut: BeforeCut | None) -> Middleware:
    config = parts.config.summarization
    fallbacks = [model for _, model in parts.fallbacks]
    return SummarizationMiddleware(
        model=parts.summarizers[0] if parts.summarizers else None,
        attempts=_attempts(parts.config, parts.summarizers[1:] if parts.summarizers else fallbacks),
        trigger=[size.pair() for size in config.trigger],
        keep=config.keep.pair(),
        before_cut=before_cut,
    )


def _guardrail(config: GuardrailsConfig) -> Middleware:
    provider = config.provider
    return GuardrailMiddleware(provider=load_provider(provider.use, provider.passed_on()))
