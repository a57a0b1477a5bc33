"""The management routes of the agent half, as plain Starlette routes for the runtime's server."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.api.agents import agent_routes
from agent.api.endpoints import answer, guarded
from agent.api.files import FileRoutes
from agent.api.mcp import mcp_routes
from agent.api.memory import memory_routes
from agent.api.models import model_routes
from agent.api.skills import SkillRoutes
from agent.extensions.source import ExtensionsSource
from agent.guardrails.loading import load_provider
from agent.mcp.management import McpManagement
from agent.models.source import ModelSource
from agent.results import Health
from agent.skills.library import SkillLibrary
from agent.skills.management import SkillManagement
from agent.tools.loading import load_tools

__all__ = ["management_routes"]


def management_routes(home: Path, config_path: Path | None = None) -> list[BaseRoute]:
    """Health, models, agents of one's own, MCP servers, skills, memory, uploads, artifacts and local data of
    threads below `home`.

    Loads the configuration with the classes of its models, its tools and its guardrail at once, so that a
    start that can't work stops: raises ConfigErrors, ModelUnavailable, ToolUnavailable or
    GuardrailUnavailable. Without `config_path` the file is found as always.
    """
    source = ModelSource(config_path)
    source.verify()
    config = source.load()
    load_tools(config.tools)
    if config.guardrails.enabled:
        load_provider(config.guardrails.provider.use, config.guardrails.provider.passed_on())
    extensions = ExtensionsSource()
    extensions.load()
    skills = SkillManagement(source, extensions, SkillLibrary(home))
    return [
        Route("/health", guarded(_health), methods=["GET"]),
        *model_routes(source),
        *agent_routes(home),
        *mcp_routes(McpManagement(extensions)),
        *SkillRoutes(home, skills).routes(),
        *FileRoutes(home, source).routes(),
        *memory_routes(home, source),
    ]


async def _health(_: Request) -> Response:
    return answer(Health(status="ok"))
