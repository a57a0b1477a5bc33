"""Asks a model for a word, to see whether it can be used."""

from __future__ import annotations

import asyncio
import time

from langchain_core.messages import HumanMessage

from agent.models.calls import incomplete
from agent.models.errors import ProviderFailure, describe, failure
from agent.models.resolve import build
from agent.models.spec import ModelSpec
from agent.results import ModelProbe

SECONDS = 30.0
QUESTION = "Reply with the word OK."


async def probe(spec: ModelSpec, *, seconds: float = SECONDS) -> ModelProbe:
    """Build the model and let it answer; it costs a few tokens. Raises nothing that a model may."""
    began = time.monotonic()
    found = await _failure(spec, seconds)
    took = round(time.monotonic() - began, 3)
    return ModelProbe(name=spec.name, ok=found is None, detail=found.message if found else None, seconds=took)


async def _failure(spec: ModelSpec, seconds: float) -> ProviderFailure | None:
    try:
        model = await asyncio.to_thread(build, spec)
        async with asyncio.timeout(seconds):
            answer = await model.ainvoke([HumanMessage(QUESTION)])
    except Exception as error:  # noqa: BLE001 - supervisor: a provider's package may raise anything; it is named
        return describe(error, model=spec.name)
    problem = incomplete(answer)
    return failure(problem, model=spec.name) if problem else None
