"""Find skills in the public and custom folders and parse their `SKILL.md`.

Unchanged files are not read again.

Blocking. Links are not followed, hidden folders are skipped, and folders below a SKILL.md are not searched.
The front matter is strict YAML:

---
name: meeting-actions
description: Turns notes into actions. Use it when …
license: Apache-2.0
allowed-tools: read_file bash
---
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from agent.config.document import decode_text, parse_document
from agent.config.errors import ConfigErrors, one_error
from agent.config.reader import check_section
from agent.config.types import Section, Text
from agent.skills.skill import CATEGORIES, BrokenSkill, Category, Skill, SkillRoots, SkillSet

SKILL_FILE = "SKILL.md"
MAX_FILE_BYTES = 200_000
MAX_DESCRIPTION = 1_024
NAME = re.compile(r"(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*")
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.:*-]{0,63}(?:\([^()]*\))?")
_SPLIT = re.compile(r"[\s,]+(?![^(]*\))")
_FENCE = "---"


def _check_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("expected at most 64 lowercase letters, digits and single hyphens")
    return value


def _check_description(value: str) -> str:
    line = " ".join(value.split())
    if len(line) > MAX_DESCRIPTION:
        raise ValueError(f"expected at most {MAX_DESCRIPTION:,} characters, got {len(line):,}")
    return line


def _split_tools(value: object) -> object:
    if isinstance(value, str):
        return tuple(word for word in _SPLIT.split(value.strip()) if word)
    return tuple(value) if isinstance(value, list) else value


def _check_tool_names(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not _TOOL.fullmatch(name):
            raise ValueError(f"expected tool names separated by spaces, got {name[:40]!r}")
    return tuple(dict.fromkeys(value))


def _number_to_text(value: object) -> object:
    """Accept a version such as 1.0 or 2 without quotes."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


class FrontMatter(Section):
    """The front matter of a `SKILL.md`."""

    name: Annotated[str, AfterValidator(_check_name)]
    description: Annotated[Text, AfterValidator(_check_description)]
    license: Text | None = None
    allowed_tools: (
        Annotated[tuple[str, ...], BeforeValidator(_split_tools), AfterValidator(_check_tool_names)] | None
    ) = Field(None, alias="allowed-tools")
    version: Annotated[Text, BeforeValidator(_number_to_text)] | None = None
    author: Text | None = None
    compatibility: Text | None = None
    metadata: Mapping[str, Any] = Field(default_factory=dict)


def parse_skill(text: str, file: str) -> tuple[FrontMatter, str]:
    """Return the front matter and the instructions. Raises ConfigErrors that name the file, line and key."""
    head, body = _split_front_matter(text, file)
    document = parse_document(head, file)
    found = check_section(FrontMatter, document, None)
    if not body.strip():
        raise one_error(file, "has no instructions after its front matter; add them")
    return found, body


def _split_front_matter(text: str, file: str) -> tuple[str, str]:
    """Split the text. The front matter starts with an empty line, so that line numbers match the file."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        raise one_error(file, "does not start with front matter; its first line must be ---", line=1)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            return "\n".join(["", *lines[1:number]]), "\n".join(lines[number + 1 :])
    raise one_error(file, "its front matter does not end; add a line --- after it", line=1)


MAX_DEPTH = 6
MAX_SKILLS = 5_000
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    stamp: _Stamp
    result: Skill | BrokenSkill


class SkillDiscovery:
    """Finds the skills of the folders. `find_skills` returns the same object while nothing changes."""

    def __init__(self, roots: SkillRoots) -> None:
        self.roots = roots
        self._known: dict[str, _Entry] = {}
        self._set = SkillSet()

    def find_skills(self) -> SkillSet:
        """Return all skills. Unreadable ones are in `broken` and don't affect others."""
        found: dict[str, _Entry] = {}
        for category in CATEGORIES:
            root = self.roots.folder_of(category)
            for entry, parents in _walk_skill_files(str(root)):
                found[entry.path] = self._read_entry(entry, parents, category)
                if len(found) >= MAX_SKILLS:
                    break
        if found != self._known:
            self._known = found
            self._set = _merge_results([one.result for one in found.values()])
        return self._set

    def _read_entry(self, entry: os.DirEntry[str], parents: tuple[str, ...], category: Category) -> _Entry:
        shown = "/".join([self.roots.container, category, *parents, SKILL_FILE])
        try:
            stat = entry.stat(follow_symlinks=False)
        except OSError as error:
            return _Entry((0, 0, 0), BrokenSkill(shown, f"can't be read: {error.strerror}"))
        stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        known = self._known.get(entry.path)
        if known is not None and known.stamp == stamp:
            return known
        return _Entry(stamp, read_skill(Path(entry.path), shown, category, size=stat.st_size))


def read_skill(file: Path, agent_path: str, category: Category, *, size: int) -> Skill | BrokenSkill:
    """Read a SKILL.md. `agent_path` is its path as the agent sees it."""
    name = f"{file.parent.name}/{SKILL_FILE}"
    try:
        if file.is_symlink() or not file.is_file():
            return BrokenSkill(agent_path, f"{name}: is not a regular file")
        if size > MAX_FILE_BYTES:
            return BrokenSkill(
                agent_path, f"{name}: is larger than {MAX_FILE_BYTES:,} bytes; move parts to other files"
            )
        head, _ = parse_skill(decode_text(file.read_bytes(), name), name)
    except OSError as error:
        return BrokenSkill(agent_path, f"{name}: cannot be read: {error.strerror or 'error'}")
    except ConfigErrors as error:
        return BrokenSkill(agent_path, "; ".join(str(error).splitlines()))
    if head.name != file.parent.name:
        return BrokenSkill(
            agent_path,
            f"{name}: name: is {head.name}, but the folder is named {file.parent.name}; use the same name "
            "for both",
        )
    return Skill(
        name=head.name,
        description=head.description,
        category=category,
        folder=file.parent,
        path=agent_path,
        license=head.license,
        allowed_tools=head.allowed_tools,
        version=head.version,
        author=head.author,
        compatibility=head.compatibility,
    )


def _walk_skill_files(
    root: str, parents: tuple[str, ...] = ()
) -> Iterator[tuple[os.DirEntry[str], tuple[str, ...]]]:
    """Yield each SKILL.md in name order, with the names of its parent folders."""
    try:
        with os.scandir(root) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.name == SKILL_FILE:
            yield entry, parents
            return
    if len(parents) >= MAX_DEPTH:
        return
    for entry in found:
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk_skill_files(entry.path, (*parents, entry.name))


def _merge_results(results: list[Skill | BrokenSkill]) -> SkillSet:
    """Merge by name: a custom skill replaces a public one, other duplicates are broken."""
    skills: dict[str, Skill] = {}
    broken = [one for one in results if isinstance(one, BrokenSkill)]
    for one in results:
        if isinstance(one, BrokenSkill):
            continue
        first = skills.get(one.name)
        if first is None or (first.category, one.category) == ("public", "custom"):
            skills[one.name] = one
        else:
            broken.append(
                BrokenSkill(
                    one.path, f"the name {one.name} is already used by {first.path}; rename one of them"
                )
            )
    return SkillSet(tuple(skills[name] for name in sorted(skills)), tuple(broken))
