"""The routes about skills."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.errors import SkillRefused
from agent.management.routes.endpoints import answer, guarded
from agent.management.routes.multipart import FileStart, files
from agent.management.routes.pagination import paged
from agent.runtime.http.responses import read_json, validate
from agent.skills.archive import ArchiveLimits
from agent.skills.management import SkillManagement
from agent.uploads.folders import ThreadFolders

SUFFIX = ".skill"


class SkillSwitch(BaseModel):
    """The body of `PUT /api/skills/{name}`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool


class FromThread(BaseModel):
    """The body of `POST /api/skills/install`: an archive among a thread's files, as the agent sees it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    thread_id: str
    path: str


class SkillRoutes:
    """Skills over HTTP; an archive comes as a form with one file, or lies in a thread."""

    def __init__(self, home: Path, skills: SkillManagement) -> None:
        self._folders = ThreadFolders(home)
        self._skills = skills

    def routes(self) -> list[BaseRoute]:
        """`/api/skills`, `/api/skills/{name}` and `/api/skills/install`."""
        return [
            Route("/api/skills", guarded(self.listing), methods=["GET"]),
            Route("/api/skills/install", guarded(self.install), methods=["POST"]),
            Route("/api/skills/{name}", guarded(self.one), methods=["GET"]),
            Route("/api/skills/{name}", guarded(self.switch), methods=["PUT"]),
        ]

    async def listing(self, request: Request) -> Response:
        """All skills."""
        return paged(request, await self._skills.list_skills(), "skills")

    async def one(self, request: Request) -> Response:
        """One skill."""
        return answer(await self._skills.get_skill(request.path_params["name"]))

    async def switch(self, request: Request) -> Response:
        """Switch a skill on or off."""
        body = validate(SkillSwitch, await read_json(request))
        return answer(await self._skills.set_enabled(request.path_params["name"], enabled=body.enabled))

    async def install(self, request: Request) -> Response:
        """Install a skill."""
        if request.headers.get("content-type", "").startswith("application/json"):
            body = validate(FromThread, await read_json(request))
            path = await asyncio.to_thread(self._folders.find, body.thread_id, body.path)
            _check_suffix(path.name)
            return answer(await self._skills.install_skill(path))
        with tempfile.TemporaryDirectory(prefix="roebot-skill-") as folder:
            return answer(await self._skills.install_skill(await _received(request, Path(folder))))


async def _received(request: Request, folder: Path) -> Path:
    """The one file of the form, below the folder. Raises FileRefused or SkillRefused."""
    path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
    limit = ArchiveLimits().archive_bytes
    size = count = 0
    with await asyncio.to_thread(_made, path) as file:
        async for event in files(request.headers.get("content-type", ""), request.stream()):
            if isinstance(event, FileStart):
                count += 1
                _check_suffix(event.filename)
            else:
                size += len(event.data)
                await asyncio.to_thread(file.write, event.data)
            if count > 1:
                raise SkillRefused("Send one archive at a time.")
            if size > limit:
                raise SkillRefused(f"The archive is larger than {limit // 1_000_000} MB.", status=413)
    if not count:
        raise SkillRefused("There is no file in this form.")
    return path


def _made(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _check_suffix(name: str) -> None:
    if not name.lower().endswith(SUFFIX):
        raise SkillRefused("A skill is installed from a file that ends in .skill.")
