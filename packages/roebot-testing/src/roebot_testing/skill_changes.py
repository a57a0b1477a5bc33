"""Skills that can be installed, in memory, for tests of the commands."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.shared.schemas import SkillCheck, SkillInstalled, SkillVersionInfo, SkillVersionList
from bot.errors import RuntimeRefused
from bot.runtime.skill_installer import SkillPlace


@dataclass(slots=True)
class ScriptedSkillChanges:
    """`found` are the skills by repository; `versions` those of installed or removed skills by name.

    `done` is what was changed.
    """

    found: dict[str, SkillCheck] = field(default_factory=dict)
    versions: dict[str, list[SkillVersionInfo]] = field(default_factory=dict)
    done: list[tuple[str, ...]] = field(default_factory=list)

    async def check(self, place: SkillPlace) -> SkillCheck:
        if place.repository not in self.found:
            raise RuntimeRefused(502, "The repository can't be read: not found.")
        return self.found[place.repository]

    async def install(self, place: SkillPlace, *, replace: bool) -> SkillInstalled:
        one = await self.check(place)
        self.done.append(("install", place.repository, place.path, place.commit, str(replace)))
        return make_installed(one.name)

    async def upgrade(self, name: str, commit: str) -> SkillInstalled:
        self._require(name)
        self.done.append(("upgrade", name, commit))
        return make_installed(name)

    async def remove(self, name: str) -> None:
        self._require(name)
        self.done.append(("remove", name))

    async def list_versions(self, name: str) -> SkillVersionList:
        self._require(name)
        return SkillVersionList(versions=self.versions[name])

    async def restore(self, name: str, number: int | None) -> SkillVersionList:
        self._require(name)
        self.done.append(("restore", name, str(number)))
        return SkillVersionList(versions=self.versions[name])

    def _require(self, name: str) -> None:
        if name not in self.versions:
            raise RuntimeRefused(404, f"There is no skill named {name}.")


def make_installed(name: str) -> SkillInstalled:
    """Return the result of an installation."""
    return SkillInstalled(success=True, skill_name=name, message="", executables=[])
