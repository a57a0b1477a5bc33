"""Upgrade a configuration file: rename keys that have a new name, and set its version.

Every other byte of the file stays, and a copy of the old file is kept as a backup. A key that the file does
not have keeps its default. The result is parsed and compared with the old file before it is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.config.document import ConfigDocument, decode_text, parse_document
from agent.config.edit import (
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
    """Return the upgraded text, and the (old, new) names of the renamed keys.

    Raises ConfigErrors, as upgrade_file does.
    """
    document = parse_document(text, file)
    problems = Problems(document)
    version = read_version(document, problems)
    expected, _ = modernize_document(document, problems)
    problems.raise_if_any()
    pairs = tuple(find_renames(document.data, version))
    try:
        new = _set_version(_rename_keys(text, file, pairs), document)
        is_safe = parse_document(new, file).data == {**expected.data, _VERSION: CONFIG_VERSION}
    except ConfigErrors:
        is_safe = False
    if not is_safe:
        raise one_error(file, "is written in a way that cannot be upgraded safely; it is unchanged")
    return new, tuple((format_key(old), format_key(new)) for old, new in pairs)


def _rename_keys(text: str, file: str, pairs: Sequence[tuple[KeyPath, KeyPath]]) -> str:
    for old, new in pairs:
        root = root_mapping(text, file)
        entry = find_entry(root, old) if root else None
        # A key that an anchor shares with another place has its new name already.
        if entry is not None:
            text = rename_key(text, entry, str(new[-1]))
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
