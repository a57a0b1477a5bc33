"""Manage memory by the names of its owners."""

from __future__ import annotations

from typing import Annotated

from agent.core.schemas import (
    MemoryChange,
    MemorySettings,
    MemoryStatus,
)
from agent.memory.scopes import parse_scope
from agent.memory.service import FactBody, MemoryService, NewFactBody
from agent.shared.management import MemoryOperations, operation
from agent.shared.memory_document import Category, MemoryDocument
from agent.shared.schemas import OperationResult

Scope = Annotated[str | None, "Owner of the memory."]


class MemoryManagement(MemoryOperations):
    """Shows, changes and deletes memory. A scope is `person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`, None the
    runtime's owner; any other raises BadIdentifier.
    """

    def __init__(self, memory: MemoryService) -> None:
        self._memory = memory

    async def get_memory(self, scope: Scope = None) -> MemoryDocument:
        return await self._memory.load_document(parse_scope(scope))

    async def delete_memory(self, scope: Scope = None) -> OperationResult:
        return await self._memory.erase(parse_scope(scope))

    @operation("POST", "/api/memory/reload")
    async def reload_memory(self, scope: Scope = None) -> MemoryDocument:
        """Reload the memory from its file."""
        return await self._memory.reload_document(parse_scope(scope))

    @operation("GET", "/api/memory/config")
    async def get_memory_config(self, scope: Scope = None) -> MemorySettings:
        """Return the memory settings."""
        parse_scope(scope)
        return await self._memory.load_settings()

    @operation("GET", "/api/memory/status")
    async def get_memory_status(self, scope: Scope = None) -> MemoryStatus:
        """Return the size of the memory and the number of pending updates."""
        return await self._memory.load_status(parse_scope(scope))

    @operation("POST", "/api/memory/facts", body=NewFactBody, status=201)
    async def add_fact(
        self, content: str, *, category: Category = "context", confidence: float = 1.0, scope: Scope = None
    ) -> MemoryChange:
        """Add a fact."""
        fact = NewFactBody.of({"content": content, "category": category, "confidence": confidence})
        return await self._memory.add_fact(parse_scope(scope), **fact.model_dump())

    @operation("PATCH", "/api/memory/facts/{fact}", body=FactBody)
    async def update_fact(
        self,
        fact: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
        scope: Scope = None,
    ) -> MemoryChange:
        """Change a fact."""
        change = FactBody.of({"content": content, "category": category, "confidence": confidence})
        return await self._memory.change_fact(parse_scope(scope), fact, **change.model_dump())

    async def delete_fact(self, fact: str, scope: Scope = None) -> OperationResult:
        return await self._memory.remove_fact(parse_scope(scope), fact)
