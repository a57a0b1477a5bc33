"""Management routes of the agent, for the runtime's server."""

from __future__ import annotations

from pathlib import Path

import structlog
from starlette.requests import Request
from starlette.routing import BaseRoute

from agent.catalog.preflight import refused
from agent.catalog.source import ModelSource, register_source
from agent.config.extensions_file import ExtensionsSource
from agent.config.harness import MemoryConfig
from agent.core.schemas import Health
from agent.management.agents import AgentManagement
from agent.management.models import ModelManagement
from agent.management.routes.base import make_routes
from agent.management.routes.files import FileEndpoints
from agent.management.routes.skills import SkillEndpoints
from agent.management.routes.suggestions import SuggestionEndpoints
from agent.management.thread_files import ThreadFiles
from agent.mcp.management import McpManagement
from agent.memory.service import MemoryManagement
from agent.runtime.http.base import OpenRuntime
from agent.shared.management import operation
from agent.skills.library import SkillLibrary, SkillManagement

log = structlog.get_logger(__name__)
__all__ = ["management_routes"]


def management_routes(home: Path, config_path: Path | None = None) -> list[BaseRoute]:
    """Return the routes of health, models, configuration, agents, MCP servers, skills, memory and files.

    `home` is the data directory; without `config_path` the configuration file is looked up as usual. The
    configuration and the classes of its models are loaded at once, so that an invalid one prevents the server
    from starting. Raises ConfigErrors or ModelUnavailable. A tool or guardrail that can't be loaded is only
    logged; each run that needs it fails.
    """
    source = register_source(home, ModelSource(config_path))
    for error in refused(source.verify()):
        log.error("config_part_unusable", detail=str(error))
    extensions = ExtensionsSource()
    extensions.reload()

    async def load_memory_config() -> MemoryConfig:
        return (await source.config()).memory

    skills = SkillManagement(source, extensions, SkillLibrary(home))
    files, packages = FileEndpoints(home, source), SkillEndpoints(home, skills)
    routers = (
        make_routes("server", ServerHealth()),
        make_routes("models", ModelManagement(home, source, extensions), SuggestionEndpoints(source)),
        make_routes("agents", AgentManagement(home, source)),
        make_routes("mcp", McpManagement(extensions)),
        make_routes("skills", skills, packages, **packages.options),
        make_routes("files", ThreadFiles(home, source), files, **files.options),
        make_routes("memory", MemoryManagement(home, load_memory_config)),
    )
    return [route for router in routers for route in router.routes]


class ServerHealth:
    """The state of the server itself."""

    @operation("GET", "/health")
    async def get_health(self, request: Request) -> Health:
        """Check that the server responds and that its database can be written and read."""
        runtime: OpenRuntime | None = getattr(request.app.state, "runtime", None)
        if runtime is not None:
            await runtime.probe.check()
        return Health(status="ok")
