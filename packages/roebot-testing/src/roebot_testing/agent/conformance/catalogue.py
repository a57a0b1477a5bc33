"""Tests for every catalogue of tools."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from agent.core.interfaces import ToolCatalogue


def make_tool(name: str, description: str) -> BaseTool:
    """Create a tool that does nothing."""

    async def nothing() -> str:
        return ""

    return StructuredTool.from_function(coroutine=nothing, name=name, description=description)


TOOLS = (
    make_tool("calendar_create_event", "Create an event in the calendar."),
    make_tool("calendar_list_events", "List what is in the calendar."),
    make_tool("mail_send", "Send a mail, maybe with an event attached."),
    make_tool("weather", "Tell the weather of a place."),
)


class CatalogueSuite:
    """Subclasses build the catalogue to test."""

    def make_catalogue(self, tools: Sequence[BaseTool]) -> ToolCatalogue:
        """Build a catalogue of these tools. Subclasses override this."""
        return self.catalogue(tools)

    def catalogue(self, tools: Sequence[BaseTool]) -> ToolCatalogue:
        """Raise NotImplementedError; the former name of `make_catalogue`, which older suites override."""
        raise NotImplementedError("override make_catalogue to build the catalogue to test")

    def search_names(self, query: str, limit: int = 9) -> list[str]:
        """Return the names of the tools that a search finds."""
        return [entry.name for entry in self.make_catalogue(TOOLS).search(query, limit=limit)]

    found = search_names
    """The former name of `search_names`, kept for existing suites."""

    def test_all_tools_are_listed_in_order(self) -> None:
        """With their descriptions."""
        entries = self.make_catalogue(TOOLS).entries()
        assert [(e.name, e.description) for e in entries] == [(t.name, t.description) for t in TOOLS]
        assert list(self.make_catalogue(()).entries()) == []

    def test_a_tool_is_got_by_its_name(self) -> None:
        """Or not at all."""
        catalogue = self.make_catalogue(TOOLS)
        assert catalogue.get("weather") is TOOLS[3]
        assert catalogue.get("wea") is None

    def test_what_fits_best_comes_first(self) -> None:
        """Entries that do not match are omitted."""
        assert self.search_names("create calendar event")[0] == "calendar_create_event"
        assert "weather" not in self.search_names("create calendar event")
        assert self.search_names("WEATHER?") == ["weather"]

    def test_no_more_than_wanted(self) -> None:
        """However many fit."""
        assert len(self.search_names("event", limit=1)) == 1

    def test_names_give_exactly_these(self) -> None:
        """In the order in which they are asked for."""
        assert self.search_names("weather, mail_send") == ["weather", "mail_send"]

    @pytest.mark.parametrize("query", ["", "zzz", "???", ","])
    def test_nothing_fits(self, query: str) -> None:
        """A search without results is not an error."""
        assert self.search_names(query) == []
