"""Counts the tokens of a thread."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse

from agent.core.state import ThreadState
from agent.core.usage import sum_usage
from agent.middleware.model_response import Handler, Request, Response, with_update


class TokenUsageMiddleware(AgentMiddleware[Any, Any]):
    """Adds what an answer cost to the thread's `usage`.

    Middleware that asks a model for itself (title, summary) adds the cost of that to the same channel. What a
    run cost is the difference between its last and first values: `agent.core.usage.spent`. Hook:
    `wrap_model_call`; the count goes with the answer.
    """

    state_schema = ThreadState

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model and count."""
        response = await handler(request)
        usage = sum_usage(response.result)
        return response if usage is None else with_update(response, usage=usage)
