"""Upgrade a configuration file: rename old keys and add missing ones.

Comments, order, line endings and mode are preserved, and the old file is kept as a backup. The meaning
doesn't change: the result is parsed and compared before it is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from agent.config.document import ConfigDocument, decode_text, parse_document
from agent.config.edit import (
    add_children,
    add_entries,
    add_paragraphs,
    find_entry,
    insert_first,
    rename_key,
    replace_value,
    root_mapping,
)
from agent.config.errors import ConfigErrors, KeyPath, Problems, format_key, one_error
from agent.config.models import CONFIG_VERSION
from agent.config.versions import find_renames, modernize_document, read_version
from agent.shared.atomic_file import replace_file

_BOM = b"\xef\xbb\xbf"
_VERSION = "config_version"


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """The result of an upgrade. Keys are formatted as in messages; `backup` is None if nothing changed."""

    changed: bool
    added: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    backup: Path | None = None


def example_text() -> str:
    """Return the example configuration: every key with its default and a comment."""
    return files("agent.config").joinpath("example.yaml").read_text(encoding="utf-8")


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
    new, added, names = upgrade_text(text, name)
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
    return UpgradeResult(True, added, names, backup)


def upgrade_text(text: str, file: str) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the upgraded text, the added keys, and the (old, new) names of renamed keys.

    Raises ConfigErrors as `upgrade_file` does.
    """
    document = parse_document(text, file)
    problems = Problems(document)
    version = read_version(document, problems)
    today, _ = modernize_document(document, problems)
    problems.raise_if_any()
    example = _Example(example_text())
    missing = list(example.find_missing(today.data))
    expected = example.add_missing(today.data, missing)
    pairs = tuple(find_renames(document.data, version))
    try:
        new = _rename_keys(text, file, pairs)
        new = _set_version(new, document)
        new = _add_sections(new, file, example, missing)
        is_safe = parse_document(new, file).data == expected
    except ConfigErrors:
        is_safe = False
    if not is_safe:
        raise one_error(file, "is written in a way that cannot be upgraded safely; it is unchanged")
    names = tuple((format_key(old), format_key(new)) for old, new in pairs)
    return new, tuple(format_key(path) for path in missing), names


class _Example:
    """The example file: one paragraph for each top-level key, one line for each entry."""

    def __init__(self, text: str) -> None:
        self._document = parse_document(text, "example.yaml")
        self._lines = text.splitlines()
        paragraphs = (paragraph.strip("\n") for paragraph in text.split("\n\n"))
        self._paragraphs = {self._section_key(paragraph): paragraph for paragraph in paragraphs}

    def find_missing(self, data: dict[str, Any]) -> Iterator[KeyPath]:
        """Yield the paths of the example missing in the data: whole sections, and keys of sections."""
        for key, value in self._document.data.items():
            if key == _VERSION:
                continue
            if key not in data:
                yield (key,)
            elif isinstance(value, dict) and (data[key] is None or isinstance(data[key], dict)):
                yield from ((key, inner) for inner in value if inner not in (data[key] or {}))

    def section_text(self, key: str) -> str:
        """Return the text of a whole section."""
        return self._paragraphs[key]

    def entry_line(self, path: KeyPath) -> str:
        """Return the line of a key without its indentation."""
        return self._lines[self._document.lines[path] - 1].strip()

    def add_missing(self, data: dict[str, Any], missing: list[KeyPath]) -> dict[str, Any]:
        """Return the data with the current version and the missing keys."""
        result = deepcopy(data) | {_VERSION: CONFIG_VERSION}
        for path in missing:
            value = self._document.data
            target = result
            for part in path[:-1]:
                value = value[str(part)]
                target[str(part)] = target[str(part)] or {}
                target = target[str(part)]
            target[str(path[-1])] = value[str(path[-1])]
        return result

    @staticmethod
    def _section_key(paragraph: str) -> str:
        starts = (line.partition(":")[0] for line in paragraph.splitlines())
        return next((start for start in starts if start.isidentifier()), "")


def _rename_keys(text: str, file: str, pairs: Sequence[tuple[KeyPath, KeyPath]]) -> str:
    for old, new in pairs:
        root = root_mapping(text, file)
        entry = find_entry(root, old) if root else None
        # A key that an anchor shares with another place has its new name already.
        if entry is not None:
            text = rename_key(text, entry, str(new[-1]))
    return text


def _set_version(text: str, document: ConfigDocument) -> str:
    root = root_mapping(text, document.file)
    if root is None or document.data.get(_VERSION) == CONFIG_VERSION:
        return text
    entry = find_entry(root, (_VERSION,))
    if entry is not None:
        return replace_value(text, entry, str(CONFIG_VERSION))
    return insert_first(text, root, f"{_VERSION}: {CONFIG_VERSION}")


def _add_sections(text: str, file: str, example: _Example, missing: list[KeyPath]) -> str:
    for key in dict.fromkeys(path[0] for path in missing if len(path) > 1):
        lines = [example.entry_line(path) for path in missing if len(path) > 1 and path[0] == key]
        text = _add_keys(text, file, str(key), lines)
    whole = [str(path[0]) for path in missing if len(path) == 1]
    root = root_mapping(text, file)
    if root is not None and root.flow_style:
        flow = [_to_flow_style(key, example) for key in whole]
        return add_entries(text, root, flow) if flow else text
    if root is None:
        whole = [_VERSION, *whole]
    return add_paragraphs(text, root, [example.section_text(key) for key in whole]) if whole else text


def _add_keys(text: str, file: str, key: str, lines: list[str]) -> str:
    root = root_mapping(text, file)
    entry = find_entry(root, (key,)) if root else None
    assert root is not None and entry is not None
    section = entry[1]
    if isinstance(section, yaml.MappingNode):
        return add_entries(text, section, lines)
    if root.flow_style:
        return replace_value(text, entry, "{" + ", ".join(line.partition(" #")[0] for line in lines) + "}")
    return add_children(text, entry, lines)


def _to_flow_style(key: str, example: _Example) -> str:
    """Return a section of the example on one line."""
    data = parse_document(example.section_text(key), "example.yaml").data
    return yaml.safe_dump(data, default_flow_style=True, width=10_000, sort_keys=False).strip()[1:-1]


def _write_backup(target: Path, raw: bytes, mode: int) -> Path:
    """Write a copy of the old file under a free name."""
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
