"""Management routes of the agent, for the runtime's server."""

from __future__ import annotations

from pathlib import Path

import structlog
from starlette.routing import BaseRoute

from agent.catalog.preflight import refused
from agent.catalog.source import ModelSource, register_source
from agent.config.extensions_file import ExtensionsSource
from agent.core.schemas import Health
from agent.management.routes.agents import AgentRoutes
from agent.management.routes.base import management_router
from agent.management.routes.extensions import McpRoutes, SkillRoutes
from agent.management.routes.files import FileRoutes
from agent.management.routes.memory import memory_routes
from agent.management.routes.models import ModelRoutes
from agent.mcp.management import McpManagement
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
    routers = (
        _health,
        ModelRoutes(home, source, extensions).router(),
        AgentRoutes(home, source).router(),
        McpRoutes(McpManagement(extensions)).router(),
        SkillRoutes(home, SkillManagement(source, extensions, SkillLibrary(home))).router(),
        FileRoutes(home, source).router(),
        memory_routes(home, source),
    )
    return [route for router in routers for route in router.routes]


_health = management_router("server")


@_health.get("/health")
async def get_health() -> Health:
    """Check that the server answers."""
    return Health(status="ok")
