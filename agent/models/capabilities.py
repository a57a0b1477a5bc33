"""Adapt a request to a model with fewer capabilities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse

from agent.models.resolve import get_model_name
from agent.models.spec import ModelSpec
from agent.models.vision import WithoutVision
from agent.models.window import ContextWindow

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class WithoutTools(AgentMiddleware[Any, Any]):
    """Removes the tools from a request."""

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model without tools."""
        return await handler(request.override(tools=[]))


class FallbackCapabilities(AgentMiddleware[Any, Any]):
    """Adapts each request to the fallback model that gets it, by the model's configured name."""

    def __init__(self, specs: Iterable[ModelSpec], *, strict: bool = False) -> None:
        super().__init__()
        self._around = {
            spec.name: [
                *capability_middleware(spec, strict=strict),
                *([] if spec.supports_tools else [WithoutTools()]),
            ]
            for spec in specs
        }

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with an adapted request."""
        for one in reversed(self._around.get(get_model_name(request.model) or "", [])):
            handler = partial(one.awrap_model_call, handler=handler)
        return await handler(request)


def capability_middleware(spec: ModelSpec, *, strict: bool) -> list[AgentMiddleware[Any, Any]]:
    """Return the middleware that adapts messages to the model, outermost first.

    With `strict`, new images are an error for a model without vision.
    """
    chain: list[AgentMiddleware[Any, Any]] = []
    if not spec.supports_vision:
        chain.append(WithoutVision(model_name=spec.name, strict=strict))
    if spec.context_tokens is not None:
        chain.append(ContextWindow(tokens=spec.context_tokens))
    return chain
