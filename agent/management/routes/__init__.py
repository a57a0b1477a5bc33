"""The management routes of the agent half, as plain Starlette routes for the runtime's server."""

from __future__ import annotations

from pathlib import Path

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.preflight import refused
from agent.catalog.source import ModelSource, register_source
from agent.config.extensions_source import ExtensionsSource
from agent.core.schemas import Health
from agent.management.routes.agents import agent_routes
from agent.management.routes.config import config_routes
from agent.management.routes.endpoints import answer, guarded
from agent.management.routes.files import FileRoutes
from agent.management.routes.mcp import mcp_routes
from agent.management.routes.memory import memory_routes
from agent.management.routes.models import model_routes
from agent.management.routes.openapi import described
from agent.management.routes.skills import SkillRoutes
from agent.management.routes.suggestions import suggestion_routes
from agent.mcp.management import McpManagement
from agent.skills.library import SkillLibrary
from agent.skills.management import SkillManagement

log = structlog.get_logger(__name__)
__all__ = ["management_routes"]


def management_routes(home: Path, config_path: Path | None = None) -> list[BaseRoute]:
    """Health, models, what is wrong with the configuration, agents of one's own, MCP servers, skills, memory,
    uploads, artifacts and local data of threads below `home`.

    Loads the configuration with the classes of its models at once, so that a start that can't work stops:
    raises ConfigErrors or ModelUnavailable. A tool or guardrail that can't be loaded is logged and stops no
    start: each run that meets it says so. Without `config_path` the file is found as always.
    """
    source = register_source(home, ModelSource(config_path))
    for error in refused(source.verify()):
        log.error("config_part_unusable", detail=str(error))
    extensions = ExtensionsSource()
    extensions.reload()
    skills = SkillManagement(source, extensions, SkillLibrary(home))
    routes = [
        Route("/health", guarded(_health), methods=["GET"]),
        *model_routes(source),
        *config_routes(home, source, extensions),
        *agent_routes(home, source),
        *mcp_routes(McpManagement(extensions)),
        *SkillRoutes(home, skills).routes(),
        *FileRoutes(home, source).routes(),
        *suggestion_routes(source),
        *memory_routes(home, source),
    ]
    return described(routes)


async def _health(_: Request) -> Response:
    return answer(Health(status="ok"))
