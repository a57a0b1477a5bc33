"""Read the front matter of a `SKILL.md`.

Skills are written for many agents. What the format allows (https://agentskills.io/specification) is read;
what goes beyond it is corrected or ignored with a note, as its guide for agents recommends
(https://github.com/agentskills/agentskills, docs/client-implementation/integrating-skills.mdx, "Lenient
validation"). Only a skill without a name or description, or whose front matter is not readable, is refused.

---
name: meeting-actions
description: Turns notes into actions. Use it when …
license: Apache-2.0
allowed-tools: read_file bash
---

Of 442 skills in eight public collections, a strict reader refuses 130. Of 12,300 in fifteen, this one loads
98.7 %; nearly all others have no front matter, and a description is not guessed from a text that may be any
document. If corrected names collide, the first skill counts and the other is listed as unavailable.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from agent.config.document import ConfigDocument, parse_document
from agent.config.errors import ConfigErrors, one_error
from agent.skills.archive import to_printable
from agent.skills.tool_names import NamedTools, read_tools
from agent.skills.yaml_repair import repair_values

SKILL_FILE = "SKILL.md"
SKILL_FILES = (SKILL_FILE, "skill.md", "Skill.md")
"""Names of the file, the preferred one first: those of the format's reference implementation (`skills-ref`),
and one that public collections have."""
MAX_FILE_BYTES = 1_000_000
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
KEYS = (
    *("name", "description", "license", "allowed-tools", "version", "author", "compatibility", "metadata"),
    *("disable-model-invocation", "required-secrets"),
)
"""The keys with a meaning here."""
_FENCE = "---"
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The content of a front matter. `ignored` contains the unused keys, `notes` the corrections.

    `listed` is False if the skill is used only when a person asks for it. `secrets` are the environment
    variables that its scripts need.
    """

    name: str
    description: str
    license: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    version: str | None = None
    author: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = True
    secrets: tuple[str, ...] = ()
    ignored: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parse_skill(text: str, file: str, *, folder: str | None = None) -> tuple[FrontMatter, str]:
    """Return the front matter and the instructions. Raises ConfigErrors with file, line and key.

    A skill without a name has that of its `folder`.
    """
    head, body = _split_front_matter(text, file)
    notes: list[str] = []
    document = _parse_yaml(head, file, notes)
    found = _Reader(document, folder, notes).read()
    if not body.strip():
        notes.append("It has no instructions after its front matter.")
    return replace(found, notes=tuple(notes)), body


def normalize_name(name: str) -> str:
    """Return the nearest valid name: lower-case letters and digits, separated by single hyphens; or ""."""
    plain = unicodedata.normalize("NFKC", name).lower()
    words = "".join(sign if sign.isalnum() else " " for sign in plain).split()
    return "-".join(words)[:MAX_NAME].rstrip("-")


def _split_front_matter(text: str, file: str) -> tuple[str, str]:
    """Split the text. The front matter starts with empty lines, so that line numbers match the file."""
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if not lines or lines[first].rstrip() != _FENCE:
        raise one_error(file, "does not start with front matter; its first line must be ---", line=1)
    for number, line in enumerate(lines[first + 1 :], start=first + 1):
        if line.rstrip() == _FENCE:
            return "\n".join([""] * (first + 1) + lines[first + 1 : number]), "\n".join(lines[number + 1 :])
    raise one_error(file, "its front matter does not end; add a line --- after it", line=1)


def _parse_yaml(head: str, file: str, notes: list[str]) -> ConfigDocument:
    repeated: list[str] = []
    try:
        document = parse_document(head, file, repeated=repeated)
    except ConfigErrors as error:
        repaired = repair_values(head)
        if repaired is None:
            raise
        repeated.clear()
        try:
            document = parse_document(repaired.text, file, repeated=repeated)
        except ConfigErrors:
            raise error from None
        keys = _join_keys(repaired.keys)
        notes.append(
            f"The front matter is not valid YAML; read as plain text: {keys}. Put the text in quotes."
        )
    if repeated:
        notes.append(f"Keys that appear twice, of which the last one counts: {_join_keys(repeated)}.")
    return document


class _Reader:
    """Reads the keys of a front matter, and records corrections."""

    def __init__(self, document: ConfigDocument, folder: str | None, notes: list[str]) -> None:
        self._document, self._folder, self._notes = document, folder, notes
        self._data = dict(document.data)
        for key in document.data:
            plain = _CAMEL.sub("-", key).replace("_", "-").lower()
            if plain in KEYS and plain not in self._data:
                self._data[plain] = self._data.pop(key)
        self._unread: dict[str, Any] = {}

    def read(self) -> FrontMatter:
        name, description = self._read_name(), self._read_description()
        license_ = self._read_text("license")
        tools = self._read_tools()
        metadata = self._read_metadata()
        version, author = self._read_text("version"), self._read_author()
        compatibility = self._read_compatibility()
        listed, secrets = self._is_listed(), self._read_secrets()
        unknown = {key: value for key, value in self._data.items() if key not in KEYS}
        if unknown:
            self._notes.append(f"Keys without a meaning here: {_join_keys(unknown)}.")
        return FrontMatter(
            name=name,
            description=description,
            license=license_,
            allowed_tools=tools,
            version=version or _plain_text(metadata.get("version")),
            author=author or _plain_text(metadata.get("author")),
            compatibility=compatibility,
            metadata=metadata,
            listed=listed,
            secrets=secrets,
            ignored=MappingProxyType({**unknown, **self._unread}),
        )

    def _read_name(self) -> str:
        written = _plain_text(self._data.get("name"))
        if written is None and "name" in self._data and self._data["name"] is not None:
            raise self._error("name", "expected text")
        if written is None:
            if not self._folder:
                raise self._error("name", "is missing; add it")
            self._notes.append("It has no name; the name of its folder is used.")
            written = self._folder
        name = normalize_name(written)
        if not name:
            raise self._error("name", "expected lowercase letters, digits and hyphens")
        if name != written:
            self._notes.append(f'The name "{to_printable(written)}" is not allowed; it is used as {name}.')
        return name

    def _read_description(self) -> str:
        value = self._data.get("description")
        if value is None:
            raise self._error("description", "is missing; add it")
        text = " ".join((_plain_text(value) or "").split())
        if not text:
            raise self._error("description", "expected text, got an empty string or a list")
        if len(text) <= MAX_DESCRIPTION:
            return text
        self._notes.append(
            f"The description has {len(text):,} characters, more than the {MAX_DESCRIPTION:,} "
            f"that the format "
            "allows; the rest is cut off."
        )
        return text[: MAX_DESCRIPTION - 1].rstrip() + "…"

    def _read_text(self, key: str) -> str | None:
        """Return a line for display; anything but text is ignored with a note."""
        value = self._data.get(key)
        text = _plain_text(value)
        if text is None and value is not None:
            self._ignore(key, "text")
        return text

    def _read_author(self) -> str | None:
        value = self._data.get("author")
        if isinstance(value, Mapping):
            return _plain_text(value.get("name"))
        return self._read_text("author")

    def _read_compatibility(self) -> str | None:
        value = self._data.get("compatibility")
        if isinstance(value, list) and value and all(_plain_text(item) for item in value):
            self._data["compatibility"] = ", ".join(str(item) for item in value)
        text = self._read_text("compatibility")
        if text is None or len(text) <= MAX_COMPATIBILITY:
            return text
        self._notes.append(
            f"compatibility is longer than {MAX_COMPATIBILITY} characters; the rest is cut off."
        )
        return text[: MAX_COMPATIBILITY - 1].rstrip() + "…"

    def _read_metadata(self) -> Mapping[str, Any]:
        value = self._data.get("metadata")
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self._ignore("metadata", "a mapping")
            return {}
        return MappingProxyType(dict(value))

    def _read_tools(self) -> tuple[str, ...] | None:
        value = self._data.get("allowed-tools")
        if value is None:
            return None
        found = read_tools(value)
        if found is None:
            self._ignore("allowed-tools", "text or a list")
            return None
        self._notes += _describe_tools(found)
        return found.tools

    def _is_listed(self) -> bool:
        value = self._data.get("disable-model-invocation")
        if value is None or str(value).lower() not in {"true", "yes", "on"}:
            return True
        self._notes.append("The agent does not choose it by itself; ask for it with its command.")
        return False

    def _read_secrets(self) -> tuple[str, ...]:
        """Return the required variables, specified as `NAME` or as `{name: NAME, optional: …}`."""
        value = self._data.get("required-secrets")
        if value is None:
            return ()
        names: list[str] = []
        for item in value if isinstance(value, list) else [value]:
            name = item.get("name") if isinstance(item, Mapping) else item
            if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
                self._notes.append(f"Not the name of an environment variable: {to_printable(str(name))}.")
            elif not isinstance(item, Mapping) or item.get("optional") is not True:
                names.append(name)
        return tuple(dict.fromkeys(names))

    def _ignore(self, key: str, expected: str) -> None:
        self._unread[key] = self._data[key]
        self._notes.append(f"{key} is ignored: expected {expected}.")

    def _error(self, key: str, message: str) -> ConfigErrors:
        return one_error(self._document.file, message, line=self._document.line_of((key,)), key=key)


def _describe_tools(found: NamedTools) -> list[str]:
    notes: list[str] = []
    if found.renamed:
        pairs = ", ".join(f"{theirs} is {ours}" for theirs, ours in found.renamed)
        notes.append(f"Tools of other agents by their names here: {pairs}.")
    if found.unavailable:
        notes.append(f"Tools without a counterpart here: {', '.join(found.unavailable)}.")
    if found.unreadable:
        notes.append(f"Not the name of a tool: {', '.join(map(to_printable, found.unreadable))}.")
    return notes


def _plain_text(value: object) -> str | None:
    """Return text, or a number as text; None for an empty text and anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def _join_keys(keys: Sequence[str] | Mapping[str, Any]) -> str:
    shown = [to_printable(key) for key in list(keys)[:10]]
    return ", ".join(shown) + (f" and {len(keys) - 10} more" if len(keys) > 10 else "")
