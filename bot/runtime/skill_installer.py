"""Install, update, remove and restore skills through the management routes of an agent runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from agent.shared.schemas import SkillCheck, SkillInstalled, SkillVersionList
from bot.runtime.responses import raise_for_status, translated_errors

FETCH_TIMEOUT = httpx.Timeout(240.0, connect=5.0)
"""Time limit of a call that fetches a repository; the runtime gives up earlier."""


@dataclass(frozen=True, slots=True)
class SkillPlace:
    """A skill in a git repository: the `commit` (40 digits, "": the newest), and the `path` of its folder."""

    repository: str
    reference: str = ""
    commit: str = ""
    path: str = ""


class SkillChanges(Protocol):
    """Changes to the installed skills.

    All methods raise RuntimeRefused, with the reason, or RuntimeUnreachable.
    """

    async def check(self, place: SkillPlace) -> SkillCheck:
        """Look through a skill without installing it."""
        ...

    async def install(self, place: SkillPlace, *, replace: bool) -> SkillInstalled:
        """Install a skill, instead of an installed one with `replace`."""
        ...

    async def upgrade(self, name: str, commit: str) -> SkillInstalled:
        """Install a commit of the repository that a skill came from."""
        ...

    async def remove(self, name: str) -> None:
        """Remove an installed skill; it can be restored."""
        ...

    async def list_versions(self, name: str) -> SkillVersionList:
        """List the versions of an installed or removed skill, the newest first."""
        ...

    async def restore(self, name: str, number: int | None) -> SkillVersionList:
        """Put an earlier version in place, None: the last one before that in use."""
        ...


class SkillInstaller:
    """The changes by the management routes of a runtime."""

    def __init__(self, management: httpx.AsyncClient) -> None:
        self._management = management

    async def check(self, place: SkillPlace) -> SkillCheck:
        return SkillCheck.read(await self._call("POST", "check", json=_to_json(place)))

    async def install(self, place: SkillPlace, *, replace: bool) -> SkillInstalled:
        params = {"replace": "true" if replace else "false"}
        return SkillInstalled.read(await self._call("POST", "install", params=params, json=_to_json(place)))

    async def upgrade(self, name: str, commit: str) -> SkillInstalled:
        found = await self._call("POST", f"{_escape(name)}/upgrade", params={"commit": commit})
        return SkillInstalled.read(found)

    async def remove(self, name: str) -> None:
        await self._call("DELETE", _escape(name))

    async def list_versions(self, name: str) -> SkillVersionList:
        return SkillVersionList.read(await self._call("GET", f"{_escape(name)}/versions"))

    async def restore(self, name: str, number: int | None) -> SkillVersionList:
        found = await self._call("POST", f"{_escape(name)}/restore", json={"version": number})
        return SkillVersionList.read(found)

    async def _call(self, method: str, path: str, **options: Any) -> Any:
        with translated_errors():
            response = await self._management.request(
                method, f"/api/skills/{path}", timeout=FETCH_TIMEOUT, **options
            )
        raise_for_status(response)
        return response.json()


def _escape(name: str) -> str:
    return quote(name, safe="")


def _to_json(place: SkillPlace) -> dict[str, str]:
    return {
        "repository": place.repository,
        "reference": place.reference,
        "commit": place.commit,
        "path": place.path,
    }
