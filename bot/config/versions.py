"""Save changes of the configuration file, and keep its last versions in the data directory, without secrets.

Nothing half-written is ever in force: secrets are stored first, under new names, then the file is replaced. A
process that is killed in between leaves the old file and unused secrets.
"""

from __future__ import annotations

import codecs
import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.config.document import decode_text
from agent.config.env import VARIABLE
from agent.config.errors import one_error
from agent.config.secrets_file import add_secrets, keep_secrets, read_secrets
from agent.shared.atomic_file import PRIVATE_MODE, mode_of, replace_file
from bot.config.changes import ConfigDraft
from bot.config.concealment import replace_secrets
from bot.config.loader import BOM, LoadedConfig, load_text
from bot.config.models import MASK

FOLDER = "config-versions"
LOCK = "changes.lock"
MOST_VERSIONS = 50


class ConfigChanged(Exception):
    """The file has changed since it was read."""


def load(path: Path) -> str:
    """Return the file's text with its own line endings and byte order mark, or "" if there is no file.

    Raises ConfigErrors if it can't be read or is not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise one_error(str(path), f"cannot be read: {error.strerror or error}") from error
    return (BOM if raw.startswith(codecs.BOM_UTF8) else "") + decode_text(raw, str(path))


def save(path: Path, text: str) -> None:
    """Write the whole file atomically with its mode; a new one is its owner's alone. Raises ConfigErrors."""
    target = path.resolve()
    try:
        replace_file(target, text, mode=mode_of(target, PRIVATE_MODE))
    except OSError as error:
        raise one_error(str(path), f"cannot be written: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """A version of the file: `at` is when it was stored (s), `keys` are those that it changed (none for a
    change in an editor). `text` has variables in place of secrets.
    """

    number: int
    at: float
    fingerprint: str
    keys: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file, which may not exist yet, with its versions. All methods block."""

    path: Path
    home: Path
    env: Mapping[str, str]

    def read(self) -> tuple[str, str]:
        """Return the text and its version ("none" without a file). Raises ConfigErrors."""
        return (text := load(self.path)), _fingerprint(text)

    def make_draft(self, offers: Mapping[str, Mapping[str, Any]] = {}) -> ConfigDraft:
        """Return a draft of the file. Raises ConfigErrors."""
        text, version = self.read()
        taken = {*self.env, *read_secrets(self.path)}
        return ConfigDraft(text, self.path.name, taken, offers, before=text, version=version)

    def check(self, draft: ConfigDraft) -> LoadedConfig:
        """Return the configuration of a draft. Raises ConfigErrors."""
        return load_text(draft.text, self.path, self.env, self.home, draft.secrets)

    def save(self, draft: ConfigDraft, expected: str, now: float) -> str:
        """Save a checked draft, and return the new version of the file.

        Raises ConfigChanged if the file's version is not the expected one, and ConfigErrors.
        """
        with self._lock():
            before, version = self.read()
            if version != expected:
                raise ConfigChanged
            add_secrets(self.path, draft.secrets)
            if before:
                self._store_version(before, (), now)
            save(self.path, draft.text)
            self._store_version(draft.text, tuple(dict.fromkeys(draft.keys)), now)
        return _fingerprint(draft.text)

    def list_versions(self) -> list[ConfigVersion]:
        """Return the stored versions, the newest first."""
        found = (_read_version(path) for path in self._folder.glob("*.json"))
        return sorted(filter(None, found), key=lambda one: one.number, reverse=True)

    @property
    def _folder(self) -> Path:
        return self.home / FOLDER

    @contextmanager
    def _lock(self) -> Iterator[None]:
        for folder in (self.home, self._folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / LOCK).touch(mode=PRIVATE_MODE)
        with (self._folder / LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _store_version(self, text: str, keys: tuple[str, ...], now: float) -> None:
        """Store a text unless it is the newest version, and delete the oldest ones with their secrets."""
        known = self.list_versions()
        if known and known[0].fingerprint == _fingerprint(text):
            return
        number = known[0].number + 1 if known else 1
        stored = ConfigVersion(number, now, _fingerprint(text), keys, self._without_secrets(text))
        replace_file(self._folder / f"{number:06}.json", json.dumps(asdict(stored), ensure_ascii=False))
        dropped = known[MOST_VERSIONS - 1 :]
        used = {name for one in (stored, *known[: MOST_VERSIONS - 1]) for name in _variables(one.text)}
        unused = {name for one in dropped for name in _variables(one.text)} - used - set(_variables(text))
        for one in dropped:
            (self._folder / f"{one.number:06}.json").unlink(missing_ok=True)
        if unused:
            keep_secrets(self.path, read_secrets(self.path).keys() - unused)

    def _without_secrets(self, text: str) -> str:
        """Return a text of which inline secrets are stored beside the file instead."""
        names = {value: name for name, value in read_secrets(self.path).items() if name not in self.env}
        draft = self.make_draft()

        def refer(key: str, value: str) -> str:
            value = value[1:] if value.startswith("$$") else value
            if "\n" in value:  # a key of several lines can't be restored
                return f'"{MASK}"'
            if value not in names:
                names[value] = draft.add_secret(value, "config", key or "value")[1:]
            return f'"${names[value]}"'

        concealed = replace_secrets(text, self.path.name, refer)
        add_secrets(self.path, draft.secrets)
        return concealed


def _variables(text: str) -> list[str]:
    return VARIABLE.findall(text)


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else "none"


def _read_version(path: Path) -> ConfigVersion | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return ConfigVersion(**{**found, "keys": tuple(found["keys"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
