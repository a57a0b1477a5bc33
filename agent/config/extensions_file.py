"""The file `extensions_config.json`: read, check and change it, keeping the last valid version active."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from agent.config.document import ConfigDocument, decode_text, parse_json
from agent.config.errors import ConfigErrors, one_error
from agent.config.extensions import Extensions
from agent.config.mcp_keys import ignored_keys, translate_servers
from agent.config.reader import check_section, display_path, find_file
from agent.core.paths import DEFAULT_HOME, HOME_VARIABLE, make_private_folder
from agent.shared.atomic_file import mode_of, replace_file
from agent.shared.last_good import LastGood, Stamp, file_stamp

log = structlog.get_logger(__name__)
_write_lock = threading.Lock()


class ExtensionChanges:
    """Counts changes by this process, so that its parts detect them immediately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def record(self) -> None:
        """Count a change."""
        with self._lock:
            self.count += 1


CHANGES = ExtensionChanges()
"""The counter of this process."""


FILE_NAME = "extensions_config.json"
PATH_VARIABLE = "ROEBOT_EXTENSIONS_CONFIG_PATH"
Change = Callable[[dict[str, Any]], None]
"""Changes the data of the file in place."""


@dataclass(frozen=True, slots=True)
class LoadedExtensions:
    """The file: `config` is validated with defaults, `data` is the raw content with `$NAME` references."""

    config: Extensions = field(default_factory=Extensions)
    data: Mapping[str, Any] = field(default_factory=dict)


class ExtensionsFile:
    """Finds, reads and writes the file. Blocking.

    Search order: explicit path, `ROEBOT_EXTENSIONS_CONFIG_PATH`, `./`, `../`, data directory.
    """

    def __init__(self, explicit: Path | None, env: Mapping[str, str], cwd: Path) -> None:
        self._explicit, self._env, self._cwd = explicit, env, cwd
        self._home = cwd / (env.get(HOME_VARIABLE) or DEFAULT_HOME)

    def read_stamp(self) -> Stamp | None:
        """Return the file's stamp, or None without a file. Raises ConfigErrors like `read_file`."""
        return file_stamp(self._find_path())

    def read_file(self, name: str = "") -> LoadedExtensions:
        """Read and check the file, or return the defaults without a file. Errors refer to it as `name`.

        Raises ConfigErrors.
        """
        path = self._find_path()
        if path is None:
            return LoadedExtensions()
        name = name or display_path(path, self._cwd)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise one_error(name, f"cannot be read: {error.strerror or error}") from error
        document = parse_json(decode_text(raw, name), name)
        return LoadedExtensions(check_extensions(document, self._env), document.data)

    def change_file(self, change: Change) -> LoadedExtensions:
        """Read the file, change it, check the result and write it. An invalid change writes nothing.

        Without a file, a new one is created in the current folder, or in the data directory if that is not
        writable. Raises ConfigErrors.
        """
        path = self._find_path() or self._new_path()
        # The caller sees the errors, so they must not contain paths of the host.
        name = path.name
        data = copy.deepcopy(dict(self.read_file(name).data))
        change(data)
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        document = parse_json(text, name)
        # The text is not written yet, so its line numbers would mislead.
        check_extensions(replace(document, lines={}), self._env)
        try:
            replace_text(path, text)
        except OSError as error:
            advice = f"make its folder writable, or name another file in {PATH_VARIABLE}"
            raise one_error(name, f"cannot be written: {error.strerror or error}; {advice}") from error
        return self.read_file()

    def _find_path(self) -> Path | None:
        found = find_file(FILE_NAME, PATH_VARIABLE, self._explicit, self._env, self._cwd)
        own = self._home / FILE_NAME
        return found or (own if own.is_file() else None)

    def _new_path(self) -> Path:
        if os.access(self._cwd, os.W_OK):
            return self._cwd / FILE_NAME
        make_private_folder(self._home)
        return self._home / FILE_NAME


def check_extensions(document: ConfigDocument, env: Mapping[str, str]) -> Extensions:
    """Validate the document with its `$NAME` values replaced. Raises ConfigErrors with all problems.

    Servers may have keys of other MCP clients; those that mean nothing here are logged.
    """
    if "mcpServers" in document.data:
        servers = document.data["mcpServers"]
        document = replace(document, data={**document.data, "mcpServers": translate_servers(servers)})
        for name, entry in servers.items() if isinstance(servers, Mapping) else ():
            if isinstance(entry, Mapping) and (ignored := ignored_keys(entry)):
                log.info("mcp_keys_ignored", server=str(name)[:64], keys=ignored)
    return check_section(Extensions, document, env)


def replace_text(path: Path, text: str) -> None:
    """Replace the file atomically. A link stays a link, and the mode is preserved."""
    real = path.resolve()
    replace_file(real, text, mode=mode_of(real))


class ExtensionsSource:
    """The current extensions, as the same object while nothing changes.

    The file is checked at most once a second, and at once after a change by this process. With
    `read_file=False` there is no file, and changes last as long as the source.
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
        self._good = LastGood(
            self._read, self._read_stamp, error=ConfigErrors, name="extensions", log=log, clock=clock
        )
        self._seen = CHANGES.count

    def reload(self) -> Extensions:
        """Read the file now. Blocking. Raises ConfigErrors; the last valid version then stays active."""
        return self._load().config

    async def get_extensions(self) -> Extensions:
        """Return the active extensions. Raises ConfigErrors if there has never been a valid file."""
        return (await self.get_loaded()).config

    async def get_loaded(self) -> LoadedExtensions:
        """Return the active extensions with the file's raw data. Raises ConfigErrors."""
        if self._seen != CHANGES.count:
            self._seen = CHANGES.count
            self._good.expire()
        return await self._good.current()

    async def change_file(self, change: Change) -> LoadedExtensions:
        """Change the file after checking the result. Raises ConfigErrors; then nothing changes."""
        return await asyncio.to_thread(self._apply_change, change)

    def expire(self) -> None:
        """Check the file on the next call."""
        self._good.expire()

    def _load(self) -> LoadedExtensions:
        stamp = self._read_stamp()
        return self._good.put(self._read(self._good.value), stamp)

    def _open_file(self) -> ExtensionsFile:
        return ExtensionsFile(self._path, self._environ, self._cwd if self._cwd is not None else Path.cwd())

    def _read_stamp(self) -> Stamp | None:
        return self._open_file().read_stamp() if self._read_file else None

    def _read(self, current: LoadedExtensions | None) -> LoadedExtensions:
        if not self._read_file:
            return current or LoadedExtensions()
        loaded = self._open_file().read_file()
        return current if loaded == current and current is not None else loaded

    def _apply_change(self, change: Change) -> LoadedExtensions:
        with _write_lock:
            if self._read_file:
                loaded = self._open_file().change_file(change)
                stamp = self._read_stamp()
            else:
                loaded, stamp = self._change_in_memory(change), None
            CHANGES.record()
            return self._good.put(loaded, stamp)

    def _change_in_memory(self, change: Change) -> LoadedExtensions:
        data = copy.deepcopy(dict((self._good.value or LoadedExtensions()).data))
        change(data)
        document = ConfigDocument("the given extensions", data)
        return LoadedExtensions(check_extensions(document, self._environ), data)
