"""Dependencies between the calls in an answer, as declared by their tools.

They declare it themselves, because a list of names would miss the tools that the configuration adds. A tool
that needs nothing from other calls should declare `metadata = {"order": "free"}`. An MCP tool with
`readOnlyHint` is free, but in turn with the changing calls of its own server: a page is read after the click
before it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from langchain_core.tools import BaseTool

ORDER = "order"
"""Key of a tool's metadata or extras."""


class Order(StrEnum):
    """The position of a tool's calls among an answer's calls.

    IN_TURN: begins when the earlier ones in turn have ended. The default, for effects that we don't know.
    BESIDE: begins like one in turn, but later calls don't wait for it.
    LAST: in turn, and waits for the ones beside too.
    FREE: depends on no other call, and none depends on it.
    """

    IN_TURN = "in_turn"
    BESIDE = "beside"
    LAST = "last"
    FREE = "free"


def read_order(tool: BaseTool) -> Order:
    """Return the `order` declared in a tool's metadata or extras; IN_TURN if there is none."""
    for said in (tool.metadata, tool.extras):
        declared: Any = (said or {}).get(ORDER)
        if declared in list(Order):
            return Order(declared)
    return Order.IN_TURN
