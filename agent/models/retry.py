"""Retries of a failed model call, followed by fallback models. No other layer retries.

Nested layers multiply, and the inner calls appear in no log, so model classes get `max_retries: 0`.
LangChain's ModelRetryMiddleware supports neither Retry-After nor an injected sleep, and does not know what
people have seen. OpenAI's and Anthropic's clients report no tokens for interrupted streams.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import structlog
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelFallbackMiddleware,
)
from langchain_core.language_models import BaseChatModel
from langgraph.types import Command

from agent.core.model_request import AnyResponse, Handler, Request, Response, with_note
from agent.errors import ModelCallFailed
from agent.models.errors import MAX_WAIT
from agent.models.failure_texts import Category
from agent.models.resolve import get_model_name
from agent.models.visible_output import VisibleOutput, replace_message

log = structlog.get_logger(__name__)
RETRIES = 2
EMPTY_ANSWER = "Your answer was empty; tell the result."
DELAY = 1.0
STANDBY_MAX_WAIT = 10.0
"""Seconds that a provider is waited for while another model could answer."""


class ModelRetry(AgentMiddleware[Any, Any]):
    """Retries a failed call up to `retries` times per model, then tries `fallbacks` in order.

    Only known, temporary failures are retried (see `agent.models.errors`). Before each retry it waits `delay`
    seconds, doubled each time, or as long as the provider asks, plus up to a quarter at random. A provider
    that asks for more than `MAX_WAIT` (`STANDBY_MAX_WAIT` while a fallback is left) is not waited for. A
    model whose class retries itself (`max_retries` above 0) is called once. langchain's
    ModelFallbackMiddleware iterates over the models; every failure counts.

    An empty answer is asked for once more, with a note: the same request would mostly get the same answer.

    Text that was streamed before a failure stays visible: later attempts are not streamed, and their answer
    has the id of the truncated message, which it replaces. The usage of failed attempts is added if one
    succeeds. Hook: `wrap_model_call`, around `agent.models.calls.ModelCalls`, which classifies the failures.
    Raises the last ModelCallFailed.
    """

    def __init__(
        self,
        *,
        retries: int = RETRIES,
        delay: float = DELAY,
        fallbacks: Sequence[BaseChatModel] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` returns numbers from 0 to 1."""
        super().__init__()
        self._retries, self._delay = retries, delay
        self._sleep, self._chance = sleep, chance
        self._last = fallbacks[-1] if fallbacks else None
        self._fallbacks = ModelFallbackMiddleware(*fallbacks) if fallbacks else None

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        shown = VisibleOutput()

        async def persistently(inner: Request) -> Response:
            if inner.model is not request.model:
                log.warning(
                    "model_fallback",
                    model=get_model_name(inner.model),
                    instead_of=get_model_name(request.model),
                )
            return await self._call_with_retries(inner, handler, shown)

        if self._fallbacks is None:
            response = await persistently(request)
        else:
            # It returns what `persistently` does.
            response = await self._fallbacks.awrap_model_call(request, persistently)  # type: ignore[assignment]
        if shown.failed_usage is None:
            return response
        return ExtendedModelResponse(response, command=Command(update={"usage": shown.failed_usage}))

    async def _call_with_retries(self, request: Request, handler: Handler, shown: VisibleOutput) -> Response:
        tries, asked_again = 0, False
        while True:
            try:
                with shown.watch_attempt() as place:
                    response = await handler(request)
                return response if place is None else replace_message(response, place)
            except ModelCallFailed as error:
                shown.record_failure()
                if error.category == Category.EMPTY:
                    if asked_again or not self._retries:
                        raise
                    asked_again, request = True, with_note(request, EMPTY_ANSWER, "empty_answer")
                    log.warning("model_answer_empty", model=get_model_name(request.model))
                    continue
                pause = self._next_delay(request.model, tries, error)
                if pause is None:
                    raise
                category = str(error.category)
            tries += 1
            model = get_model_name(request.model)
            log.warning("model_call_again", model=model, category=category, retry=tries, seconds=pause)
            await self._sleep(pause)

    def _next_delay(self, model: BaseChatModel, tries: int, error: ModelCallFailed) -> float | None:
        """Return the seconds before the next retry; None if there is none."""
        own = getattr(model, "max_retries", None) or 0
        if own > 0 or tries >= self._retries or not error.retryable or error.category == Category.UNEXPECTED:
            return None
        standby = self._last is not None and model is not self._last
        asked = error.retry_after or 0.0
        if asked > (STANDBY_MAX_WAIT if standby else MAX_WAIT):
            return None
        wait = max(asked, min(self._delay * (1 << tries), MAX_WAIT))
        return round(wait * (1 + self._chance() / 4), 3)
