"""Correct imprecise tool calls: names before they are stored, arguments before anything judges them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.core.argument_coercion import fit_arguments
from agent.middleware.answer_repair import name_of_tool
from agent.middleware.model_response import Handler, Request, Response, get_answer, with_answer
from agent.middleware.tool_names import correct_names

log = structlog.get_logger(__name__)
Result = ToolMessage | Command[Any]


class ToolArgumentsMiddleware(AgentMiddleware[Any, Any]):
    """Fits the arguments of each call to its tool's schema, as `agent.core.argument_coercion` describes.

    Changes are logged without values. The stored message keeps the arguments as the model wrote them, because
    providers check the calls that they get back; only names are corrected there, since providers reject
    illegal ones (`agent.middleware.tool_names`). Hooks: `wrap_model_call` for the names. `wrap_tool_call`,
    around the guardrail, so that people and rules decide about the arguments that the tool gets.
    """

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model and correct the names of the tools that it calls."""
        response = await handler(request)
        answer = get_answer(response)
        if answer is None or not answer.tool_calls:
            return response
        known = {name_of_tool(one) for one in request.tools}
        return with_answer(response, correct_names(answer, known))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Run the tool with fitted arguments."""
        return await handler(fit_request(request))


def fit_request(request: ToolCallRequest) -> ToolCallRequest:
    """Return the request with arguments that fit the tool; the same one if they do or no tool is known."""
    call = request.tool_call
    if request.tool is None or not isinstance(call["args"], dict):
        return request
    fitted = fit_arguments(read_schema(request.tool), call["args"])
    if not fitted.changes:
        return request
    log.info("tool_arguments_fitted", tool=call["name"], changes=list(fitted.changes))
    return request.override(tool_call={**call, "args": fitted.args})


def read_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return the JSON schema of the arguments that a model writes for the tool."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    describe = getattr(schema, "model_json_schema", None) or schema.schema
    described: Mapping[str, Any] = describe()
    return described
