"""Suites written against the former hook names of the conformance suites keep working."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.tools import BaseTool

from agent.core.interfaces import MemoryStore, ToolCatalogue
from agent.memory.store import InProcessMemoryStore
from agent.tools.catalogue import ListedTools
from roebot_testing.agent.conformance.catalogue import CatalogueSuite
from roebot_testing.agent.conformance.memory import MemorySuite


class TestFormerCatalogueHook(CatalogueSuite):
    """Override only the former hook: the whole suite must pass."""

    def catalogue(self, tools: Sequence[BaseTool]) -> ToolCatalogue:
        return ListedTools(tools)

    def test_former_search_helper_finds_names(self) -> None:
        assert self.found("weather") == ["weather"]


class TestFormerMemoryHook(MemorySuite):
    """Override only the former hook: the suite must call it."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return InProcessMemoryStore()

    async def settle(self, store: MemoryStore) -> None:
        self.settled = store

    async def test_former_hook_is_called(self, store: MemoryStore) -> None:
        await self.wait_until_remembered(store)
        assert self.settled is store
