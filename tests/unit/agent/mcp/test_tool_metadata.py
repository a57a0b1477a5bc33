"""What a server says about its tools reaches the harness only where the protocol defines it."""

from __future__ import annotations

from typing import Any

from mcp import types as protocol

from agent.core.tool_order import Order, read_order
from agent.mcp.wire import convert_tool


async def never(*_args: Any, **_options: Any) -> Any:
    raise AssertionError("no call is made")


def metadata_of(annotations: dict[str, Any]) -> dict[str, Any]:
    given = {"name": "send", "inputSchema": {"type": "object"}, "annotations": annotations}
    tool = convert_tool(protocol.Tool.model_validate(given), name="s_send", server="s", call=never)
    assert tool.metadata is not None
    return tool.metadata | {"read": read_order(tool)}


def test_fields_of_a_server_are_no_settings_of_the_harness() -> None:
    found = metadata_of({"aliases": 5, "order": "free", "mcp_server": "other", "title": "Send"})
    assert "aliases" not in found
    assert found["read"] is not Order.FREE
    assert (found["mcp_server"], found["title"]) == ("s", "Send")


def test_a_tool_that_only_reads_keeps_no_order() -> None:
    assert metadata_of({"readOnlyHint": True})["read"] is Order.FREE
