"""What the file says now, cheap to ask for; one that went bad keeps the last good one."""

from __future__ import annotations

import asyncio
import copy
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from agent.config.document import Document
from agent.config.errors import ConfigErrors
from agent.config.extension_changes import CHANGES
from agent.config.extensions import Extensions
from agent.config.extensions_file import Change, ExtensionsFile, Loaded, checked

log = structlog.get_logger(__name__)
CHECK_SECONDS = 1.0
_writing = threading.Lock()


class ExtensionsSource:
    """The current extensions: the same object as long as nothing changed.

    The file is looked at once a second at most, and at once after this process wrote it. Without `read_file`
    there is no file: changes last as long as the source.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        read_file: bool = True,
        environ: Mapping[str, str] = os.environ,
        cwd: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path, self._cwd = path, cwd
        self._read_file = read_file
        self._environ = environ
        self._clock = clock
        self._loaded: Loaded | None = None
        self._check_at = -math.inf
        self._seen = -1
        self._told = ""

    def load(self) -> Extensions:
        """Read the file now. Blocking; raises ConfigErrors, and whatever was good before stays."""
        loaded = self._file().read() if self._read_file else self._loaded or Loaded()
        if self._loaded is None or loaded.data != self._loaded.data or loaded.config != self._loaded.config:
            self._loaded = loaded
        else:
            self._loaded = Loaded(self._loaded.config, self._loaded.data, loaded.stamp)
        return self._loaded.config

    async def current(self) -> Extensions:
        """What holds now. Raises ConfigErrors when there never was a good file."""
        return (await self.loaded()).config

    async def loaded(self) -> Loaded:
        """As `current`, with what stands in the file."""
        now, written = self._clock(), CHANGES.count
        if self._loaded is None:
            await asyncio.to_thread(self.load)
        elif self._read_file and (now >= self._check_at or self._seen != written):
            await asyncio.to_thread(self._refresh)
        else:
            return self._loaded
        self._check_at, self._seen = now + CHECK_SECONDS, written
        assert self._loaded is not None
        return self._loaded

    async def change(self, change: Change) -> Loaded:
        """Change the file, checked before it is written. Raises ConfigErrors, and nothing is changed then."""
        return await asyncio.to_thread(self._change, change)

    def expire(self) -> None:
        """Look at the file the next time that anything is asked."""
        self._check_at = -math.inf

    def _file(self) -> ExtensionsFile:
        return ExtensionsFile(self._path, self._environ, self._cwd if self._cwd is not None else Path.cwd())

    def _refresh(self) -> None:
        assert self._loaded is not None
        try:
            if self._file().stamp() != self._loaded.stamp:
                self.load()
                log.info("extensions_reloaded")
            self._told = ""
        except ConfigErrors as error:
            if str(error) != self._told:
                log.warning("extensions_kept", detail=str(error))
            self._told = str(error)

    def _change(self, change: Change) -> Loaded:
        with _writing:
            self._loaded = self._file().change(change) if self._read_file else self._changed(change)
            CHANGES.note()
            return self._loaded

    def _changed(self, change: Change) -> Loaded:
        data = copy.deepcopy(dict((self._loaded or Loaded()).data))
        change(data)
        return Loaded(checked(Document("the given extensions", data), self._environ), data)
