"""The methods of `agent.client.AgentClient` that concern skills."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.core.background_loop import BackgroundLoop
from agent.skills.git_source import GitSource
from agent.skills.install import source_of
from agent.skills.library import SkillManagement
from agent.skills.sources import SkillSource

Json = dict[str, Any]


class SkillCalls(ABC):
    """List, switch, install, update, remove and restore skills."""

    _loop: BackgroundLoop
    _skills: SkillManagement

    @abstractmethod
    def reset_agent(self) -> None:
        """Rebuild the agent at the next message."""

    def _apply_change(self, result: BaseModel) -> Json:
        self.reset_agent()
        return result.model_dump()

    def list_skills(self) -> Json:
        """Return `{"skills": [...], "problems": [...]}` (`agent.shared.schemas.SkillList`)."""
        return self._loop.run(self._skills.list_skills()).model_dump()

    def get_skill(self, name: str) -> Json:
        """Return one skill (`agent.shared.schemas.SkillInfo`). Raises SkillUnknown."""
        return self._loop.run(self._skills.get_skill(name)).model_dump()

    def update_skill(self, name: str, enabled: bool) -> Json:
        """Enable or disable a skill and rebuild the agent (`SkillInfo`). Raises SkillError."""
        return self._apply_change(self._loop.run(self._skills.set_enabled(name, enabled=enabled)))

    def check_skill(self, source: Path | str, **options: str) -> Json:
        """Look through a skill without installing it (`SkillCheck`). Raises SkillRefused.

        `source` and `options` are those of `install_skill`.
        """
        return self._loop.run(self._skills.check_skill(_find_source(source, options))).model_dump()

    def install_skill(self, source: Path | str, *, replace: bool = False, **options: str) -> Json:
        """Install a skill, instead of an installed one with `replace` (`SkillInstalled`). Raises
        SkillRefused.

        `source` is an archive, a folder, or the https address of a git repository with the `options`
        `reference` and `commit`. The option `path` is the skill's folder in it.
        """
        found = _find_source(source, options)
        return self._apply_change(self._loop.run(self._skills.install_skill(found, replace=replace)))

    def upgrade_skill(self, name: str, commit: str = "") -> Json:
        """Install the newest commit of a skill's repository, or a given one (`SkillInstalled`). Raises
        SkillError.
        """
        return self._apply_change(self._loop.run(self._skills.upgrade_skill(name, commit)))

    def remove_skill(self, name: str) -> Json:
        """Remove an installed skill; its versions are kept (`OperationResult`). Raises SkillError."""
        return self._apply_change(self._loop.run(self._skills.remove_skill(name)))

    def list_skill_versions(self, name: str) -> Json:
        """Return the versions of an installed or removed skill (`SkillVersionList`). Raises SkillUnknown."""
        return self._loop.run(self._skills.list_versions(name)).model_dump()

    def restore_skill(self, name: str, version: int | None = None) -> Json:
        """Restore an earlier version of a skill (`SkillVersionList`). Raises SkillError."""
        return self._apply_change(self._loop.run(self._skills.restore_skill(name, version)))


def _find_source(source: Path | str, options: dict[str, str]) -> SkillSource:
    if isinstance(source, str) and "://" in source:
        return GitSource.parse(source, **options)
    return source_of(Path(source), **{"within": options.pop("path", ""), **options})
