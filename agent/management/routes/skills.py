"""Endpoints that look through or install a skill.

A skill to install is an archive, uploaded as a form with one file or already in a thread's files, or in a git
repository.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError

from agent.errors import Invalid, SkillRefused
from agent.management.routes.multipart import FILES_SCHEMA, FileStart, read_files
from agent.shared.connection_limits import LARGEST_BODY
from agent.shared.management import operation
from agent.shared.schemas import SkillCheck, SkillInRepository, SkillInstalled
from agent.skills.archive import ArchiveLimits
from agent.skills.git_source import GitSource
from agent.skills.library import SkillManagement
from agent.skills.sources import ArchiveSource, SkillSource
from agent.uploads.folders import ThreadFolders

SUFFIXES = (".skill", ".zip")


class SkillInThread(BaseModel):
    """Skill archive in a thread's files. `path` is the virtual path that the agent sees, and `folder` that of
    the skill if the archive has several.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    thread_id: str
    path: str
    folder: str = ""


_INSTALL_BODY: Final = {
    "requestBody": {
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [SkillInThread.model_json_schema(), SkillInRepository.model_json_schema()]
                }
            },
            "multipart/form-data": {"schema": FILES_SCHEMA},
        }
    }
}


class SkillEndpoints:
    """Checks and installs skills."""

    options: Final = {name: {"openapi_extra": _INSTALL_BODY} for name in ("install_skill", "check_skill")}

    def __init__(self, home: Path, skills: SkillManagement) -> None:
        self._folders = ThreadFolders(home)
        self._skills = skills

    @operation("POST", "/api/skills/install", largest_body=LARGEST_BODY)
    async def install_skill(
        self, request: Request, replace: bool = False, folder: str = ""
    ) -> SkillInstalled:
        """Install a skill from an archive or a git repository. With `replace`, it may replace an installed
        one.

        `folder` is that of the skill in an uploaded archive with several.
        """
        async with self._read_source(request, folder) as source:
            return await self._skills.install_skill(source, replace=replace)

    @operation("POST", "/api/skills/check", largest_body=LARGEST_BODY)
    async def check_skill(self, request: Request, folder: str = "") -> SkillCheck:
        """Look through a skill in an archive or a git repository without installing it."""
        async with self._read_source(request, folder) as source:
            return await self._skills.check_skill(source)

    @asynccontextmanager
    async def _read_source(self, request: Request, within: str) -> AsyncIterator[SkillSource]:
        """Read where the skill is; an uploaded archive exists until the end."""
        if request.headers.get("content-type", "").startswith("application/json"):
            body = _parse_place(await request.json())
            if isinstance(body, SkillInRepository):
                yield GitSource.parse(
                    body.repository, reference=body.reference, commit=body.commit, path=body.path
                )
                return
            path = await asyncio.to_thread(self._folders.find, body.thread_id, body.path)
            _check_suffix(path.name)
            yield ArchiveSource(path, path=body.folder)
            return
        with tempfile.TemporaryDirectory(prefix="roebot-skill-") as folder:
            received = await _receive_archive(request, Path(folder))
            yield dataclasses.replace(received, path=within)


def _parse_place(body: Any) -> SkillInThread | SkillInRepository:
    try:
        if isinstance(body, dict) and "repository" in body:
            return SkillInRepository.model_validate(body)
        return SkillInThread.model_validate(body)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors())
        raise Invalid("; ".join(problems)) from error


async def _receive_archive(request: Request, folder: Path) -> ArchiveSource:
    """Store the form's only file in `folder`. Raises FileRefused or SkillRefused."""
    path = folder / f"{secrets.token_hex(8)}{SUFFIXES[0]}"
    limit = ArchiveLimits().archive_bytes
    size = count = 0
    name = ""
    with await asyncio.to_thread(_create_file, path) as file:
        async for event in read_files(request.headers.get("content-type", ""), request.stream()):
            if isinstance(event, FileStart):
                count += 1
                name = event.filename
                _check_suffix(name)
            else:
                size += len(event.data)
                await asyncio.to_thread(file.write, event.data)
            if count > 1:
                raise SkillRefused("Upload one archive at a time.")
            if size > limit:
                raise SkillRefused(f"The archive is larger than {limit // 1_000_000} MB.", status=413)
    if not count:
        raise SkillRefused("The form contains no file.")
    return ArchiveSource(path, name)


def _create_file(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _check_suffix(name: str) -> None:
    if not name.lower().endswith(SUFFIXES):
        raise SkillRefused("The name of a skill archive must end in .skill or .zip.")
