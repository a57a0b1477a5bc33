"""What the management methods and routes do with skills."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent.catalog.source import ModelSource
from agent.config.errors import ConfigErrors
from agent.config.extension_changes import CHANGES
from agent.config.extensions_source import ExtensionsSource
from agent.core.schemas import SkillInfo, SkillInstalled, SkillList, SkillProblem
from agent.errors import SkillRefused, SkillUnknown
from agent.skills.install import install_skill
from agent.skills.library import SkillLibrary
from agent.skills.skill import Skill, SkillSet


class SkillManagement:
    """Lists, switches and installs skills."""

    def __init__(self, source: ModelSource, extensions: ExtensionsSource, library: SkillLibrary) -> None:
        self._source, self._extensions, self._library = source, extensions, library

    async def list_skills(self) -> SkillList:
        """All skills, and the folders that hold none that can be used."""
        found, extensions = await self._load_skills(), await self._extensions.get_extensions()
        return SkillList(
            skills=[_to_info(skill, extensions.is_skill_enabled(skill.name)) for skill in found.skills],
            problems=[SkillProblem(path=one.path, error=one.error) for one in found.broken],
        )

    async def get_skill(self, name: str) -> SkillInfo:
        """One of them. Raises SkillUnknown."""
        skill = (await self._load_skills()).by_name.get(name)
        if skill is None:
            raise SkillUnknown(name)
        return _to_info(skill, (await self._extensions.get_extensions()).is_skill_enabled(name))

    async def set_enabled(self, name: str, *, enabled: bool) -> SkillInfo:
        """Switch it on or off. Raises SkillUnknown, or SkillRefused where the file can't take it."""
        skill = (await self._load_skills()).by_name.get(name)
        if skill is None:
            raise SkillUnknown(name)

        def change(data: dict[str, Any]) -> None:
            states = data.get("skills") or {}
            states[name] = {**(states.get(name) or {}), "enabled": enabled}
            data["skills"] = states

        try:
            loaded = await self._extensions.change_file(change)
        except ConfigErrors as error:
            raise SkillRefused("; ".join(str(error).splitlines()), status=409) from error
        return _to_info(skill, loaded.config.is_skill_enabled(name))

    async def install_skill(self, archive: Path) -> SkillInstalled:
        """Install it from an archive. Raises SkillRefused."""
        config = (await self._source.config()).skills
        await asyncio.to_thread(self._library.create_home)
        done = await asyncio.to_thread(lambda: install_skill(archive, self._library.resolve_roots(config)))
        CHANGES.record()
        message = f'The skill "{done.name}" is installed.'
        if done.executables:
            names = ", ".join(done.executables[:5])
            more = f" and {len(done.executables) - 5} more" if len(done.executables) > 5 else ""
            message += f" It has files that can be run; look at them before you use it: {names}{more}."
        return SkillInstalled(
            success=True, skill_name=done.name, message=message, executables=list(done.executables)
        )

    async def _load_skills(self) -> SkillSet:
        return await self._library.load_skills((await self._source.config()).skills)


def _to_info(skill: Skill, enabled: bool) -> SkillInfo:
    return SkillInfo(
        name=skill.name,
        description=skill.description,
        category=skill.category,
        path=skill.path,
        enabled=enabled,
        license=skill.license,
        allowed_tools=None if skill.allowed_tools is None else list(skill.allowed_tools),
        version=skill.version,
        author=skill.author,
        compatibility=skill.compatibility,
    )
