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

from agent.config.document import ConfigDocument
from agent.config.errors import ConfigErrors
from agent.config.extension_changes import CHANGES
from agent.config.extensions import Extensions
from agent.config.extensions_file import Change, ExtensionsFile, LoadedExtensions, check_extensions

log = structlog.get_logger(__name__)
CHECK_SECONDS = 1.0
_write_lock = threading.Lock()


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
        self._loaded: LoadedExtensions | None = None
        self._check_at = -math.inf
        self._seen = -1
        self._last_warning = ""

    def reload(self) -> Extensions:
        """Read the file now. Blocking; raises ConfigErrors, and whatever was good before stays."""
        loaded = self._open_file().read_file() if self._read_file else self._loaded or LoadedExtensions()
        if self._loaded is None or loaded.data != self._loaded.data or loaded.config != self._loaded.config:
            self._loaded = loaded
        else:
            self._loaded = LoadedExtensions(self._loaded.config, self._loaded.data, loaded.stamp)
        return self._loaded.config

    async def get_extensions(self) -> Extensions:
        """What holds now. Raises ConfigErrors when there never was a good file."""
        return (await self.get_loaded()).config

    async def get_loaded(self) -> LoadedExtensions:
        """As `current`, with what stands in the file."""
        now, written = self._clock(), CHANGES.count
        if self._loaded is None:
            await asyncio.to_thread(self.reload)
        elif self._read_file and (now >= self._check_at or self._seen != written):
            await asyncio.to_thread(self._refresh)
        else:
            return self._loaded
        self._check_at, self._seen = now + CHECK_SECONDS, written
        assert self._loaded is not None
        return self._loaded

    async def change_file(self, change: Change) -> LoadedExtensions:
        """Change the file, checked before it is written. Raises ConfigErrors, and nothing is changed then."""
        return await asyncio.to_thread(self._apply_change, change)

    def expire(self) -> None:
        """Look at the file the next time that anything is asked."""
        self._check_at = -math.inf

    def _open_file(self) -> ExtensionsFile:
        return ExtensionsFile(self._path, self._environ, self._cwd if self._cwd is not None else Path.cwd())

    def _refresh(self) -> None:
        assert self._loaded is not None
        try:
            if self._open_file().read_stamp() != self._loaded.stamp:
                self.reload()
                log.info("extensions_reloaded")
            self._last_warning = ""
        except ConfigErrors as error:
            if str(error) != self._last_warning:
                log.warning("extensions_kept", detail=str(error))
            self._last_warning = str(error)

    def _apply_change(self, change: Change) -> LoadedExtensions:
        with _write_lock:
            self._loaded = (
                self._open_file().change_file(change) if self._read_file else self._change_in_memory(change)
            )
            CHANGES.record()
            return self._loaded

    def _change_in_memory(self, change: Change) -> LoadedExtensions:
        data = copy.deepcopy(dict((self._loaded or LoadedExtensions()).data))
        change(data)
        return LoadedExtensions(
            check_extensions(ConfigDocument("the given extensions", data), self._environ), data
        )
