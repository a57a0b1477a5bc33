"""Tools with which the agent uses the resources and prompts of a server.

Specification 2025-06-18: server/resources (`resources/list`, `resources/templates/list`, `resources/read`)
and server/prompts (`prompts/list`, `prompts/get`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mcp import types as protocol

from agent.shared.json_text import one_line

LISTED = 30
"""Prompts that the tool's description names."""
READ_ONLY = protocol.ToolAnnotations(readOnlyHint=True)
_TEXT = {"type": "string"}
_line = partial(one_line, limit=200)


class OwnTool(protocol.Tool):
    """A tool that is ours, under a name that no tool of the server has."""


def sign_in_tool() -> OwnTool:
    """Return the tool of a server that people sign in to."""
    return OwnTool(
        name="sign_in",
        description="Let the person who asks sign in to this server with their browser, if it says that it "
        "needs a sign-in. They get a link.",
        inputSchema={"type": "object", "properties": {}},
        annotations=READ_ONLY,
    )


def resource_tools() -> list[OwnTool]:
    return [
        OwnTool(
            name="list_resources",
            description="List the resources (files, pages, records) that this server offers.",
            inputSchema={"type": "object", "properties": {}},
            annotations=READ_ONLY,
        ),
        OwnTool(
            name="read_resource",
            description="Read a resource of this server.",
            inputSchema={
                "type": "object",
                "properties": {"uri": {**_TEXT, "description": "Address of the resource, as it is listed."}},
                "required": ["uri"],
            },
            annotations=READ_ONLY,
        ),
    ]


def prompt_tool(prompts: Sequence[Mapping[str, Any]]) -> list[OwnTool]:
    """Return the tool of a server with these prompts; none without prompts."""
    named = [prompt for prompt in prompts if isinstance(prompt.get("name"), str)]
    if not named:
        return []
    listed = "; ".join(map(_describe_prompt, named[:LISTED]))
    more = f"; and {len(named) - LISTED} more" if len(named) > LISTED else ""
    arguments = {"type": "object", "additionalProperties": _TEXT}
    return [
        OwnTool(
            name="get_prompt",
            description=f"Get a prompt of this server, when a person asks for it: {listed}{more}.",
            inputSchema={
                "type": "object",
                "properties": {
                    "name": {"enum": [prompt["name"] for prompt in named]},
                    "arguments": arguments,
                },
                "required": ["name"],
            },
            annotations=READ_ONLY,
        )
    ]


def resources_text(resources: Sequence[Any], templates: Sequence[Any]) -> str:
    lines = [_describe_resource(one, "uri") for one in resources if isinstance(one, Mapping)]
    made = [_describe_resource(one, "uriTemplate") for one in templates if isinstance(one, Mapping)]
    if made:
        lines += ["Templates; replace the parts in braces:", *made]
    return "\n".join(lines) or "This server has no resources."


def prompt_result(prompt: Mapping[str, Any]) -> dict[str, Any]:
    messages = prompt.get("messages")
    content: list[Any] = []
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, Mapping):
            content += [{"type": "text", "text": f"[{_line(message.get('role'))}]"}, message.get("content")]
    return {"content": content}


def _describe_prompt(prompt: Mapping[str, Any]) -> str:
    arguments = prompt.get("arguments")
    given = [one for one in arguments if isinstance(one, Mapping)] if isinstance(arguments, list) else []
    names = [f"{_line(one.get('name'))}{'' if one.get('required') else '?'}" for one in given]
    about = _line(prompt.get("description")) or _line(prompt.get("title"))
    return f"{_line(prompt['name'])}({', '.join(names)}){f': {about}' if about else ''}"


def _describe_resource(one: Mapping[str, Any], key: str) -> str:
    name = _line(one.get("title")) or _line(one.get("name"))
    details = ", ".join(filter(None, [name, _line(one.get("mimeType")), _line(one.get("description"))]))
    return f"- {_line(one.get(key))}{f' ({details})' if details else ''}"
