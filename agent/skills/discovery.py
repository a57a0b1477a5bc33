"""Discovery of skills in the public and custom folders, and parsing of their `SKILL.md`.

Unchanged files are not read again.

Blocking. Links are not followed, hidden folders are skipped, and folders below a SKILL.md are not searched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.config.document import decode_text
from agent.config.errors import ConfigErrors, one_error
from agent.skills.access import open_chain, open_tree
from agent.skills.front_matter import MAX_FILE_BYTES, SKILL_FILES, normalize_name, parse_skill
from agent.skills.skill import CATEGORIES, BrokenSkill, Category, Skill, SkillRoots, SkillSet

MAX_DEPTH = 6
MAX_SKILLS = 5_000
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Entry:
    stamp: _Stamp
    result: Skill | BrokenSkill


class SkillDiscovery:
    """Finds the skills in the folders. `find_skills` returns the same object while nothing changes."""

    def __init__(self, roots: SkillRoots, *, open_to_all: bool = False) -> None:
        """With `open_to_all`, found skills are made readable for every user (see `agent.skills.access`)."""
        self.roots = roots
        self._open_to_all = open_to_all
        self._known: dict[str, _Entry] = {}
        self._set = SkillSet()

    def find_skills(self) -> SkillSet:
        """Return all skills. Unreadable skills are in `broken` and don't affect others."""
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
        shown = "/".join([self.roots.container, category, *parents, entry.name])
        try:
            stat = entry.stat(follow_symlinks=False)
        except OSError as error:
            return _Entry((0, 0, 0), BrokenSkill(shown, f"can't be read: {error.strerror}"))
        stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        known = self._known.get(entry.path)
        if known is not None and known.stamp == stamp:
            return known
        if self._open_to_all:
            open_chain(self.roots.folder_of(category), parents)
            open_tree(Path(entry.path).parent)
        return _Entry(stamp, read_skill(Path(entry.path), shown, category, size=stat.st_size))


def read_skill(file: Path, agent_path: str, category: Category, *, size: int) -> Skill | BrokenSkill:
    """Read a SKILL.md. `agent_path` is its path as the agent sees it."""
    name = f"{file.parent.name}/{file.name}"
    try:
        if file.is_symlink() or not file.is_file():
            return BrokenSkill(agent_path, f"{name}: is not a regular file")
        if size > MAX_FILE_BYTES:
            return BrokenSkill(
                agent_path, f"{name}: is larger than {MAX_FILE_BYTES:,} bytes; move parts to other files"
            )
        text = decode_text(file.read_bytes(), name)
        head, _ = parse_skill(text, name, folder=file.parent.name)
    except OSError as error:
        return BrokenSkill(agent_path, f"{name}: cannot be read: {error.strerror or 'error'}")
    except ConfigErrors as error:
        return BrokenSkill(agent_path, "; ".join(str(error).splitlines()))
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
        listed=head.listed,
        secrets=head.secrets,
        notes=(*head.notes, *_compare_folder(head.name, file.parent.name)),
    )


def read_instructions(skill: Skill) -> str:
    """Return the content of a SKILL.md after its front matter. Raises OSError or ConfigErrors."""
    file = skill.folder / PurePosixPath(skill.path).name
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        raw = opened.read(MAX_FILE_BYTES + 1)
    name = f"{file.parent.name}/{file.name}"
    if len(raw) > MAX_FILE_BYTES:
        raise one_error(name, f"is larger than {MAX_FILE_BYTES:,} bytes")
    return parse_skill(decode_text(raw, name), name, folder=file.parent.name)[1]


def _compare_folder(name: str, folder: str) -> Sequence[str]:
    if normalize_name(folder) == name:
        return ()
    return (f"Its folder is named {folder}; the format wants the skill's name, {name}.",)


def _walk_skill_files(
    root: str, parents: tuple[str, ...] = ()
) -> Iterator[tuple[os.DirEntry[str], tuple[str, ...]]]:
    """Yield each SKILL.md in name order, with the names of its parent folders."""
    try:
        with os.scandir(root) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for name in SKILL_FILES:
        for entry in found:
            if entry.name == name:
                yield entry, parents
                return
    if len(parents) >= MAX_DEPTH:
        return
    for entry in found:
        if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk_skill_files(entry.path, (*parents, entry.name))


def _merge_results(results: list[Skill | BrokenSkill]) -> SkillSet:
    """Merge by name: a custom skill replaces a public one; other duplicates are broken."""
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
