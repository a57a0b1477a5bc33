"""Installation, updates, removal and restoration of skills: stage the files, then rename them into place.

Blocking. A failure leaves nothing behind; the next installation removes the leftovers of a killed process.
"""

from __future__ import annotations

import dataclasses
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from agent.config.document import decode_text
from agent.config.errors import ConfigErrors
from agent.core.paths import make_staging_path
from agent.errors import SkillRefused, SkillUnknown
from agent.skills.access import make_open_folder
from agent.skills.archive import ArchiveLimits
from agent.skills.discovery import SkillDiscovery
from agent.skills.front_matter import MAX_FILE_BYTES, SKILL_FILE, SKILL_FILES, FrontMatter, parse_skill
from agent.skills.git_source import GitSource
from agent.skills.history import SkillHistory, SkillVersion
from agent.skills.scan import SkillFinding, is_program, scan_folder
from agent.skills.skill import Skill, SkillRoots
from agent.skills.sources import ArchiveSource, FolderSource, SkillOrigin, SkillSource

_STAGING_PREFIX = ".installing-"
_installing = threading.Lock()


@dataclass(frozen=True, slots=True)
class InstalledSkill:
    """A skill that is or could be installed. `executables` are the paths of executable files.

    `notes` say what of its front matter was corrected or is ignored, `findings` what to look at in its files.
    `replaces` is the category of the skill whose place it takes, "" if none. `is_new` is False if an update
    found the commit that is already installed.
    """

    name: str
    description: str
    executables: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    findings: tuple[SkillFinding, ...] = field(default=())
    replaces: str = ""
    origin: SkillOrigin = field(default_factory=SkillOrigin)
    version: str | None = None
    is_new: bool = True


def source_of(path: Path, within: str = "") -> SkillSource:
    """Return the source for a path, which is a folder or an archive, or for the folder `within` it."""
    return FolderSource(path / within) if path.is_dir() else ArchiveSource(path, path=within)


def check_skill(
    source: SkillSource, roots: SkillRoots, limits: ArchiveLimits | None = None
) -> InstalledSkill:
    """Return the skill that would be installed, without installing it. Raises SkillRefused."""
    with _staged(source, roots, limits or ArchiveLimits()) as (found, _):
        return found


def install_skill(
    source: SkillSource | Path,
    roots: SkillRoots,
    limits: ArchiveLimits | None = None,
    *,
    replace: bool = False,
    updates: tuple[str, str] | None = None,
) -> InstalledSkill:
    """Install a skill into the custom folder, with `replace` over an installed one.

    With `updates`, the name and the commit of the installed one, it must have that name, and that commit is
    not installed again. Raises SkillRefused (400, 404, 409, 413, 502 or 507).
    """
    chosen = source_of(source) if isinstance(source, Path) else source
    with _staged(chosen, roots, limits or ArchiveLimits()) as (staged, whole), _installing:
        # Another installation may have ended meanwhile.
        found = dataclasses.replace(staged, replaces=_find_category(staged.name, roots))
        if updates is not None and found.name != updates[0]:
            raise SkillRefused(f'The skill is now named "{found.name}", not "{updates[0]}".', status=409)
        if updates is not None and found.origin.commit == updates[1]:
            return dataclasses.replace(found, is_new=False)
        target = roots.custom / found.name
        if found.replaces == "custom" and not replace:
            raise SkillRefused(
                f'A skill named "{found.name}" is already installed; update, remove or rename it.', status=409
            )
        if target.is_symlink() or (target.exists() and found.replaces != "custom" and not _is_empty(target)):
            raise SkillRefused(f"The folder {found.name} is already there; remove or rename it.", status=409)
        _put_in_place(found, whole, roots)
    return found


def remove_skill(name: str, roots: SkillRoots) -> None:
    """Remove an installed skill; its files stay in its history. Raises SkillUnknown or SkillRefused."""
    with _installing, _writable():
        installed = _require_installed(name, roots)
        SkillHistory(roots, name).put_away(installed.folder, at=time.time())


def update_skill(
    name: str, roots: SkillRoots, limits: ArchiveLimits | None = None, *, commit: str = ""
) -> InstalledSkill:
    """Install the newest version, or a commit, from the skill's original repository.

    Raises SkillUnknown or SkillRefused.
    """
    _require_installed(name, roots)
    current = SkillHistory(roots, name).current
    if current is None or current.kind != "git":
        raise SkillRefused(
            f'The skill "{name}" does not come from a repository; install its new version instead.',
            status=409,
        )
    source = GitSource(current.location, reference=current.reference, commit=commit, path=current.path)
    return install_skill(source, roots, limits, replace=True, updates=(name, current.commit))


def restore_skill(name: str, roots: SkillRoots, number: int | None = None) -> SkillVersion:
    """Restore a stored version, by default the last one before the current. Raises SkillRefused."""
    with _installing, _writable():
        history = SkillHistory(roots, name)
        kept = history.list_kept()
        if not kept:
            raise SkillRefused(f'No other version of the skill "{name}" is kept.', status=409)
        current = history.current
        before = [one for one in kept if current is None or one.number < current.number]
        if number is not None:
            before = [one for one in kept if one.number == number]
        if not before:
            shown = ", ".join(str(one.number) for one in kept)
            raise SkillRefused(f'The kept versions of the skill "{name}" are {shown}.', status=409)
        installed = _find_installed(name, roots)
        if installed is not None:
            history.put_away(installed.folder, at=time.time())
        make_open_folder(roots.custom)
        history.folder_of(before[0]).rename(roots.custom / name)
        restored = before[0].model_copy(update={"current": True})
        history.record(restored)
    return restored


@contextmanager
def _staged(
    source: SkillSource, roots: SkillRoots, limits: ArchiveLimits
) -> Iterator[tuple[InstalledSkill, Path]]:
    """Collect a skill next to its future location, and remove remaining files afterwards."""
    with _writable():
        make_open_folder(roots.custom)
        aside = make_staging_path(roots.custom, _STAGING_PREFIX)
        try:
            whole = aside / "skill"
            make_open_folder(aside)
            make_open_folder(whole)
            collected = source.collect(whole, limits)
            head = _read_front_matter(whole, collected.folder)
            yield _describe(whole, head, collected.origin, roots), whole
        finally:
            shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SkillRefused(f"The skill can't be written: {error.strerror or 'error'}.", status=507) from error


def _describe(whole: Path, head: FrontMatter, origin: SkillOrigin, roots: SkillRoots) -> InstalledSkill:
    files = [path for path in whole.rglob("*") if path.is_file()]
    programs = sorted(path.relative_to(whole).as_posix() for path in files if is_program(path))
    return InstalledSkill(
        name=head.name,
        description=head.description,
        executables=tuple(programs),
        notes=head.notes,
        findings=scan_folder(whole),
        replaces=_find_category(head.name, roots),
        origin=origin,
        version=head.version,
    )


def _find_category(name: str, roots: SkillRoots) -> str:
    """Return the category of the skill that currently has the name, or "" if there is none."""
    found = SkillDiscovery(roots).find_skills().by_name.get(name)
    return found.category if found else ""


def _put_in_place(found: InstalledSkill, whole: Path, roots: SkillRoots) -> None:
    """Move the files into place; the previous version's files go to its history, or back on failure."""
    history = SkillHistory(roots, found.name)
    installed = _find_installed(found.name, roots)
    now = time.time()
    if installed is not None:
        history.put_away(installed.folder, at=now)
    try:
        # `rename` replaces an empty folder only.
        whole.rename(roots.custom / found.name)
    except OSError:
        if installed is not None:
            history.folder_of(history.list_kept()[0]).rename(installed.folder)
        raise
    history.record(
        SkillVersion(
            number=history.next_number(),
            installed_at=now,
            current=True,
            version=found.version,
            **dataclasses.asdict(found.origin),
        )
    )


def _find_installed(name: str, roots: SkillRoots) -> Skill | None:
    found = SkillDiscovery(roots).find_skills().by_name.get(name)
    return found if found is not None and found.category == "custom" else None


def _require_installed(name: str, roots: SkillRoots) -> Skill:
    """Return the installed skill. Raises SkillUnknown, or SkillRefused for a bundled one."""
    found = SkillDiscovery(roots).find_skills().by_name.get(name)
    if found is None:
        raise SkillUnknown(name)
    if found.category != "custom":
        raise SkillRefused(f'The skill "{name}" is bundled; disable it instead.', status=409)
    return found


def _read_front_matter(whole: Path, folder: str) -> FrontMatter:
    file = next((whole / name for name in SKILL_FILES if (whole / name).is_file()), None)
    if file is None:
        raise SkillRefused(_describe_missing(whole))
    if file.stat().st_size > MAX_FILE_BYTES:
        raise SkillRefused(f"{file.name} is larger than {MAX_FILE_BYTES:,} bytes.", status=413)
    try:
        return parse_skill(decode_text(file.read_bytes(), file.name), file.name, folder=folder)[0]
    except ConfigErrors as error:
        raise SkillRefused("; ".join(str(error).splitlines())) from None


def _describe_missing(whole: Path) -> str:
    files = (path for name in SKILL_FILES for path in whole.rglob(name))
    below = sorted({path.parent.relative_to(whole).as_posix() for path in files})
    missing = f"The skill has no {SKILL_FILE} at its top level or in its only folder"
    if not below:
        return f"{missing}."
    more = f" and {len(below) - 5} more" if len(below) > 5 else ""
    return (
        f"{missing}, but there are skills in {len(below)} folders: {', '.join(below[:5])}{more}. "
        "Give the folder of one."
    )


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())
