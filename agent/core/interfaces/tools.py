"""The port of a catalogue of tools, more than a model should be shown at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.tools import BaseTool


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool as it is listed."""

    name: str
    description: str


class ToolCatalogue(Protocol):
    """Tools by name."""

    def entries(self) -> Sequence[ToolEntry]:
        """All tools, in their order."""
        ...

    def search(self, query: str, *, limit: int) -> Sequence[ToolEntry]:
        """The tools that fit best, best first; `limit` at most, none where nothing fits.

        The names of tools, split by commas, give exactly these.
        """
        ...

    def get(self, name: str) -> BaseTool | None:
        """The tool of this name."""
        ...
