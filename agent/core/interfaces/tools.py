"""Interface of a tool catalogue too long to show to a model at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.tools import BaseTool


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """Name and description of a tool."""

    name: str
    description: str


class ToolCatalogue(Protocol):
    """Tools by name."""

    def entries(self) -> Sequence[ToolEntry]:
        """Return all tools in order."""
        ...

    def search(self, query: str, *, limit: int) -> Sequence[ToolEntry]:
        """Return up to `limit` matching tools, best first.

        A query of tool names separated by commas returns exactly these.
        """
        ...

    def get(self, name: str) -> BaseTool | None:
        """Return the tool of this name."""
        ...
