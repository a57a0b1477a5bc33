"""The skills that there are now, cheap to ask for."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from agent.config.extension_changes import CHANGES
from agent.config.extensions import Extensions
from agent.config.skills import SkillsConfig
from agent.core.home import make_private_folder
from agent.skills.discovery import SkillDiscovery
from agent.skills.skill import SkillRoots, SkillSet, resolve_roots

log = structlog.get_logger(__name__)
CHECK_SECONDS = 1.0


class SkillLibrary:
    """Skills below a home, or where the configuration says.

    The folders are looked at once a second at most, and at once after this process changed them.
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
        """The folder that skills are installed below, private. Blocking."""
        make_private_folder(self._home)

    def resolve_roots(self, config: SkillsConfig) -> SkillRoots:
        """The folders that the configuration means."""
        return resolve_roots(config, self._home)

    async def load_skills(self, config: SkillsConfig) -> SkillSet:
        """All skills: the same object as long as nothing changed."""
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
            discovery = SkillDiscovery(self.resolve_roots(config))
        self._config, self._discovery = config, discovery
        return discovery.find_skills()

    async def load_enabled(self, config: SkillsConfig, extensions: Extensions) -> SkillSet:
        """Those that are on: the same object as long as nothing changed."""
        found = await self.load_skills(config)
        if self._enabled is None or self._enabled[0] is not found or self._enabled[1] is not extensions:
            on = tuple(skill for skill in found.skills if extensions.is_skill_enabled(skill.name))
            before = self._enabled[2] if self._enabled else None
            self._enabled = (found, extensions, before if before and before.skills == on else SkillSet(on))
        return self._enabled[2]
