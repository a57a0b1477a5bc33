"""Tests for every tool journal."""

from __future__ import annotations

import pytest

from agent.core.interfaces import ToolJournal


@pytest.mark.asyncio
class JournalSuite:
    """Subclasses provide a fixture `journal`, new for each test."""

    @pytest.fixture
    def journal(self) -> ToolJournal:
        """The journal to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named journal")

    async def test_a_call_is_new_once(self, journal: ToolJournal) -> None:
        """Then it was begun."""
        assert not await journal.begin("t", "message/call")
        assert await journal.begin("t", "message/call")
        assert await journal.begin("t", "message/call")

    async def test_what_is_done_is_forgotten(self, journal: ToolJournal) -> None:
        """Doing it twice is no error."""
        await journal.begin("t", "a")
        await journal.finish("t", "a")
        await journal.finish("t", "a")
        assert not await journal.begin("t", "a")

    async def test_calls_and_threads_are_apart(self, journal: ToolJournal) -> None:
        """The same id elsewhere is another call."""
        await journal.begin("t", "a")
        assert not await journal.begin("t", "b")
        assert not await journal.begin("u", "a")
        await journal.finish("t", "a")
        assert await journal.begin("u", "a")
