"""Build a model and its fallbacks; models that cannot be built are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog
from langchain_core.language_models import BaseChatModel

from agent.errors import ModelUnavailable
from agent.models.spec import ModelSpec

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FallbackChain:
    """At least one model with its spec. `complete` is false if one had to be skipped."""

    models: Sequence[tuple[ModelSpec, BaseChatModel]]
    complete: bool


def build_fallback_chain(
    specs: Iterable[ModelSpec], make: Callable[[ModelSpec], BaseChatModel]
) -> FallbackChain:
    """Build the models. Blocking. Raises the first ModelUnavailable if none can be built."""
    made: list[tuple[ModelSpec, BaseChatModel]] = []
    failed: list[ModelUnavailable] = []
    for spec in specs:
        try:
            made.append((spec, make(spec)))
        except ModelUnavailable as error:
            failed.append(error)
            log.warning("model_left_out", model=spec.name, detail=str(error))
    if not made:
        raise failed[0]
    return FallbackChain(made, not failed)
