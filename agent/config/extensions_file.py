"""The file itself: found, read and checked, and written so that a reader never sees half of it."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.config.document import ConfigDocument, decode_text
from agent.config.env import resolve_env
from agent.config.errors import one_error
from agent.config.extensions import Extensions
from agent.config.json_document import parse_json
from agent.config.problems import Problems
from agent.config.reader import display_path, find_file
from agent.config.validate import load_section
from agent.core.home import DEFAULT_HOME, HOME_VARIABLE, make_private_folder
from agent.shared.atomic_file import mode_of, replace_file

FILE_NAME = "extensions_config.json"
PATH_VARIABLE = "ROEBOT_EXTENSIONS_CONFIG_PATH"
NEW_MODE = 0o600
Stamp = tuple[str, int, int, int]
Change = Callable[[dict[str, Any]], None]
"""Changes the data of the file in place."""


@dataclass(frozen=True, slots=True)
class LoadedExtensions:
    """What the file says: `config` is checked and filled in, `data` is as it stands (`$NAME` and all)."""

    config: Extensions = field(default_factory=Extensions)
    data: Mapping[str, Any] = field(default_factory=dict)
    stamp: Stamp | None = None


class ExtensionsFile:
    """Finds, reads and writes it: explicit, `ROEBOT_EXTENSIONS_CONFIG_PATH`, `./`, `../`, home. Blocking."""

    def __init__(self, explicit: Path | None, env: Mapping[str, str], cwd: Path) -> None:
        self._explicit, self._env, self._cwd = explicit, env, cwd
        self._home = cwd / (env.get(HOME_VARIABLE) or DEFAULT_HOME)

    def read_stamp(self) -> Stamp | None:
        """What changes with the file; None without one. Raises ConfigErrors as `read` does."""
        path = self._find_path()
        return None if path is None else _file_stamp(path)

    def read_file(self, name: str = "") -> LoadedExtensions:
        """The file, checked; without one the defaults. `name` is how errors call it. Raises ConfigErrors."""
        path = self._find_path()
        if path is None:
            return LoadedExtensions()
        stamp = _file_stamp(path)
        name = name or display_path(path, self._cwd)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise one_error(name, f"cannot be read: {error.strerror or error}") from error
        document = parse_json(decode_text(raw, name), name)
        return LoadedExtensions(check_extensions(document, self._env), document.data, stamp)

    def change_file(self, change: Change) -> LoadedExtensions:
        """Read, change, check, then write; a change that does not fit changes nothing.

        Where there was none, a file is made in the current folder, or in the home where that can't be
        written. Raises ConfigErrors.
        """
        path = self._find_path() or self._new_path()
        # Its errors go to whoever asked for the change, and name no folder of this machine.
        name = path.name
        data = copy.deepcopy(dict(self.read_file(name).data))
        change(data)
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        document = parse_json(text, name)
        # Lines of a text that is not written yet would mislead.
        check_extensions(replace(document, lines={}), self._env)
        try:
            replace_text(path, text)
        except OSError as error:
            advice = f"make its folder writable, or name another file by {PATH_VARIABLE}"
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
    """The document as sections, with `$NAME` values filled in. Raises ConfigErrors that name everything."""
    problems = Problems(document)
    resolved = resolve_env(document, env, problems=problems)
    config = load_section(Extensions, resolved.data, resolved, (), problems)
    problems.raise_if_any()
    assert config is not None
    return config


def _file_stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (str(path), found.st_mtime_ns, found.st_size, found.st_ino)


def replace_text(path: Path, text: str) -> None:
    """Put the text in the place of the file, in one step. A link stays one; the mode stays as it is."""
    real = path.resolve()
    replace_file(real, text, mode=mode_of(real))
