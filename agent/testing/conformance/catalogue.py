"""What every catalogue of tools does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from agent.core.interfaces import ToolCatalogue


def made(name: str, description: str) -> BaseTool:
    """A tool that does nothing."""

    async def nothing() -> str:
        return ""

    return StructuredTool.from_function(coroutine=nothing, name=name, description=description)


TOOLS = (
    made("calendar_create_event", "Create an event in the calendar."),
    made("calendar_list_events", "List what is in the calendar."),
    made("mail_send", "Send a mail, maybe with an event attached."),
    made("weather", "Tell the weather of a place."),
)


class CatalogueSuite:
    """Who runs it says how a catalogue of tools is made."""

    def catalogue(self, tools: Sequence[BaseTool]) -> ToolCatalogue:
        """A catalogue of these; to be overridden."""
        raise NotImplementedError("a conformance suite needs to know how a catalogue is made")

    def found(self, query: str, limit: int = 9) -> list[str]:
        """The names that a search gives."""
        return [entry.name for entry in self.catalogue(TOOLS).search(query, limit=limit)]

    def test_all_tools_are_listed_in_order(self) -> None:
        """With their descriptions."""
        entries = self.catalogue(TOOLS).entries()
        assert [(e.name, e.description) for e in entries] == [(t.name, t.description) for t in TOOLS]
        assert list(self.catalogue(()).entries()) == []

    def test_a_tool_is_got_by_its_name(self) -> None:
        """Or not at all."""
        catalogue = self.catalogue(TOOLS)
        assert catalogue.get("weather") is TOOLS[3]
        assert catalogue.get("wea") is None

    def test_what_fits_best_comes_first(self) -> None:
        """And what does not fit, not at all."""
        assert self.found("create calendar event")[0] == "calendar_create_event"
        assert "weather" not in self.found("create calendar event")
        assert self.found("WEATHER?") == ["weather"]

    def test_no_more_than_wanted(self) -> None:
        """However many fit."""
        assert len(self.found("event", limit=1)) == 1

    def test_names_give_exactly_these(self) -> None:
        """In the order in which they are asked for."""
        assert self.found("weather, mail_send") == ["weather", "mail_send"]

    @pytest.mark.parametrize("query", ["", "zzz", "???", ","])
    def test_nothing_fits(self, query: str) -> None:
        """Which is no error."""
        assert self.found(query) == []
