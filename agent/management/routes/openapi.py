"""What each management route takes and answers, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import BaseRoute, Route

from agent.config.custom_agent_changes import CustomAgentBody, NewCustomAgentBody
from agent.core import schemas
from agent.core.memory_document import MemoryDocument
from agent.harness.suggestions import SuggestionsBody
from agent.management.routes.mcp import McpSwitch, McpUpdate
from agent.management.routes.pagination import PAGING
from agent.management.routes.skills import FromThread, SkillSwitch
from agent.memory.bodies import FactBody, NewFactBody
from agent.runtime.http.openapi import BYTES, Told, tell

_SCOPE = ("scope",)
_THREAD = "/api/threads/{thread_id}"
TOLD: Mapping[str, Told] = {
    "GET /health": Told("The server answers.", answer=schemas.Health),
    "GET /api/models": Told("Models on offer.", answer=schemas.ModelList, query=PAGING),
    "GET /api/models/{name:path}": Told("One model.", answer=schemas.ModelInfo),
    "POST /api/models/{name:path}/probe": Told("Ask a model for a word.", answer=schemas.ModelProbe),
    "GET /api/config/problems": Told("What of the configuration can't be used.", answer=schemas.ConfigReport),
    "GET /api/agents": Told("Agents of one's own.", answer=schemas.AgentList, query=PAGING),
    "POST /api/agents": Told("Make an agent.", NewCustomAgentBody, schemas.AgentInfo, 201),
    "GET /api/agents/{name}": Told("One agent with its personality.", answer=schemas.AgentInfo),
    "PUT /api/agents/{name}": Told(
        "Change an agent: what is absent stays, null is the usual again.", CustomAgentBody, schemas.AgentInfo
    ),
    "DELETE /api/agents/{name}": Told("Delete an agent with its folder.", answer=schemas.OperationResult),
    "GET /api/mcp/config": Told("MCP servers as configured, secrets hidden.", answer=schemas.McpConfig),
    "PUT /api/mcp/config": Told("Put other MCP servers in their place.", McpUpdate, schemas.McpConfig),
    "GET /api/mcp/servers": Told(
        "How the MCP servers do, and their tools.", answer=schemas.McpServerList, query=PAGING
    ),
    "PUT /api/mcp/servers/{name}": Told("Switch an MCP server on or off.", McpSwitch, schemas.McpServerState),
    "GET /api/skills": Told("Skills, and what can't be used.", answer=schemas.SkillList, query=PAGING),
    "GET /api/skills/{name}": Told("One skill.", answer=schemas.SkillInfo),
    "PUT /api/skills/{name}": Told("Switch a skill on or off.", SkillSwitch, schemas.SkillInfo),
    "POST /api/skills/install": Told(
        "Install a skill from an archive: a form, or a file of a thread.",
        FromThread,
        schemas.SkillInstalled,
        form=True,
    ),
    f"POST {_THREAD}/uploads": Told(
        "Upload files, all of them or none.", answer=schemas.UploadResult, form=True
    ),
    f"GET {_THREAD}/uploads/list": Told("The uploads of a thread.", answer=schemas.UploadList, query=PAGING),
    f"DELETE {_THREAD}/uploads/{{filename}}": Told("Delete an upload.", answer=schemas.OperationResult),
    f"GET {_THREAD}/artifacts/{{path:path}}": Told(
        "A file of a thread; `download=true` to save it.", media=BYTES, query=("download",)
    ),
    f"DELETE {_THREAD}": Told("Delete the local data of a thread.", answer=schemas.DeletionResult),
    f"POST {_THREAD}/suggestions": Told(
        "What a person may want to say next.", SuggestionsBody, schemas.SuggestionList
    ),
    "GET /api/memory": Told("All that is remembered.", answer=MemoryDocument, query=_SCOPE),
    "DELETE /api/memory": Told("Forget it all.", answer=schemas.OperationResult, query=_SCOPE),
    "POST /api/memory/reload": Told("Read it anew.", answer=MemoryDocument, query=_SCOPE),
    "GET /api/memory/config": Told("How memory is configured.", answer=schemas.MemorySettings, query=_SCOPE),
    "GET /api/memory/status": Told(
        "How much is remembered, and what waits.", answer=schemas.MemoryStatus, query=_SCOPE
    ),
    "POST /api/memory/facts": Told("Add a fact.", NewFactBody, schemas.MemoryChange, 201, query=_SCOPE),
    "PATCH /api/memory/facts/{fact}": Told("Change a fact.", FactBody, schemas.MemoryChange, query=_SCOPE),
    "DELETE /api/memory/facts/{fact}": Told("Forget a fact.", answer=schemas.OperationResult, query=_SCOPE),
}
"""By method and path as the route has it."""


def described(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes, which now say what they take and answer. Each has one method and an endpoint of its own."""
    for route in routes:
        if isinstance(route, Route):
            (method,) = (route.methods or set()) - {"HEAD"}
            tell(route.endpoint, TOLD[f"{method} {route.path}"])
    return list(routes)
