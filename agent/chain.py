"""The lead agent's chain as the configuration has it: its features, and what stands around model calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from agent.assembly import assemble, tools_of
from agent.config.harness import GuardrailsConfig
from agent.config.models import AgentConfig
from agent.features import Middleware, RuntimeFeatures
from agent.guardrails.loading import load_provider
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.memory import MemoryMiddleware, remembering
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.summarization import BeforeCut, SummarizationMiddleware
from agent.middleware.thread_data import ThreadDataMiddleware
from agent.middleware.title import PROMPT as TITLE_PROMPT
from agent.middleware.title import TitleMiddleware
from agent.middleware.uploads import UploadsMiddleware
from agent.models.attempts import ModelAttempts
from agent.models.calls import ModelCalls
from agent.models.fitting import FitsFallbacks, fitting_for
from agent.models.spec import ModelSpec
from agent.ports.memory import MemoryStore
from agent.sandbox.local import LocalSandboxProvider
from agent.switches import Switches
from agent.uploads.folders import ThreadFolders
from agent.uploads.shown import ShowLimits
from agent.uploads.store import UploadStore


@dataclass(frozen=True, slots=True)
class Parts:
    """What a chain is made from: `fallbacks` come with their built models; `summarizers` write summaries in
    turn where one is configured.
    """

    config: AgentConfig
    spec: ModelSpec
    switches: Switches
    folders: ThreadFolders
    memory: MemoryStore
    fallbacks: Sequence[tuple[ModelSpec, BaseChatModel]] = ()
    summarizers: Sequence[BaseChatModel] = ()


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
        given={**_configured(parts, wanted), **_on_disk(parts.folders), "uploads": files},
        inner=_around_calls(parts),
    )
    if wanted.sandbox is False:
        # People send files whether there is a sandbox or not.
        chain = [files, *chain]
    return chain if parts.spec.supports_tools else [one for one in chain if not tools_of(one)]


def features_of(parts: Parts) -> RuntimeFeatures:
    """The features that configuration, model and switches ask for."""
    config, spec = parts.config, parts.spec
    return RuntimeFeatures(
        sandbox=False,
        summarization=config.summarization.enabled,
        subagent=parts.switches.subagents,
        vision=spec.supports_vision,
        auto_title=config.title.enabled and spec.context_tokens is None,
        guardrail=config.guardrails.enabled,
    )


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
    if features.guardrail is True:
        made["guardrail"] = _guardrail(parts.config.guardrails)
    return made


def _on_disk(folders: ThreadFolders) -> dict[str, Middleware]:
    """The built-in middleware that works with the thread's folders, by slot."""
    store = UploadStore(folders)
    return {
        "thread_data": ThreadDataMiddleware(store=store),
        "sandbox": SandboxMiddleware(provider=LocalSandboxProvider(store.folders)),
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
