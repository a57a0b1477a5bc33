"""What the management methods and routes do with skills."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agent.config.errors import ConfigErrors
from agent.config.extension_changes import CHANGES
from agent.config.extensions_source import ExtensionsSource
from agent.core.schemas import SkillInfo, SkillInstalled, SkillList, SkillProblem
from agent.errors import SkillRefused, SkillUnknown
from agent.models.source import ModelSource
from agent.skills.install import install
from agent.skills.library import SkillLibrary
from agent.skills.skill import Skill, SkillSet


class SkillManagement:
    """Lists, switches and installs skills."""

    def __init__(self, source: ModelSource, extensions: ExtensionsSource, library: SkillLibrary) -> None:
        self._source, self._extensions, self._library = source, extensions, library

    async def listed(self) -> SkillList:
        """All skills, and the folders that hold none that can be used."""
        found, extensions = await self._found(), await self._extensions.current()
        return SkillList(
            skills=[_info(skill, extensions.skill_is_on(skill.name)) for skill in found.skills],
            problems=[SkillProblem(path=one.path, error=one.error) for one in found.broken],
        )

    async def one(self, name: str) -> SkillInfo:
        """One of them. Raises SkillUnknown."""
        skill = (await self._found()).by_name.get(name)
        if skill is None:
            raise SkillUnknown(name)
        return _info(skill, (await self._extensions.current()).skill_is_on(name))

    async def switch(self, name: str, *, enabled: bool) -> SkillInfo:
        """Switch it on or off. Raises SkillUnknown, or SkillRefused where the file can't take it."""
        skill = (await self._found()).by_name.get(name)
        if skill is None:
            raise SkillUnknown(name)

        def change(data: dict[str, Any]) -> None:
            states = data.get("skills") or {}
            states[name] = {**(states.get(name) or {}), "enabled": enabled}
            data["skills"] = states

        try:
            loaded = await self._extensions.change(change)
        except ConfigErrors as error:
            raise SkillRefused("; ".join(str(error).splitlines()), status=409) from error
        return _info(skill, loaded.config.skill_is_on(name))

    async def install(self, archive: Path) -> SkillInstalled:
        """Install it from an archive. Raises SkillRefused."""
        config = (await self._source.config()).skills
        await asyncio.to_thread(self._library.make_home)
        done = await asyncio.to_thread(lambda: install(archive, self._library.roots(config)))
        CHANGES.note()
        message = f'The skill "{done.name}" is installed.'
        if done.executables:
            names = ", ".join(done.executables[:5])
            more = f" and {len(done.executables) - 5} more" if len(done.executables) > 5 else ""
            message += f" It has files that can be run; look at them before you use it: {names}{more}."
        return SkillInstalled(
            success=True, skill_name=done.name, message=message, executables=list(done.executables)
        )

    async def _found(self) -> SkillSet:
        return await self._library.current((await self._source.config()).skills)


def _info(skill: Skill, enabled: bool) -> SkillInfo:
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
