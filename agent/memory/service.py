"""Memory management for the management API: read, export, edit and erase."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import structlog
from pydantic import ConfigDict

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.core.schemas import MemoryChange, MemorySettings, MemoryStatus, RequestModel
from agent.errors import Conflict, Invalid, NotFound
from agent.memory.files import Clock, MemoryFolder, memory_folder_path
from agent.memory.patch import is_same_fact, keep_best, new_fact, to_line
from agent.memory.scopes import format_scope, parse_scope
from agent.memory.store import LoadMemoryConfig
from agent.shared.management import MemoryOperations, operation
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
Scope = Annotated[str | None, "Owner of the memory."]


class MemoryManagement(MemoryOperations):
    """The memories of a data directory. All access is on disk, so that every process sees each change.

    A scope is `person:ACCOUNT:PERSON` or `group:ACCOUNT:CHAT`, None the runtime's owner; any other raises
    BadIdentifier.
    """

    def __init__(self, home: Path, load_config: LoadMemoryConfig, *, clock: Clock = time.time) -> None:
        self._home = home
        self._load_config = load_config
        self._clock = clock
        self._folder: MemoryFolder | None = None

    async def get_memory(self, scope: Scope = None) -> MemoryDocument:
        owner = parse_scope(scope)
        return await self._run_in_folder(owner, "read", lambda folder: folder.files.read(owner))

    @operation("POST", "/api/memory/reload")
    async def reload_memory(self, scope: Scope = None) -> MemoryDocument:
        """Reload the memory from its file."""
        owner = parse_scope(scope)
        return await self._run_in_folder(owner, "read", lambda folder: folder.files.read(owner, fresh=True))

    @operation("GET", "/api/memory/config")
    async def get_memory_config(self, scope: Scope = None) -> MemorySettings:
        """Return the memory settings."""
        parse_scope(scope)
        config = await self._load_config()
        return MemorySettings.model_validate(config.model_dump(exclude={"storage_path"}))

    @operation("GET", "/api/memory/status")
    async def get_memory_status(self, scope: Scope = None) -> MemoryStatus:
        """Return the size of the memory and the number of pending updates."""
        owner, config = parse_scope(scope), await self._load_config()

        def look(folder: MemoryFolder) -> MemoryStatus:
            document = folder.files.read(owner)
            return MemoryStatus(
                enabled=config.enabled,
                scope=format_scope(owner),
                facts=len(document.facts),
                last_updated=document.last_updated,
                updates_waiting=folder.queue.count_pending(owner) if folder.queue.exists else 0,
            )

        return await self._run_in_folder(owner, "status", look)

    async def delete_memory(self, scope: Scope = None) -> OperationResult:
        # Pending updates go too, and messages up to now are not processed again.
        owner = parse_scope(scope)

        def erase(folder: MemoryFolder) -> None:
            with folder.files.lock_for_write():
                folder.queue.erase(owner)
                folder.files.delete(owner)
                # A reader of the new number finds the file without the erased content.
                folder.queue.record_erasure(owner)
                folder.queue.compact()

        await self._run_in_folder(owner, "forget", erase)
        return OperationResult(success=True, message="The memory is empty.")

    @operation("POST", "/api/memory/facts", body=NewFactBody, status=201)
    async def add_fact(
        self, content: str, *, category: Category = "context", confidence: float = 1.0, scope: Scope = None
    ) -> MemoryChange:
        """Add a fact."""
        body = NewFactBody.of({"content": content, "category": category, "confidence": confidence})
        owner, config = parse_scope(scope), await self._load_config()
        now = self._now()
        text = _require_content(body.content)
        fact = new_fact(text, body.category, body.confidence, now=now, source=MANUAL)

        def added(document: MemoryDocument) -> MemoryDocument:
            _refuse_duplicate(document, fact.content)
            # Apply the limit to the other facts, so that the new one always stays.
            facts = (*keep_best(document.facts, config.max_facts - 1), fact)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._change_document(owner, "add", added)
        return MemoryChange(success=True, fact=fact, message="Fact stored.")

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
        body = FactBody.of({"content": content, "category": category, "confidence": confidence})
        owner = parse_scope(scope)
        text = None if body.content is None else _require_content(body.content)
        said = {**body.model_dump(exclude_none=True), **({} if text is None else {"content": text})}
        now = self._now()

        def replaced(document: MemoryDocument) -> MemoryDocument:
            old = _find_fact(document, fact)
            if text is not None and not is_same_fact(text, old.content):
                _refuse_duplicate(document, text)
            new = old.model_copy(update=said)
            facts = tuple(new if one is old else one for one in document.facts)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        written = await self._change_document(owner, "change", replaced)
        return MemoryChange(success=True, fact=_find_fact(written, fact), message="Fact changed.")

    async def delete_fact(self, fact: str, scope: Scope = None) -> OperationResult:
        now = self._now()

        def without(document: MemoryDocument) -> MemoryDocument:
            gone = _find_fact(document, fact)
            facts = tuple(one for one in document.facts if one is not gone)
            return document.model_copy(update={"facts": facts, "last_updated": now})

        await self._change_document(parse_scope(scope), "remove", without)
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
