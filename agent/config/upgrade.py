"""Versions of a configuration file: renamed keys and values, reading an older file, and upgrading it.

An upgrade renames keys and values that have a new name and sets `config_version`. Every other byte of the
file stays, and a copy of the old file is kept as a backup. A key that the file does not have keeps its
default. The result is parsed and compared with the old file before it is written.

Even libraries that preserve comments lose some of a file's layout when they dump it.
"""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.config.document import ConfigDocument, SwitchWord, decode_text, parse_document
from agent.config.edit import (
    add_paragraphs,
    find_entry,
    insert_first,
    rename_key,
    replace_value,
    root_mapping,
)
from agent.config.env import parse_switch
from agent.config.errors import ConfigErrors, ConfigWarning, KeyPath, Problems, format_key, one_error
from agent.config.models import CONFIG_VERSION
from agent.shared.atomic_file import replace_file


@dataclass(frozen=True, slots=True)
class KeyRename:
    """A key renamed in `version`. `*` in `parent` matches any key."""

    version: int
    parent: tuple[str, ...]
    old: str
    new: str


RENAMES: tuple[KeyRename, ...] = (
    KeyRename(1, ("channels", "*"), "token", "bot_token"),
    KeyRename(1, ("runtime",), "langgraph_url", "url"),
)


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A switch whose value became a word. All versions still accept the old value."""

    path: tuple[str, ...]
    old: bool
    new: str


CHANGES: tuple[ValueChange, ...] = (ValueChange(("sandbox", "network"), True, "public"),)
REMOVED = (("server", "limits", "connections_per_address"), ("server", "limits", "response_seconds"))
"""Keys without effect. They are ignored with a warning, so that a file that has them still works."""


def find_changes(data: dict[str, Any]) -> Iterator[tuple[ValueChange, dict[str, Any]]]:
    """Yield the value changes that apply to the data, each with the mapping that has the key."""
    for change in CHANGES:
        for _, mapping in _find_matches(data, change.path, ()):
            value = mapping[change.path[-1]]
            if isinstance(value, bool | SwitchWord) and parse_switch(value) is change.old:
                yield change, mapping


def read_version(document: ConfigDocument, problems: Problems) -> int:
    """Return the document's `config_version`; 0 if missing. A string of digits is accepted."""
    value = document.data.get("config_version")
    if value is None:
        return 0
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value[:18])
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        problems.add(("config_version",), f"expected a whole number from 0 to {CONFIG_VERSION}")
        return CONFIG_VERSION
    if value > CONFIG_VERSION:
        problems.add(
            ("config_version",),
            f"is {value}, which is for a newer release; this one supports up to {CONFIG_VERSION}: "
            "update Roebot",
        )
        return CONFIG_VERSION
    return value


def find_renames(data: dict[str, Any], version: int) -> Iterator[tuple[KeyPath, KeyPath]]:
    """Yield the (old, new) paths of keys in the data that were renamed after `version`."""
    for rename in RENAMES:
        if rename.version > version:
            for path, _ in _find_matches(data, (*rename.parent, rename.old), ()):
                yield path, (*path[:-1], rename.new)


def modernize_document(
    document: ConfigDocument, problems: Problems
) -> tuple[ConfigDocument, tuple[ConfigWarning, ...]]:
    """Apply renames and value changes, and warn about them.

    An old name next to its new one is a problem.
    """
    version = read_version(document, problems)
    data = copy.deepcopy(document.data)
    data.pop("config_version", None)
    for old, new in list(find_renames(data, version)):
        apply_rename(data, old, new, problems)
        document.lines[new] = document.lines[old]
    warnings = (*_apply_changes(document, data), *_drop_removed(document, data))
    if version == CONFIG_VERSION or not document.data:
        return replace(document, data=data), warnings
    line = document.line_of(("config_version",))
    message = f"the file is outdated (version {version}, now {CONFIG_VERSION}): run `roebot config upgrade`"
    outdated = ConfigWarning(document.file, line, "config_version", message)
    return replace(document, data=data), (outdated, *warnings)


def _apply_changes(document: ConfigDocument, data: dict[str, Any]) -> Iterator[ConfigWarning]:
    for change, mapping in list(find_changes(data)):
        mapping[change.path[-1]] = change.new
        message = f"true means {change.new} now: run `roebot config upgrade`"
        yield ConfigWarning(document.file, document.line_of(change.path), format_key(change.path), message)


def _drop_removed(document: ConfigDocument, data: dict[str, Any]) -> Iterator[ConfigWarning]:
    for key in REMOVED:
        for path, mapping in _find_matches(data, key, ()):
            del mapping[key[-1]]
            message = "has no effect in this version: remove it"
            yield ConfigWarning(document.file, document.line_of(path), format_key(path), message)


def apply_rename(data: dict[str, Any], old: KeyPath, new: KeyPath, problems: Problems) -> None:
    """Rename the key at `old`. It is a problem if both names are used."""
    mapping: Any = data
    for part in old[:-1]:
        mapping = mapping[part]
    value = mapping.pop(old[-1])
    if new[-1] in mapping:
        problems.add(old, f"is the old name of {format_key(new)}, which is also set; remove this one")
    else:
        mapping[new[-1]] = value


Pattern = tuple[str, ...]
"""A key path in which `*` stands for any key."""

UNSUPPORTED_KEYS: Sequence[Pattern] = (("checkpointer", "connection_string"),)
UNSUPPORTED_VALUES: Mapping[Pattern, frozenset[str]] = {("checkpointer", "type"): frozenset({"postgres"})}


def reject_unsupported(
    document: ConfigDocument,
    keys: Sequence[Pattern],
    values: Mapping[Pattern, frozenset[str]],
    problems: Problems,
) -> None:
    """Add a problem for each unsupported key and value in the document, and remove it from the data."""
    for pattern in keys:
        for path, mapping in list(_find_matches(document.data, pattern, ())):
            problems.add(path, f"{path[-1]} is not supported in this version; remove it")
            del mapping[str(path[-1])]
    for pattern, words in values.items():
        for path, mapping in list(_find_matches(document.data, pattern, ())):
            value = mapping[str(path[-1])]
            if isinstance(value, str) and value in words:
                problems.add(
                    path, f"{value} is not supported in this version; choose another one or remove it"
                )
                del mapping[str(path[-1])]


def _find_matches(data: Any, pattern: Pattern, at: KeyPath) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield (path, enclosing mapping) for each key that matches the pattern."""
    if not isinstance(data, dict):
        return
    first, rest = pattern[0], pattern[1:]
    for key in list(data) if first == "*" else [first]:
        if key not in data:
            continue
        if rest:
            yield from _find_matches(data[key], rest, (*at, key))
        else:
            yield (*at, key), data


_BOM = b"\xef\xbb\xbf"
_VERSION = "config_version"


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """Result of an upgrade. Keys are formatted as in messages; `backup` is None if nothing changed."""

    changed: bool
    renamed: tuple[tuple[str, str], ...] = ()
    backup: Path | None = None


def upgrade_file(path: Path) -> UpgradeResult:
    """Upgrade the file in place. Idempotent.

    Raises ConfigErrors and leaves the file unchanged if it is unreadable, read-only, not YAML, from a newer
    release, or written in a way that can't be edited without changing its meaning.
    """
    target = path.resolve()
    name = str(path)
    try:
        raw = target.read_bytes()
        mode = stat.S_IMODE(target.stat().st_mode)
    except OSError as error:
        raise one_error(name, f"cannot be read: {error.strerror or error}") from error
    text = decode_text(raw, name)
    new, renamed = upgrade_text(text, name)
    if new == text:
        return UpgradeResult(changed=False)
    if not mode & 0o222:
        raise one_error(name, "is read-only; make it writable, then upgrade again")
    content = (_BOM if raw.startswith(_BOM) else b"") + new.encode("utf-8")
    try:
        backup = _write_backup(target, raw, mode)
        try:
            replace_file(target, content, mode=mode, owner=target.stat())
        except OSError:
            backup.unlink()
            raise
    except OSError as error:
        raise one_error(name, f"cannot be written: {error.strerror or error}; it is unchanged") from error
    return UpgradeResult(True, renamed, backup)


def upgrade_text(text: str, file: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the upgraded text, and the (old, new) names of the renamed keys and values.

    Raises ConfigErrors, as upgrade_file does.
    """
    document = parse_document(text, file)
    problems = Problems(document)
    version = read_version(document, problems)
    expected, _ = modernize_document(document, problems)
    problems.raise_if_any()
    pairs = tuple(find_renames(document.data, version))
    changes = [change for change, _ in find_changes(document.data)]
    try:
        new = _set_version(_change_values(_rename_keys(text, file, pairs), file, changes), document)
        is_safe = parse_document(new, file).data == {**expected.data, _VERSION: CONFIG_VERSION}
    except ConfigErrors:
        is_safe = False
    if not is_safe:
        raise one_error(file, "is written in a way that cannot be upgraded safely; it is unchanged")
    names = [(format_key(old), format_key(new)) for old, new in pairs]
    names += [(f"{format_key(one.path)}: {str(one.old).lower()}", one.new) for one in changes]
    return new, tuple(names)


def _rename_keys(text: str, file: str, pairs: Sequence[tuple[KeyPath, KeyPath]]) -> str:
    for old, new in pairs:
        root = root_mapping(text, file)
        entry = find_entry(root, old) if root else None
        # A key that an anchor shares with another place has its new name already.
        if entry is not None:
            text = rename_key(text, entry, str(new[-1]))
    return text


def _change_values(text: str, file: str, changes: Sequence[ValueChange]) -> str:
    for change in changes:
        root = root_mapping(text, file)
        if root and (entry := find_entry(root, change.path)):
            text = replace_value(text, entry, change.new)
    return text


def _set_version(text: str, document: ConfigDocument) -> str:
    if document.data.get(_VERSION) == CONFIG_VERSION:
        return text
    root = root_mapping(text, document.file)
    if root is None:
        return add_paragraphs(text, root, [f"{_VERSION}: {CONFIG_VERSION}"])
    if entry := find_entry(root, (_VERSION,)):
        return replace_value(text, entry, str(CONFIG_VERSION))
    return insert_first(text, root, f"{_VERSION}: {CONFIG_VERSION}")


def _write_backup(target: Path, raw: bytes, mode: int) -> Path:
    """Write a copy of the old file under an unused name."""
    number = 0
    while True:
        backup = target.with_name(f"{target.name}.bak{f'.{number}' if number else ''}")
        try:
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
        backup.chmod(mode)
        return backup
