"""Adjustment of a call's arguments to its tool, before any check.

Marks that results have in tags like the service's are taken out, so that a file can be read and written back.
They stay in the task of a subagent, where such a tag would pass for a person's message. A call with an
argument that its tool would ignore is not run; the result names it. Changes are logged without values.

Ignoring an unknown argument would let the model believe that it had an effect; one that is null, false or
empty asks for nothing and is removed. MCP tools get unknown arguments as written, since servers check them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import structlog
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.argument_coercion import ALIASES, fit_arguments
from agent.shared.envelope import unmark_tags
from agent.subagents.kinds import TASK

log = structlog.get_logger(__name__)
SHOWN = 60
"""Characters of an unknown name that are shown."""


def fit_request(request: ToolCallRequest) -> ToolCallRequest:
    """Return the request with arguments that fit the tool; the same request if they already do or the tool is
    unknown.
    """
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
    """Return arguments with tags restored to their form in files and pages."""
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


def explain_unknown_arguments(request: ToolCallRequest) -> str:
    """Return a message about arguments that the tool would ignore, or "" if there are none."""
    tool, args = request.tool, request.tool_call["args"]
    if tool is None or not (unknown := find_unknown_arguments(tool, args)):
        return ""
    written = ", ".join(json.dumps(name[:SHOWN], ensure_ascii=False) for name in unknown)
    known = ", ".join(read_schema(tool).get("properties") or {}) or "none"
    return f"{tool.name} has no argument {written}; it has: {known}. The call was not run."


def read_schema(tool: BaseTool) -> Mapping[str, Any]:
    """Return the JSON schema of a tool's model-written arguments."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    describe = getattr(schema, "model_json_schema", None) or schema.schema
    described: Mapping[str, Any] = describe()
    return described
