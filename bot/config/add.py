"""Add accounts and event sources to a configuration's text, leaving every other byte unchanged."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from agent.config.document import decode_text, parse_document
from agent.config.edit import (
    Entry,
    add_children,
    add_entries,
    add_item,
    add_paragraphs,
    find_entry,
    replace_value,
    root_mapping,
)
from agent.config.errors import ConfigErrors, one_error
from agent.config.models import CONFIG_VERSION
from agent.shared.atomic_file import mode_of, replace_file
from bot.config.loader import BOM

# A file created here can contain secrets, so only its owner can access it.
MODE = 0o600


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
    mark = BOM if raw.startswith(codecs.BOM_UTF8) else ""
    return mark + decode_text(raw, str(path))


def new_account(text: str, file: str, name: str) -> None:
    """Check that an account name is available. Raises ConfigErrors if it exists."""
    root = root_mapping(text, file) if text.strip() else None
    if root is not None and find_entry(root, ("channels", name)) is not None:
        raise one_error(file, f"channels.{name} already exists; choose another name with --name")


def with_account(text: str, file: str, name: str, settings: Mapping[str, str]) -> str:
    """Add an entry to `channels`. Raises ConfigErrors if it exists or the text is not a configuration."""
    line = f"{name}: {_in_flow_style(settings)}"
    if not text.strip():
        return f"config_version: {CONFIG_VERSION}\n\nchannels:\n  {line}\n"
    new_account(text, file, name)
    return _with_line(text, root_mapping(text, file), "channels", line)


def with_owner(text: str, file: str, name: str, platform: str, person: str) -> str:
    """Make a person an owner of account `name`.

    The entry has the account's scope, because an id can belong to somebody else in another workspace. Where
    `access.owners` can't be extended in place (an alias), the account gets a list of its own, which begins
    with the entries of the general one that apply to the account.
    """
    owners = _read_owners(text, file)
    if not {f"{platform}:{person}", f"{name}:{person}"}.isdisjoint(owners):
        return text
    expected = [*owners, f"{name}:{person}"]
    extended = _with_general_owner(text, file, expected)
    if _only_owners_differ(text, extended, file, expected):
        return extended
    found = find_entry(cast("yaml.MappingNode", root_mapping(text, file)), ("channels", name))
    account = cast("tuple[yaml.Node, yaml.MappingNode]", found)[1]
    own = [entry for entry in expected if str(entry).partition(":")[0] in {name, platform}]
    return add_entries(text, account, [f"access: {{owners: {json.dumps(own)}}}"])


def _read_owners(text: str, file: str) -> list[Any]:
    owners = (parse_document(text, file).data.get("access") or {}).get("owners")
    return list(owners) if isinstance(owners, list) else [] if owners is None else [owners]


def _with_general_owner(text: str, file: str, owners: Sequence[Any]) -> str:
    """Set the general owners to these entries, of which the last is new."""
    root = root_mapping(text, file)
    found = find_entry(root, ("access", "owners")) if root is not None else None
    if found is None:
        return _with_line(text, root, "access", f"owners: {json.dumps(owners)}")
    if isinstance(found[1], yaml.SequenceNode):
        return add_item(text, found[1], json.dumps(owners[-1]))
    return replace_value(text, found, json.dumps(owners))


def _only_owners_differ(before: str, after: str, file: str, owners: Sequence[Any]) -> bool:
    expected = parse_document(before, file).data
    expected["access"] = {**(expected.get("access") or {}), "owners": owners}
    try:
        return parse_document(after, file).data == expected
    except ConfigErrors:
        return False


def with_model(text: str, file: str, entry: Mapping[str, Any]) -> str:
    """Add a model to a configuration that has none."""
    line = f"  - {json.dumps(entry, ensure_ascii=False)}"
    root = root_mapping(text, file) if text.strip() else None
    found = find_entry(root, ("models",)) if root is not None else None
    if found is None:
        return add_paragraphs(text, root, [f"models:\n{line}"])
    return replace_value(text, found, json.dumps([entry], ensure_ascii=False))


def with_event_source(
    text: str, file: str, name: str, source: Mapping[str, object], route: Mapping[str, object]
) -> str:
    """Add an event source, and a route for its events after the others.

    Raises ConfigErrors if the source exists.
    """
    line, item = f"{name}: {_in_flow_style(source)}", _in_flow_style(route)
    root = root_mapping(text, file) if text.strip() else None
    if root is None or find_entry(root, ("events",)) is None:
        return add_paragraphs(text, root, [f"events:\n  sources:\n    {line}\n  routes:\n    - {item}"])
    if find_entry(root, ("events", "sources", name)) is not None:
        raise one_error(file, f"events.sources.{name} already exists; choose another name with --name")
    sources = find_entry(root, ("events", "sources"))
    nested = f"sources: {{{line}}}"
    text = _with_line(text, root, "events", nested) if sources is None else _extend(text, sources, line)
    root = root_mapping(text, file)
    routes = find_entry(root, ("events", "routes")) if root is not None else None
    if routes is None:
        return _with_line(text, root, "events", f"routes: [{item}]")
    if isinstance(routes[1], yaml.SequenceNode):
        return add_item(text, routes[1], item)
    return replace_value(text, routes, f"[{item}]")


def escaped(value: str) -> str:
    """Escape a typed value by doubling a leading dollar sign."""
    return f"${value}" if value.startswith("$") else value


def save(path: Path, text: str, *, private: bool = False) -> None:
    """Write the whole file atomically.

    The mode is preserved; a new or `private` file is accessible to its owner only. Raises ConfigErrors.
    """
    target = path.resolve()
    try:
        mode = mode_of(target, MODE) & (MODE if private else 0o777)
        replace_file(target, text, mode=mode)
    except OSError as error:
        raise one_error(str(path), f"cannot be written: {error.strerror or error}") from error


def _with_line(text: str, root: yaml.MappingNode | None, section: str, line: str) -> str:
    entry = find_entry(root, (section,)) if root is not None else None
    if entry is None:
        return add_paragraphs(text, root, [f"{section}:\n  {line}"])
    return _extend(text, entry, line)


def _extend(text: str, entry: Entry, line: str) -> str:
    """Add a line to the mapping of an entry, which may be empty."""
    if isinstance(entry[1], yaml.MappingNode) and (entry[1].value or entry[1].flow_style):
        return add_entries(text, entry[1], [line])
    return add_children(text, entry, [line])


def _in_flow_style(values: Mapping[str, object]) -> str:
    return f"{{{', '.join(f'{key}: {json.dumps(value)}' for key, value in values.items())}}}"
