"""Routes of memory. Each takes `?scope=`, the memory's owner; the default is the runtime's owner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from agent.catalog.source import ModelSource
from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.core.memory_document import MemoryDocument
from agent.core.schemas import (
    ErasedFromMemory,
    MemoryChange,
    MemoryErasureRequest,
    MemorySettings,
    MemoryStatus,
    OperationResult,
)
from agent.management.routes.base import ErasureRoute, management_router
from agent.memory.scopes import parse_scope
from agent.memory.service import FactBody, MemoryService, NewFactBody
from agent.shared.text_masking import TextMask


async def read_scope(
    scope: Annotated[str | None, Query(description="Owner of the memory.")] = None,
) -> MemoryScope:
    """Parse the owner of the memory. Raises BadIdentifier."""
    return parse_scope(scope)


Scope = Annotated[MemoryScope, Depends(read_scope)]


def memory_routes(home: Path, source: ModelSource) -> APIRouter:
    """Return the routes of the memory in a data directory."""

    async def read_settings() -> MemoryConfig:
        return (await source.config()).memory

    return MemoryRoutes(MemoryService(home, read_settings)).router()


class MemoryRoutes:
    """Routes that show, change and delete memory."""

    def __init__(self, memory: MemoryService) -> None:
        self._memory = memory

    def router(self) -> APIRouter:
        """Return the routes."""
        router = management_router("memory", prefix="/api/memory")
        router.get("")(self.get_memory)
        router.delete("")(self.delete_memory)
        router.add_api_route(
            "/erase", self.erase_from_memory, methods=["POST"], route_class_override=ErasureRoute
        )
        router.post("/reload")(self.reload_memory)
        router.get("/config")(self.get_memory_config)
        router.get("/status")(self.get_memory_status)
        router.post("/facts", status_code=201)(self.add_fact)
        router.patch("/facts/{fact}")(self.update_fact)
        router.delete("/facts/{fact}")(self.delete_fact)
        return router

    async def get_memory(self, scope: Scope) -> MemoryDocument:
        """Export all memory."""
        return await self._memory.load_document(scope)

    async def delete_memory(self, scope: Scope) -> OperationResult:
        """Delete all memory."""
        return await self._memory.erase(scope)

    async def erase_from_memory(self, scope: Scope, body: MemoryErasureRequest) -> ErasedFromMemory:
        """Erase what one person of a group said from its memory."""
        mask = TextMask(body.texts, body.authors, body.names)
        ids, authors = frozenset(body.message_ids), frozenset(body.authors)
        return await self._memory.erase_person(scope, ids, mask, body.names, authors)

    async def reload_memory(self, scope: Scope) -> MemoryDocument:
        """Reload the memory from its file."""
        return await self._memory.reload_document(scope)

    async def get_memory_config(self, scope: Scope) -> MemorySettings:
        """Return the memory settings."""
        return await self._memory.load_settings()

    async def get_memory_status(self, scope: Scope) -> MemoryStatus:
        """Return the size of the memory and the number of pending updates."""
        return await self._memory.load_status(scope)

    async def add_fact(self, scope: Scope, body: NewFactBody) -> MemoryChange:
        """Add a fact."""
        return await self._memory.add_fact(scope, **body.model_dump())

    async def update_fact(self, scope: Scope, fact: str, body: FactBody) -> MemoryChange:
        """Change a fact."""
        return await self._memory.change_fact(scope, fact, **body.model_dump())

    async def delete_fact(self, scope: Scope, fact: str) -> OperationResult:
        """Delete a fact."""
        return await self._memory.remove_fact(scope, fact)
