"""MCP server tools as tools of the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.tools import BaseTool, ToolException

from agent.core.tool_schemas import SchemaMender, restore_names
from agent.mcp.call_watch import Report, in_call, progress_reporter
from agent.mcp.results import Block, convert_result
from agent.shared.json_text import as_mapping

CallTool = Callable[[str, dict[str, Any], Report], Awaitable[Mapping[str, Any]]]
"""Calls the tool of this name with arguments and returns the raw result; its progress is reported."""
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_REJECTED_AT_TOP = frozenset({*_ALTERNATIVES, "not", "enum", "const", "if", "then", "else", "$schema"})


class ReportedByTool(ToolException):
    """Raised for a result with `isError`, so that the message has the status `error`."""

    def __init__(self, blocks: list[Block]) -> None:
        super().__init__("The tool reported an error.")
        self.blocks = blocks


def _report(error: ToolException) -> list[Any]:
    if not isinstance(error, ReportedByTool):
        raise error
    return error.blocks


class McpTool(BaseTool):
    """A tool of a server. All arguments are passed on, with the server's names."""

    remote_name: str
    """The name that `call` gets: the server's, after a mark for the kind of the call."""
    call: CallTool
    renamed: Mapping[str, str] = {}
    """Original names of the renamed arguments, by their names in the schema."""
    leave_out: Callable[[str], None] | None = None
    """Records why the tool is not offered to the model."""
    handle_tool_error: Any = _report

    def _run(self, /, **_: Any) -> list[Block]:
        raise NotImplementedError("Tools of MCP servers are asynchronous.")

    async def arun(self, *args: Any, tool_call_id: str | None = None, **options: Any) -> Any:
        with in_call(tool_call_id):
            return await super().arun(*args, tool_call_id=tool_call_id, **options)

    async def _arun(self, /, **arguments: Any) -> list[Block]:
        report = progress_reporter(self.remote_name.lstrip("\0\1"))
        result = await self.call(self.remote_name, restore_names(arguments, self.renamed), report)
        blocks = convert_result(result)
        if result.get("isError") is True:
            raise ReportedByTool(blocks)
        return blocks


def usable_schema(schema: Mapping[str, Any], renamed: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a tool's arguments as providers accept them: an object with properties.

    Anthropic and OpenAI reject a request if any tool has alternatives at the top level (makenotion/
    notion-mcp-server#340); their properties become optional ones here, and the server checks the arguments.
    Anthropic also rejects anything that is not valid in draft 2020-12, such as limits in the form of draft 4.
    The original names of renamed properties are added to `renamed`, by their new names.
    """
    mender = SchemaMender(schema)
    top, followed = mender.resolve(schema)
    properties = dict(as_mapping(top.get("properties")))
    required = _names(top.get("required"))
    for key in _ALTERNATIVES:
        parts = top.get(key)
        for part in parts if isinstance(parts, list) else []:
            branch, _ = mender.resolve(as_mapping(part), followed)
            for name, value in as_mapping(branch.get("properties")).items():
                properties.setdefault(name, value)
            if key == "allOf":
                required += _names(branch.get("required"))
    usable = {key: value for key, value in top.items() if key not in _REJECTED_AT_TOP}
    known = [name for name in required if name in properties]
    usable |= {"type": "object", "properties": properties, "required": known}
    mended = mender.mend(usable, followed)
    if renamed is not None:
        renamed |= mender.names
    return mended if known else {name: value for name, value in mended.items() if name != "required"}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
