"""Routes of MCP servers and skills."""

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

from fastapi import APIRouter, Request
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, StrictInt, ValidationError

from agent.core.schemas import (
    ErasedSignIns,
    McpConfig,
    McpServerList,
    McpSignIn,
    OperationResult,
)
from agent.errors import Invalid, SkillRefused
from agent.management.routes.base import (
    FILES_SCHEMA,
    FileStart,
    ManagementRoute,
    PageCursor,
    PageLimit,
    management_router,
    read_files,
    select_page,
)
from agent.mcp.management import McpManagement
from agent.shared.json_routes import LARGEST_BODY
from agent.shared.schemas import (
    McpServerState,
    SkillCheck,
    SkillInfo,
    SkillInstalled,
    SkillList,
    SkillVersionList,
)
from agent.skills.archive import ArchiveLimits
from agent.skills.git_source import GitSource
from agent.skills.library import SkillManagement
from agent.skills.sources import ArchiveSource, SkillSource
from agent.uploads.folders import ThreadFolders

SUFFIXES = (".skill", ".zip")


class ExtensionRoute(ManagementRoute):
    """A route with a body limit for long configurations."""

    largest_body = LARGEST_BODY


class McpServerSwitch(BaseModel):
    """New state of an MCP server."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool


class McpConfigUpdate(BaseModel):
    """MCP servers by name, in the format of the extensions file, under `mcp_servers` or `mcpServers`."""

    model_config = ConfigDict(extra="forbid")
    mcp_servers: dict[str, dict[str, Any]] = Field(validation_alias=AliasChoices("mcp_servers", "mcpServers"))


class SkillSwitch(BaseModel):
    """New state of a skill."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool


class SkillInThread(BaseModel):
    """Skill archive in a thread's files. `path` is the virtual path that the agent sees, and `folder` that of
    the skill if the archive has several.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    thread_id: str
    path: str
    folder: str = ""


class ProviderAnswer(BaseModel):
    """The query with which a provider sends a person's browser back."""

    model_config = ConfigDict(extra="forbid", strict=True)
    state: str
    code: str = ""
    error: str = ""


class SignedInPerson(BaseModel):
    """A person as `platform:id`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    person: str = Field(min_length=1)


class McpRoutes:
    """Routes of MCP servers."""

    def __init__(self, servers: McpManagement) -> None:
        self._servers = servers

    def router(self) -> APIRouter:
        """Return the routes."""
        router = management_router("mcp", prefix="/api/mcp", route_class=ExtensionRoute)
        router.get("/config")(self.get_mcp_config)
        router.put("/config")(self.replace_mcp_config)
        router.get("/servers")(self.list_mcp_servers)
        router.put("/servers/{name}")(self.switch_mcp_server)
        router.get("/sign-ins/link")(self.find_sign_in)
        router.post("/sign-ins/complete")(self.complete_sign_in)
        router.post("/sign-ins/erase")(self.erase_sign_ins)
        return router

    async def get_mcp_config(self) -> McpConfig:
        """Return the MCP configuration without secrets."""
        return await self._servers.load_config()

    async def replace_mcp_config(self, body: McpConfigUpdate) -> McpConfig:
        """Replace the MCP configuration."""
        return await self._servers.replace_servers(body.mcp_servers)

    async def list_mcp_servers(self, limit: PageLimit = None, cursor: PageCursor = "") -> McpServerList:
        """List the MCP servers with their state and tools."""
        return select_page(await self._servers.list_servers(), "servers", limit, cursor)

    async def find_sign_in(self, ticket: str) -> McpSignIn:
        """Return the sign-in of a link, with the address of the provider."""
        return self._servers.find_sign_in(ticket)

    async def complete_sign_in(self, body: ProviderAnswer) -> McpSignIn:
        """Complete a sign-in with what the provider sent."""
        return self._servers.complete_sign_in(body.state, body.code, body.error)

    async def erase_sign_ins(self, body: SignedInPerson) -> ErasedSignIns:
        """Sign a person out of all MCP servers and delete their tokens."""
        return ErasedSignIns(sign_ins=await self._servers.erase_sign_ins(body.person))

    async def switch_mcp_server(self, name: str, body: McpServerSwitch) -> McpServerState:
        """Enable or disable an MCP server."""
        return await self._servers.set_enabled(name, enabled=body.enabled)


class SkillInRepository(BaseModel):
    """Skill in a git repository.

    `repository` is its https address, or that of a folder in GitHub or GitLab's pages. `reference` is a
    branch or tag (default: the default branch), `commit` the 40 digits of a commit, and `path` the skill's
    folder.
    """

    model_config = ConfigDict(extra="forbid")

    repository: str
    reference: str = ""
    commit: str = ""
    path: str = ""


class RestoredVersion(BaseModel):
    """The version to restore; null: the last one before the current one."""

    model_config = ConfigDict(extra="forbid")

    version: StrictInt | None = None


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


class SkillRoutes:
    """Routes of skills. A skill to install is an archive, uploaded as a form with one file or already in a
    thread's files, or in a git repository.
    """

    def __init__(self, home: Path, skills: SkillManagement) -> None:
        self._folders = ThreadFolders(home)
        self._skills = skills

    def router(self) -> APIRouter:
        """Return the routes."""
        router = management_router("skills", prefix="/api/skills", route_class=ExtensionRoute)
        router.get("")(self.list_skills)
        router.post("/install", openapi_extra=_INSTALL_BODY)(self.install_skill)
        router.post("/check", openapi_extra=_INSTALL_BODY)(self.check_skill)
        router.get("/{name}")(self.get_skill)
        router.put("/{name}")(self.switch_skill)
        router.delete("/{name}")(self.remove_skill)
        router.get("/{name}/versions")(self.list_versions)
        router.post("/{name}/upgrade")(self.upgrade_skill)
        router.post("/{name}/restore")(self.restore_skill)
        return router

    async def list_skills(self, limit: PageLimit = None, cursor: PageCursor = "") -> SkillList:
        """List all skills, including unavailable ones."""
        return select_page(await self._skills.list_skills(), "skills", limit, cursor)

    async def get_skill(self, name: str) -> SkillInfo:
        """Return a skill."""
        return await self._skills.get_skill(name)

    async def switch_skill(self, name: str, body: SkillSwitch) -> SkillInfo:
        """Enable or disable a skill."""
        return await self._skills.set_enabled(name, enabled=body.enabled)

    async def install_skill(
        self, request: Request, replace: bool = False, folder: str = ""
    ) -> SkillInstalled:
        """Install a skill from an archive or a git repository, with `replace` instead of an installed one.

        `folder` is that of the skill in an uploaded archive with several.
        """
        async with self._read_source(request, folder) as source:
            return await self._skills.install_skill(source, replace=replace)

    async def check_skill(self, request: Request, folder: str = "") -> SkillCheck:
        """Look through a skill in an archive or a git repository without installing it."""
        async with self._read_source(request, folder) as source:
            return await self._skills.check_skill(source)

    async def remove_skill(self, name: str) -> OperationResult:
        """Remove an installed skill; its versions are kept."""
        return await self._skills.remove_skill(name)

    async def list_versions(self, name: str) -> SkillVersionList:
        """List the versions of an installed or removed skill."""
        return await self._skills.list_versions(name)

    async def upgrade_skill(self, name: str, commit: str = "") -> SkillInstalled:
        """Install the newest commit of the skill's git repository, or the one with these 40 digits."""
        return await self._skills.upgrade_skill(name, commit)

    async def restore_skill(self, name: str, body: RestoredVersion) -> SkillVersionList:
        """Restore an earlier version of a skill, also of a removed one."""
        return await self._skills.restore_skill(name, body.version)

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
