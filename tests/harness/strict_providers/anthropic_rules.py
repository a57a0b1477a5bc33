"""What Anthropic's API requires of tools, of thinking and of cache markers.

As the API answers: the schemas of tools are JSON Schema of draft 2020-12, objects without alternatives at the
top level (makenotion/notion-mcp-server issue 340), with keys of letters, digits, `_`, `.` and `-`. Thinking
(https://docs.claude.com/en/docs/build-with-claude/extended-thinking): its budget is below `max_tokens`, the
temperature is 1 and no tool is forced. Results of failed calls (anthropics/claude-agent-sdk-python issue 248)
have content, and only texts. Caching (https://docs.claude.com/en/docs/build-with-claude/prompt-caching): at
most four markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from tests.harness.strict_providers.server import Body, RejectedRequest

MARKERS = 4
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def check_tools(tools: Sequence[Body]) -> None:
    """Check the tools of a request."""
    names = [tool["name"] for tool in tools]
    if len(names) != len(set(names)):
        raise RejectedRequest("tools: Tool names must be unique.")
    for at, tool in enumerate(tools):
        place, schema = f"tools.{at}.custom.input_schema", tool["input_schema"]
        if schema.get("type") != "object":
            raise RejectedRequest(f"{place}.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & schema.keys():
            raise RejectedRequest(
                f"{place}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError:
            raise RejectedRequest(
                f"{place}: JSON schema is invalid. It must match JSON Schema draft 2020-12"
            ) from None
        if any(not _KEY.fullmatch(name) for name in schema.get("properties") or ()):
            raise RejectedRequest(f"{place}.properties: Property keys should match pattern")


def check_options(body: Body) -> None:
    """Check what goes together."""
    if body.get("tool_choice") and not body.get("tools"):
        raise RejectedRequest("tool_choice: `tool_choice` may only be specified while providing `tools`.")
    if len(list(_find_markers(body))) > MARKERS:
        raise RejectedRequest(f"A maximum of {MARKERS} blocks with cache_control may be provided.")
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    if thinking["budget_tokens"] >= body["max_tokens"]:
        raise RejectedRequest("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in (None, 1):
        raise RejectedRequest("`temperature` may only be set to 1 when thinking is enabled.")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise RejectedRequest("Thinking may not be enabled when tool_choice forces tool use.")


def check_failures(blocks: Sequence[Body]) -> None:
    """Check the results of failed calls."""
    for block in blocks:
        if block["type"] != "tool_result" or not block.get("is_error"):
            continue
        content = block.get("content")
        if not content:
            raise RejectedRequest("tool_result: content cannot be empty if `is_error` is true")
        if isinstance(content, list) and any(one["type"] != "text" for one in content):
            raise RejectedRequest("tool_result: all content must be type `text` if `is_error` is true")


def _find_markers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        if value.get("cache_control") is not None:
            yield value["cache_control"]
        for one in value.values():
            yield from _find_markers(one)
    elif isinstance(value, list):
        for one in value:
            yield from _find_markers(one)
