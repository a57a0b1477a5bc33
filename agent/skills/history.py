"""Versions of installed skills: the current one, the origin of each, and the files of earlier ones.

The folder `history` next to `custom` has a folder for each skill with `versions.json` and the files of the
versions that are not in use. Blocking.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.core.paths import make_private_folder
from agent.shared.atomic_file import replace_file
from agent.skills.skill import SkillRoots
from agent.skills.sources import OriginKind

KEPT = 10
"""Number of versions of a skill that are kept besides the current one."""
RECORD = "versions.json"


class SkillVersion(BaseModel):
    """A version of a skill. `current` is True for the installed one; `installed_at` is in seconds since 1970.

    The other fields are those of `SkillOrigin`, and the version that the skill says it has.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    installed_at: float
    current: bool = False
    kind: OriginKind = "unknown"
    location: str = ""
    path: str = ""
    reference: str = ""
    commit: str = ""
    version: str | None = None


class SkillHistory:
    """The versions of a skill."""

    def __init__(self, roots: SkillRoots, name: str) -> None:
        self._folder = roots.history / name
        self.versions: Sequence[SkillVersion] = self._read()

    def _read(self) -> list[SkillVersion]:
        """Return the recorded versions; a damaged record counts as empty, and its files are kept."""
        try:
            stored = json.loads((self._folder / RECORD).read_bytes())
            return [SkillVersion.model_validate(one) for one in stored]
        except (OSError, ValueError, TypeError, ValidationError):
            return []

    @property
    def current(self) -> SkillVersion | None:
        return next((one for one in self.versions if one.current), None)

    def folder_of(self, version: SkillVersion) -> Path:
        """Return the folder with the files of a version that is not current."""
        return self._folder / str(version.number)

    def list_kept(self) -> list[SkillVersion]:
        """Return the versions with stored files, the newest first."""
        found = [one for one in self.versions if not one.current and self.folder_of(one).is_dir()]
        return sorted(found, key=lambda one: one.number, reverse=True)

    def next_number(self) -> int:
        """Return the number of the next version; numbers of removed versions are not reused."""
        stored = [int(path.name) for path in self._folder.glob("*") if path.name.isdigit()]
        return max([0, *stored, *(one.number for one in self.versions)]) + 1

    def put_away(self, folder: Path, *, at: float) -> None:
        """Move the current version's files here, including a version that was not installed."""
        make_private_folder(self._folder)
        current = self.current or SkillVersion(number=self.next_number(), installed_at=at)
        target = self.folder_of(current)
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        others = [one for one in self.versions if one.number != current.number]
        self._store([*others, current.model_copy(update={"current": False})])

    def record(self, version: SkillVersion) -> None:
        """Record the current version, and drop the oldest ones."""
        others = [one.model_copy(update={"current": False}) for one in self.versions]
        self._store([*(one for one in others if one.number != version.number), version])
        for old in self.list_kept()[KEPT:]:
            shutil.rmtree(self.folder_of(old), ignore_errors=True)

    def _store(self, versions: Sequence[SkillVersion]) -> None:
        self.versions = sorted(versions, key=lambda one: one.number)
        make_private_folder(self._folder)
        content = json.dumps([one.model_dump() for one in self.versions], ensure_ascii=False, indent=1)
        replace_file(self._folder / RECORD, content)
