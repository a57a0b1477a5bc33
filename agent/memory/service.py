"""Memory management for the management API: read, export, edit and erase."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import structlog
from pydantic import ConfigDict

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.core.schemas import MemoryChange, MemorySettings, MemoryStatus, RequestModel
from agent.errors import Conflict, Invalid, NotFound
from agent.memory.files import Clock, MemoryFolder, memory_folder_path
from agent.memory.patch import is_same_fact, keep_best, new_fact, to_line
from agent.memory.scopes import format_scope
from agent.memory.store import LoadMemoryConfig
from agent.shared.memory_document import Category, Confidence, Fact, MemoryDocument
from agent.shared.schemas import OperationResult


class FactBody(RequestModel):
    """Changes to a fact. None leaves a field unchanged."""

    model_config = ConfigDict(strict=True)
    content: str | None = None
    category: Category | None = None
    confidence: Confidence | None = None


class NewFactBody(FactBody):
    """A fact to add."""

    content: str
    category: Category = "context"
    confidence: Confidence = 1.0


log = structlog.get_logger(__name__)
MANUAL = "manual"
T = TypeVar("T")
DocumentChange = Callable[[MemoryDocument], MemoryDocument]


class MemoryService:
    """The memories of a data directory. All access is on disk, so that every process sees each change."""

    def __init__(self, home: Path, load_config: LoadMemoryConfig, *, clock: Clock = time.time) -> None:
        self._home = home
        self._load_config = load_config
        self._clock = clock
        self._folder: MemoryFolder | None = None

    async def load_document(self, scope: MemoryScope) -> MemoryDocument:
        """Return the whole memory of the scope. An export has the same content."""
        return await self._run_in_folder(scope, "read", lambda folder: folder.files.read(scope))

    async def reload_document(self, scope: MemoryScope) -> MemoryDocument:
        """Return the whole memory, rereading the file even if its stamp is unchanged."""
        return await self._run_in_folder(scope, "read", lambda folder: folder.files.read(scope, fresh=True))

    async def load_settings(self) -> MemorySettings:
        config = await self._load_config()
        return MemorySettings.model_validate(config.model_dump(exclude={"storage_path"}))

    async def load_status(self, scope: MemoryScope) -> MemoryStatus:
        """Return the number of facts, the time of the last update and the number of pending updates."""
        config = await self._load_config()

        def look(folder: MemoryFolder) -> MemoryStatus:
            document = folder.files.read(scope)
            return MemoryStatus(
                enabled=config.enabled,
                scope=format_scope(scope),
                facts=len(document.facts),
                last_updated=document.last_updated,
                updates_waiting=folder.queue.count_pending(scope) if folder.queue.exists else 0,
            )

        return await self._run_in_folder(scope, "status", look)

    async def erase(self, scope: MemoryScope) -> OperationResult:
        """Erase the memory and its pending updates. Messages up to now are not processed again."""

        def erase(folder: MemoryFolder) -> None:
            with folder.files.lock_for_write():
                folder.queue.erase(scope)
                folder.files.delete(scope)
                # A reader of the new number finds the file without the erased content.
                folder.queue.record_erasure(scope)
                folder.queue.compact()

        await self._run_in_folder(scope, "forget", erase)
        return OperationResult(success=True, message="The memory is empty.")

    async def add_fact(
        self, scope: MemoryScope, content: str, *, category: Category = "context", confidence: float = 1.0
    ) -> MemoryChange:
        """Add a fact. Raises Invalid for an empty one and Conflict for a duplicate."""
        config = await self._load_config()
        now = self._now()
        fact = new_fact(_require_content(content), category, confidence, now=now, source=MANUAL)

        def added(document: MemoryDocument) -> MemoryDocument:
            _refuse_duplicate(document, fact.content)
            # Apply the limit to the other facts, so that the new one always stays.
            facts = (*keep_best(document.facts, config.max_facts - 1), fact)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._change_document(scope, "add", added)
        return MemoryChange(success=True, fact=fact, message="Fact stored.")

    async def change_fact(
        self,
        scope: MemoryScope,
        fact_id: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
    ) -> MemoryChange:
        """Change a fact; None leaves a field unchanged. Raises NotFound, Invalid or Conflict."""
        text = None if content is None else _require_content(content)
        parts = {"content": text, "category": category, "confidence": confidence}
        said = {name: value for name, value in parts.items() if value is not None}
        now = self._now()

        def replaced(document: MemoryDocument) -> MemoryDocument:
            old = _find_fact(document, fact_id)
            if text is not None and not is_same_fact(text, old.content):
                _refuse_duplicate(document, text)
            new = old.model_copy(update=said)
            facts = tuple(new if fact is old else fact for fact in document.facts)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        written = await self._change_document(scope, "change", replaced)
        return MemoryChange(success=True, fact=_find_fact(written, fact_id), message="Fact changed.")

    async def remove_fact(self, scope: MemoryScope, fact_id: str) -> OperationResult:
        """Remove one fact. Raises NotFound."""
        now = self._now()

        def without(document: MemoryDocument) -> MemoryDocument:
            gone = _find_fact(document, fact_id)
            facts = tuple(fact for fact in document.facts if fact is not gone)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._change_document(scope, "remove", without)
        return OperationResult(success=True, message="Fact deleted.")

    def close(self) -> None:
        """Close the database; the next use opens it again. Blocking."""
        if self._folder is not None:
            self._folder.queue.close()

    async def _change_document(self, scope: MemoryScope, what: str, change: DocumentChange) -> MemoryDocument:
        def write(folder: MemoryFolder) -> MemoryDocument:
            with folder.files.lock_for_write():
                document = change(folder.files.read(scope))
                folder.files.write(scope, document)
            return document

        return await self._run_in_folder(scope, what, write)

    async def _run_in_folder(self, scope: MemoryScope, what: str, work: Callable[[MemoryFolder], T]) -> T:
        folder = self._open_folder(await self._load_config())
        log.info("memory_managed", what=what, scope=format_scope(scope))
        return await asyncio.to_thread(work, folder)

    def _open_folder(self, config: MemoryConfig) -> MemoryFolder:
        path = memory_folder_path(self._home, config)
        if self._folder is None or self._folder.path != path:
            self._folder = MemoryFolder(path, clock=self._clock)
        return self._folder

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")


def _require_content(content: str) -> str:
    text = to_line(content)
    if not text:
        raise Invalid("A fact must not be empty.")
    return text


def _find_fact(document: MemoryDocument, fact_id: str) -> Fact:
    for fact in document.facts:
        if fact.id == fact_id:
            return fact
    raise NotFound("Fact not found.")


def _refuse_duplicate(document: MemoryDocument, content: str) -> None:
    if any(is_same_fact(fact.content, content) for fact in document.facts):
        raise Conflict("This fact is already stored.")
