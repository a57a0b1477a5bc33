"""Search in a list of tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from langchain_core.tools import BaseTool

from agent.core.interfaces import CatalogueEntry

_WORD = re.compile(r"[^\W_]+")
IN_NAME, IN_DESCRIPTION = 3, 1


class ListedTools:
    """A `ToolCatalogue` that ranks tools by query words: three points in the name, one in the description."""

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def entries(self) -> Sequence[CatalogueEntry]:
        return [_entry(tool) for tool in self._tools.values()]

    def search(self, query: str, *, limit: int) -> Sequence[CatalogueEntry]:
        named = [name.strip() for name in query.split(",")]
        exact = [self._tools[name] for name in dict.fromkeys(named) if name in self._tools]
        if exact and len(exact) == len(set(named)):
            return [_entry(tool) for tool in exact[:limit]]
        words = set(_split_words(query))
        scores = [(_score(words, tool), tool) for tool in self._tools.values()]
        best = sorted((pair for pair in scores if pair[0]), key=lambda pair: -pair[0])
        return [_entry(tool) for _, tool in best[:limit]]

    def get(self, name: str) -> BaseTool | None:
        return self._tools.get(name)


def _entry(tool: BaseTool) -> CatalogueEntry:
    return CatalogueEntry(tool.name, tool.description)


def _split_words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _score(words: set[str], tool: BaseTool) -> int:
    name, description = _split_words(tool.name), set(_split_words(tool.description))
    in_name = sum(any(word in part for part in name) for word in words)
    return IN_NAME * in_name + IN_DESCRIPTION * len(words & description)
