"""What people do with a memory: look at it, take it with them, mend it, have it forgotten."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import structlog

from agent.config.memory import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.core.memory_document import Category, Fact, MemoryDocument
from agent.core.schemas import MemoryChange, MemorySettings, MemoryStatus, OperationResult
from agent.errors import Conflict, Invalid, NotFound
from agent.memory.folder import Clock, MemoryFolder, folder_path
from agent.memory.merge import best, new_fact, same, trimmed
from agent.memory.scopes import scope_text
from agent.memory.store import Settings

log = structlog.get_logger(__name__)
MANUAL = "manual"
T = TypeVar("T")
Change = Callable[[MemoryDocument], MemoryDocument]


class ManagedMemory:
    """The memories below a home, on disk alone: whoever else reads or updates them sees each change."""

    def __init__(self, home: Path, settings: Settings, *, clock: Clock = time.time) -> None:
        self._home = home
        self._settings = settings
        self._clock = clock
        self._folder: MemoryFolder | None = None

    async def get(self, scope: MemoryScope) -> MemoryDocument:
        """All that is remembered: also what an export is."""
        return await self._do(scope, "read", lambda folder: folder.files.read(scope))

    async def reload(self, scope: MemoryScope) -> MemoryDocument:
        """The same, read anew from the file."""
        return await self._do(scope, "read", lambda folder: folder.files.read(scope, fresh=True))

    async def settings(self) -> MemorySettings:
        """How memory is configured."""
        config = await self._settings()
        return MemorySettings.model_validate(config.model_dump(exclude={"storage_path"}))

    async def status(self, scope: MemoryScope) -> MemoryStatus:
        """How much is remembered, and what waits."""
        config = await self._settings()

        def look(folder: MemoryFolder) -> MemoryStatus:
            document = folder.files.read(scope)
            return MemoryStatus(
                enabled=config.enabled,
                scope=scope_text(scope),
                facts=len(document.facts),
                last_updated=document.last_updated,
                updates_waiting=folder.queue.waiting(scope) if folder.queue.exists else 0,
            )

        return await self._do(scope, "status", look)

    async def forget(self, scope: MemoryScope) -> OperationResult:
        """Erase it all, with what waits to be remembered; what was said so far does not come back."""

        def erase(folder: MemoryFolder) -> None:
            with folder.files.changing():
                folder.queue.forget(scope)
                folder.files.delete(scope)

        await self._do(scope, "forget", erase)
        return OperationResult(success=True, message="The memory is empty.")

    async def add(
        self, scope: MemoryScope, content: str, *, category: Category = "context", confidence: float = 1.0
    ) -> MemoryChange:
        """Add a fact. Raises Invalid for an empty one, Conflict for one that is there."""
        config = await self._settings()
        now = self._now()
        fact = new_fact(_filled(content), category, confidence, now=now, source=MANUAL)

        def added(document: MemoryDocument) -> MemoryDocument:
            _refuse_twice(document, fact.content)
            # The new one stays, whatever else has to go.
            facts = (*best(document.facts, config.max_facts - 1), fact)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._write(scope, "add", added)
        return MemoryChange(success=True, fact=fact, message="The fact is remembered.")

    async def change(
        self,
        scope: MemoryScope,
        fact_id: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
    ) -> MemoryChange:
        """Change a fact; None leaves a part as it is. Raises NotFound, Invalid or Conflict."""
        text = None if content is None else _filled(content)
        parts = {"content": text, "category": category, "confidence": confidence}
        said = {name: value for name, value in parts.items() if value is not None}
        now = self._now()

        def replaced(document: MemoryDocument) -> MemoryDocument:
            old = _found(document, fact_id)
            if text is not None and not same(text, old.content):
                _refuse_twice(document, text)
            new = old.model_copy(update=said)
            facts = tuple(new if fact is old else fact for fact in document.facts)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        written = await self._write(scope, "change", replaced)
        return MemoryChange(success=True, fact=_found(written, fact_id), message="The fact is changed.")

    async def remove(self, scope: MemoryScope, fact_id: str) -> OperationResult:
        """Forget one fact. Raises NotFound."""
        now = self._now()

        def without(document: MemoryDocument) -> MemoryDocument:
            gone = _found(document, fact_id)
            facts = tuple(fact for fact in document.facts if fact is not gone)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._write(scope, "remove", without)
        return OperationResult(success=True, message="The fact is forgotten.")

    def close(self) -> None:
        """Let the database go; the next use opens it again. Blocking."""
        if self._folder is not None:
            self._folder.queue.close()

    async def _write(self, scope: MemoryScope, what: str, change: Change) -> MemoryDocument:
        def write(folder: MemoryFolder) -> MemoryDocument:
            with folder.files.changing():
                document = change(folder.files.read(scope))
                folder.files.write(scope, document)
            return document

        return await self._do(scope, what, write)

    async def _do(self, scope: MemoryScope, what: str, work: Callable[[MemoryFolder], T]) -> T:
        folder = self._of(await self._settings())
        log.info("memory_managed", what=what, scope=scope_text(scope))
        return await asyncio.to_thread(work, folder)

    def _of(self, config: MemoryConfig) -> MemoryFolder:
        path = folder_path(self._home, config)
        if self._folder is None or self._folder.path != path:
            self._folder = MemoryFolder(path, clock=self._clock)
        return self._folder

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")


def _filled(content: str) -> str:
    text = trimmed(content)
    if not text:
        raise Invalid("A fact needs some text.")
    return text


def _found(document: MemoryDocument, fact_id: str) -> Fact:
    for fact in document.facts:
        if fact.id == fact_id:
            return fact
    raise NotFound("There is no such fact.")


def _refuse_twice(document: MemoryDocument, content: str) -> None:
    if any(same(fact.content, content) for fact in document.facts):
        raise Conflict("This is remembered already.")
