"""Count the tokens of a thread."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse

from agent.core.state import ThreadState
from agent.core.usage import sum_usage
from agent.middleware.model_response import Handler, Request, Response, with_update


class TokenUsageMiddleware(AgentMiddleware[Any, Any]):
    """Adds an answer's usage to the thread's `usage`.

    Middleware that calls a model itself (title, summary) adds its usage to the same channel. A run's usage is
    the difference between its last and first values: `agent.core.usage.usage_between`. Hook:
    `wrap_model_call`; the usage is stored with the answer.
    """

    state_schema = ThreadState

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model and count its tokens."""
        response = await handler(request)
        usage = sum_usage(response.result)
        return response if usage is None else with_update(response, usage=usage)
