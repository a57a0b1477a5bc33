"""Correct imprecise tool calls: names before they are stored, arguments before anything judges them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.core.argument_coercion import ALIASES, fit_arguments
from agent.middleware.answer_repair import name_of_tool
from agent.middleware.model_response import Handler, Request, Response, get_answer, with_answer
from agent.middleware.tool_names import correct_names
from agent.shared.envelope import unmark_tags
from agent.subagents.kinds import TASK

log = structlog.get_logger(__name__)
Result = ToolMessage | Command[Any]
SHOWN = 60
"""Characters of an unknown name that are shown."""


class ToolArgumentsMiddleware(AgentMiddleware[Any, Any]):
    """Fits the arguments of each call to its tool's schema, as `agent.core.argument_coercion` describes.

    Marks that results have in tags like the service's are taken out, so that a file can be read and written
    back. They stay in the task of a subagent, where such a tag would pass for a person's message. A call with
    an argument that its tool would ignore is not run; the result names it. Changes are logged without values.
    The stored message keeps the arguments as the model wrote them, because providers check the calls that
    they get back; only names are corrected there, since providers reject illegal ones
    (`agent.middleware.tool_names`). Hooks: `wrap_model_call` for the names. `wrap_tool_call`, around the
    guardrail, so that people and rules decide about the arguments that the tool gets.
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
        """Run the tool with fitted arguments, unless it would ignore one of them."""
        fitted = fit_request(request)
        call = fitted.tool_call
        if fitted.tool is None or not (unknown := find_unknown_arguments(fitted.tool, call["args"])):
            return await handler(fitted)
        text = _describe_unknown(fitted.tool, unknown)
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")


def fit_request(request: ToolCallRequest) -> ToolCallRequest:
    """Return the request with arguments that fit the tool; the same one if they do or no tool is known."""
    call = request.tool_call
    if request.tool is None or not isinstance(call["args"], dict):
        return request
    aliases = (request.tool.metadata or {}).get(ALIASES) or {}
    fitted = fit_arguments(read_schema(request.tool), call["args"], aliases)
    shown = fitted.args if call["name"] == TASK else _unmark(fitted.args)
    empty = [name for name in find_unknown_arguments(request.tool, fitted.args) if not fitted.args[name]]
    unmarked = [f"{name}: marks removed" for name, value in fitted.args.items() if shown[name] != value]
    changes = [*fitted.changes, *unmarked, *(f"{name}: empty and unknown, removed" for name in empty)]
    if not changes:
        return request
    log.info("tool_arguments_fitted", tool=call["name"], changes=changes)
    args = {name: value for name, value in shown.items() if name not in empty}
    return request.override(tool_call={**call, "args": args})


def _unmark(value: Any) -> Any:
    """Return arguments with tags as they are in the files and pages that results showed."""
    if isinstance(value, str):
        return unmark_tags(value)
    if isinstance(value, dict):
        return {name: _unmark(one) for name, one in value.items()}
    return [_unmark(one) for one in value] if isinstance(value, list) else value


def find_unknown_arguments(tool: BaseTool, args: Any) -> list[str]:
    """Return the names of arguments that the tool would ignore.

    None for a tool with a plain JSON schema, such as those of MCP servers, which check what they get.
    """
    fields = getattr(tool.args_schema, "model_fields", None)
    if not isinstance(args, Mapping) or not isinstance(fields, Mapping):
        return []
    if tool.args_schema.model_config.get("extra") == "allow":  # type: ignore[union-attr]
        return []
    known = {*fields, *(field.alias for field in fields.values())}
    return [name for name in args if name not in known]


def _describe_unknown(tool: BaseTool, unknown: Sequence[str]) -> str:
    written = ", ".join(json.dumps(name[:SHOWN], ensure_ascii=False) for name in unknown)
    known = ", ".join(read_schema(tool).get("properties") or {}) or "none"
    return f"{tool.name} has no argument {written}; it has: {known}. The call was not run."


def read_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return the JSON schema of the arguments that a model writes for the tool."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    describe = getattr(schema, "model_json_schema", None) or schema.schema
    described: Mapping[str, Any] = describe()
    return described
