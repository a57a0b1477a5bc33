"""Operations of the agent's management API: their routes, and a Protocol for other processes.

An operation is a method. Its parameters are those of its route: the ones in the path, the fields of the
operation's `body`, or a parameter that is a model and the whole body; all others are in the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from pydantic import BaseModel

from agent.shared.memory_document import MemoryDocument
from agent.shared.schemas import (
    AgentList,
    ConfigReport,
    DeletionResult,
    McpServerList,
    McpServerState,
    McpServerSwitch,
    ModelList,
    OperationResult,
    RecordingTranscript,
    RestoredVersion,
    SkillCheck,
    SkillInfo,
    SkillInRepository,
    SkillInstalled,
    SkillList,
    SkillSwitch,
    SkillVersionList,
)

F = TypeVar("F", bound=Callable[..., Any])
_OPERATION: Final = "__operation__"
FETCH_SECONDS: Final = 240.0
"""Time limit of a call that fetches a repository; the runtime gives up earlier."""
TRANSCRIPT_SECONDS: Final = 330.0
"""Time limit of a transcription; the runtime gives up after five minutes at most."""


@dataclass(frozen=True, slots=True)
class ManagementOperation:
    """The route of an operation.

    `seconds` is the time after which a client gives up, None for the client's own. `largest_body` is in
    bytes. `location` is the path of what was created, with fields of the result.
    """

    method: str
    path: str
    body: type[BaseModel] | None = None
    seconds: float | None = None
    largest_body: int = 65_536
    status: int = 200
    location: str = ""


def operation(method: str, path: str, **options: Any) -> Callable[[F], F]:
    """Mark a method as an operation; `options` are fields of `ManagementOperation`."""

    def declare(function: F) -> F:
        setattr(function, _OPERATION, ManagementOperation(method, path, **options))
        return function

    return declare


def list_operations(kind: type) -> Iterator[tuple[str, ManagementOperation]]:
    """Yield a class's operations, including overrides of methods with a route."""
    for name in vars(kind):
        declared = (getattr(vars(base).get(name), _OPERATION, None) for base in kind.__mro__)
        found = next(filter(None, declared), None)
        if found is not None:
            yield name, found


class ModelOperations(Protocol):
    """Models, and their configuration."""

    @operation("GET", "/api/models")
    async def list_models(self) -> ModelList:
        """List the available models."""
        ...

    @operation("GET", "/api/config/problems")
    async def list_config_problems(self) -> ConfigReport:
        """Check the configuration and list its problems."""
        ...


class AgentOperations(Protocol):
    """Custom agents."""

    @operation("GET", "/api/agents")
    async def list_agents(self) -> AgentList:
        """List the custom agents."""
        ...


class McpOperations(Protocol):
    """MCP servers."""

    @operation("GET", "/api/mcp/servers")
    async def list_mcp_servers(self) -> McpServerList:
        """List the MCP servers with their state and tools."""
        ...

    @operation("PUT", "/api/mcp/servers/{name}", body=McpServerSwitch)
    async def switch_mcp_server(
        self, name: str, enabled: bool | None = None, tools: list[str] | None = None
    ) -> McpServerState:
        """Enable or disable an MCP server, or choose the tools that the agent gets."""
        ...


class SkillOperations(Protocol):
    """Skills."""

    @operation("GET", "/api/skills")
    async def list_skills(self) -> SkillList:
        """List all skills, including unavailable ones."""
        ...

    @operation("PUT", "/api/skills/{name}", body=SkillSwitch)
    async def switch_skill(self, name: str, enabled: bool) -> SkillInfo:
        """Enable or disable a skill."""
        ...

    @operation("DELETE", "/api/skills/{name}", seconds=FETCH_SECONDS)
    async def remove_skill(self, name: str) -> OperationResult:
        """Remove an installed skill; its versions are kept."""
        ...

    @operation("GET", "/api/skills/{name}/versions", seconds=FETCH_SECONDS)
    async def list_versions(self, name: str) -> SkillVersionList:
        """List the versions of an installed or removed skill."""
        ...

    @operation("POST", "/api/skills/{name}/upgrade", seconds=FETCH_SECONDS)
    async def upgrade_skill(self, name: str, commit: str = "") -> SkillInstalled:
        """Install the newest commit of the skill's git repository, or the one with these 40 digits."""
        ...

    @operation("POST", "/api/skills/{name}/restore", body=RestoredVersion, seconds=FETCH_SECONDS)
    async def restore_skill(self, name: str, version: int | None = None) -> SkillVersionList:
        """Restore an earlier version of a skill, also of a removed one."""
        ...


class MemoryOperations(Protocol):
    """Memory. `scope` is its owner, None for the default."""

    @operation("GET", "/api/memory")
    async def get_memory(self, scope: str | None = None) -> MemoryDocument:
        """Export all memory."""
        ...

    @operation("DELETE", "/api/memory")
    async def delete_memory(self, scope: str | None = None) -> OperationResult:
        """Delete all memory."""
        ...

    @operation("DELETE", "/api/memory/facts/{fact}")
    async def delete_fact(self, fact: str, scope: str | None = None) -> OperationResult:
        """Delete a fact."""
        ...


class FileOperations(Protocol):
    """Files of a thread."""

    @operation("POST", "/api/threads/{thread_id}/uploads/{filename}/transcript", seconds=TRANSCRIPT_SECONDS)
    async def transcribe_upload(self, thread_id: str, filename: str) -> RecordingTranscript:
        """Transcribe an uploaded recording.

        It is transcribed only once; later requests return the stored transcript.
        """
        ...

    @operation("DELETE", "/api/threads/{thread_id}")
    async def delete_thread_data(self, thread_id: str) -> DeletionResult:
        """Delete all local data of a thread."""
        ...


class Management(
    ModelOperations,
    AgentOperations,
    McpOperations,
    SkillOperations,
    MemoryOperations,
    FileOperations,
    Protocol,
):
    """The operations for other processes. Skills that they install are in git repositories."""

    @operation("POST", "/api/skills/check", seconds=FETCH_SECONDS)
    async def check_skill(self, body: SkillInRepository) -> SkillCheck:
        """Look through a skill without installing it."""
        ...

    @operation("POST", "/api/skills/install", seconds=FETCH_SECONDS)
    async def install_skill(self, body: SkillInRepository, replace: bool = False) -> SkillInstalled:
        """Install a skill, with `replace` instead of an installed one."""
        ...
