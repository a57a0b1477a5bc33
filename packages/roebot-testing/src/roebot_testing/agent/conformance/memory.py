"""Tests for every memory store."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.core.interfaces import MemoryScope, MemoryStore

ADA = MemoryScope("person", "bot", "telegram:1")
OTHERS = (
    MemoryScope("person", "bot", "telegram:2"),
    MemoryScope("person", "other-bot", "telegram:1"),
    MemoryScope("group", "bot", "telegram:1"),
)
FACT = "I live in Lisbon."
TOLD = (HumanMessage(FACT), AIMessage("Noted."))


@pytest.mark.asyncio
class MemorySuite:
    """Subclasses provide a fixture `store`, new for each test, and may override `wait_until_remembered`.

    A store that asks a model needs one that remembers verbatim.
    """

    @pytest.fixture
    def store(self) -> MemoryStore:
        """The store to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named store")

    async def wait_until_remembered(self, store: MemoryStore) -> None:
        """Wait until queued messages are remembered. Returns at once unless overridden."""
        await self.settle(store)

    async def _return_at_once(self, store: MemoryStore) -> None:
        """Wait for nothing."""

    settle = _return_at_once
    """The former name of `wait_until_remembered`, called for suites that override it."""

    async def _read(self, store: MemoryStore, scope: MemoryScope) -> str:
        text = await store.text(scope)
        assert text is not None, "a memory that is switched off"
        return text

    async def test_what_was_told_is_remembered(self, store: MemoryStore) -> None:
        """By its scope."""
        await store.queue(ADA, "t-1", TOLD)
        await self.wait_until_remembered(store)
        assert FACT in await self._read(store, ADA)

    async def test_nothing_crosses_from_one_scope_to_another(self, store: MemoryStore) -> None:
        """Neither between people, nor accounts, nor kinds."""
        await store.queue(ADA, "t-1", TOLD)
        await self.wait_until_remembered(store)
        for other in OTHERS:
            assert FACT not in await self._read(store, other)

    async def test_nobody_is_known_at_first(self, store: MemoryStore) -> None:
        """An unknown scope has an empty text."""
        assert await self._read(store, ADA) == ""

    async def test_threads_add_up_and_telling_again_is_once(self, store: MemoryStore) -> None:
        """A later update of a thread replaces the earlier one."""
        await store.queue(ADA, "t-1", TOLD)
        await store.queue(ADA, "t-1", [*TOLD, HumanMessage("I have a cat."), AIMessage("Nice.")])
        await store.queue(ADA, "t-2", [HumanMessage("I like tea."), AIMessage("Me too.")])
        await self.wait_until_remembered(store)
        text = await self._read(store, ADA)
        assert text.count(FACT) == 1
        assert "I have a cat." in text
        assert "I like tea." in text
