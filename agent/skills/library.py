"""The current skills, cached, and their management."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import os
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agent.catalog.source import ModelSource
from agent.config.errors import ConfigErrors
from agent.config.extensions import Extensions
from agent.config.extensions_file import CHANGES, ExtensionsSource
from agent.config.harness import SkillsConfig
from agent.core.paths import make_private_folder
from agent.errors import SkillRefused, SkillUnknown
from agent.shared.json_text import as_mapping
from agent.shared.management import SkillOperations, operation
from agent.shared.schemas import (
    OperationResult,
    SkillCheck,
    SkillFindingInfo,
    SkillInfo,
    SkillInstalled,
    SkillList,
    SkillProblem,
    SkillVersionInfo,
    SkillVersionList,
)
from agent.skills.discovery import SkillDiscovery
from agent.skills.front_matter import normalize_name
from agent.skills.history import SkillHistory
from agent.skills.install import (
    InstalledSkill,
    check_skill,
    install_skill,
    remove_skill,
    restore_skill,
    update_skill,
)
from agent.skills.skill import Skill, SkillRoots, SkillSet, resolve_roots
from agent.skills.sources import SkillSource

log = structlog.get_logger(__name__)
CHECK_SECONDS = 1.0
T = TypeVar("T")


def check_name(name: str) -> str:
    """Return a valid skill name, which may be a folder name. Raises SkillUnknown."""
    if not name or normalize_name(name) != name:
        raise SkillUnknown(name)
    return name


class SkillLibrary:
    """The skills of a data directory, or of the configured folder.

    The folders are checked at most once a second, and at once after a change by this process.
    """

    def __init__(self, home: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._clock = clock
        self._config: SkillsConfig | None = None
        self._discovery: SkillDiscovery | None = None
        self._set = SkillSet()
        self._enabled: tuple[SkillSet, Extensions, SkillSet] | None = None
        self._check_at = -math.inf
        self._seen = -1

    def create_home(self) -> None:
        """Create the private folder for installed skills. Blocking."""
        make_private_folder(self._home)

    def resolve_roots(self, config: SkillsConfig) -> SkillRoots:
        return resolve_roots(config, self._home)

    async def load_skills(self, config: SkillsConfig) -> SkillSet:
        """Return all skills, as the same object while nothing changes."""
        now, changes = self._clock(), CHANGES.count
        is_fresh = now < self._check_at and changes == self._seen
        if is_fresh and config == self._config:
            return self._set
        self._check_at, self._seen = now + CHECK_SECONDS, changes
        found = await asyncio.to_thread(self._discover_skills, config)
        if found is not self._set:
            for broken in set(found.broken) - set(self._set.broken):
                log.warning("skill_broken", skill=broken.path, detail=broken.error)
            self._set = found
        return self._set

    def _discover_skills(self, config: SkillsConfig) -> SkillSet:
        discovery = self._discovery
        if discovery is None or config != self._config:
            # Commands of a service that runs as root run as other users (see agent.sandbox.run_as).
            discovery = SkillDiscovery(self.resolve_roots(config), open_to_all=os.geteuid() == 0)
        self._config, self._discovery = config, discovery
        return discovery.find_skills()

    async def load_enabled(self, config: SkillsConfig, extensions: Extensions) -> SkillSet:
        """Return the enabled skills, as the same object while nothing changes."""
        found = await self.load_skills(config)
        if self._enabled is None or self._enabled[0] is not found or self._enabled[1] is not extensions:
            on = tuple(skill for skill in found.skills if extensions.is_skill_enabled(skill.name))
            before = self._enabled[2] if self._enabled else None
            self._enabled = (found, extensions, before if before and before.skills == on else SkillSet(on))
        return self._enabled[2]


class SkillManagement(SkillOperations):
    """Lists, enables, installs, updates, removes and restores skills. Raises SkillUnknown, and SkillRefused
    for an impossible change.
    """

    def __init__(self, source: ModelSource, extensions: ExtensionsSource, library: SkillLibrary) -> None:
        self._source, self._extensions, self._library = source, extensions, library

    async def list_skills(self) -> SkillList:
        found, extensions = await self._load_skills(), await self._extensions.get_extensions()
        variables = await self._list_variables()
        return SkillList(
            skills=[
                _to_info(skill, extensions.is_skill_enabled(skill.name), variables) for skill in found.skills
            ],
            problems=[SkillProblem(path=one.path, error=one.error) for one in found.broken],
        )

    @operation("GET", "/api/skills/{name}")
    async def get_skill(self, name: str) -> SkillInfo:
        """Return a skill."""
        skill = await self._find_skill(name)
        enabled = (await self._extensions.get_extensions()).is_skill_enabled(name)
        return _to_info(skill, enabled, await self._list_variables())

    async def switch_skill(self, name: str, enabled: bool) -> SkillInfo:
        skill = await self._find_skill(name)

        def change(data: dict[str, Any]) -> None:
            states = data.get("skills") or {}
            states[name] = {**(states.get(name) or {}), "enabled": enabled}
            data["skills"] = states

        try:
            loaded = await self._extensions.change_file(change)
        except ConfigErrors as error:
            raise SkillRefused("; ".join(str(error).splitlines()), status=409) from error
        enabled_now = loaded.config.is_skill_enabled(name)
        return _to_info(skill, enabled_now, await self._list_variables())

    async def check_skill(self, source: SkillSource) -> SkillCheck:
        """Return the skill that would be installed, and findings to review. Raises SkillRefused."""
        found = await self._run(lambda roots: check_skill(source, roots))
        return SkillCheck(
            name=found.name,
            description=found.description,
            version=found.version,
            executables=list(found.executables),
            notes=list(found.notes),
            findings=_to_findings(found),
            replaces=found.replaces,
            commit=found.origin.commit,
        )

    async def install_skill(self, source: SkillSource, *, replace: bool = False) -> SkillInstalled:
        """Install a skill, with `replace` over an installed one. Raises SkillRefused."""
        done = await self._run(lambda roots: install_skill(source, roots, replace=replace))
        message = f'The skill "{done.name}" is installed.'
        if done.replaces == "public":
            message += " It replaces the bundled skill with this name."
        return _to_installed(done, message)

    async def upgrade_skill(self, name: str, commit: str = "") -> SkillInstalled:
        done = await self._run(lambda roots: update_skill(check_name(name), roots, commit=commit))
        if not done.is_new:
            return _to_installed(done, f'The skill "{name}" is up to date.')
        return _to_installed(done, f'The skill "{name}" is updated to commit {done.origin.commit[:12]}.')

    async def remove_skill(self, name: str) -> OperationResult:
        await self._run(lambda roots: remove_skill(check_name(name), roots))
        return OperationResult(success=True, message=f'The skill "{name}" is removed. It can be restored.')

    async def list_versions(self, name: str) -> SkillVersionList:
        history = await self._run(lambda roots: SkillHistory(roots, check_name(name)))
        if not history.versions and name not in (await self._load_skills()).by_name:
            raise SkillUnknown(name)
        kept = {one.number for one in await asyncio.to_thread(history.list_kept)}
        found = [SkillVersionInfo(**one.model_dump(), kept=one.number in kept) for one in history.versions]
        return SkillVersionList(versions=found[::-1])

    async def restore_skill(self, name: str, version: int | None = None) -> SkillVersionList:
        await self._run(lambda roots: restore_skill(check_name(name), roots, version))
        return await self.list_versions(name)

    async def _run(self, work: Callable[[SkillRoots], T]) -> T:
        """Perform blocking work on the folders, and reread the skills."""
        config = (await self._source.config()).skills
        await asyncio.to_thread(self._library.create_home)
        done = await asyncio.to_thread(work, self._library.resolve_roots(config))
        CHANGES.record()
        return done

    async def _list_variables(self) -> Mapping[str, Collection[str]]:
        """Return the names of the configured variables for commands, by skill ("": all)."""
        keys = (await self._source.config()).sandbox.extra_arguments()
        found = {"": keys.get("environment"), **as_mapping(keys.get("skill_environment"))}
        return {name: frozenset(as_mapping(variables)) for name, variables in found.items()}

    async def _find_skill(self, name: str) -> Skill:
        skill = (await self._load_skills()).by_name.get(name)
        if skill is None:
            raise SkillUnknown(name)
        return skill

    async def _load_skills(self) -> SkillSet:
        return await self._library.load_skills((await self._source.config()).skills)


def _to_info(skill: Skill, enabled: bool, variables: Mapping[str, Collection[str]]) -> SkillInfo:
    known = {*variables.get("", ()), *variables.get(skill.folder.name, ())}
    missing = [name for name in skill.secrets if name not in known]
    more = [f"Its scripts need {', '.join(missing)}; set it in sandbox.skill_environment."] if missing else []
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
        required_secrets=list(skill.secrets),
        notes=[*skill.notes, *more],
    )


def _to_findings(found: InstalledSkill) -> list[SkillFindingInfo]:
    return [SkillFindingInfo(**dataclasses.asdict(one)) for one in found.findings]


def _to_installed(done: InstalledSkill, message: str) -> SkillInstalled:
    if done.executables:
        names = ", ".join(done.executables[:5])
        more = f" and {len(done.executables) - 5} more" if len(done.executables) > 5 else ""
        message += f" It contains executable files; review them before you use it: {names}{more}."
    return SkillInstalled(
        success=True,
        skill_name=done.name,
        message=message,
        executables=list(done.executables),
        notes=list(done.notes),
        findings=_to_findings(done),
    )
