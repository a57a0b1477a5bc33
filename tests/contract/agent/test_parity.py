"""Every management route has a method of the embedded client that does the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.routing import Route

from agent.client import AgentClient
from agent.management.routes import management_routes

pytestmark = pytest.mark.may_block
METHODS = {
    "GET /api/models": "list_models",
    "GET /api/models/{name:path}": "get_model",
    "GET /api/config/problems": "get_config_problems",
    "GET /api/mcp/config": "get_mcp_config",
    "PUT /api/mcp/config": "update_mcp_config",
    "GET /api/mcp/servers": "list_mcp_servers",
    "POST /api/mcp/servers": "add_mcp_server",
    "POST /api/mcp/servers/check": "check_mcp_server",
    "PUT /api/mcp/servers/{name}": "update_mcp_server",
    "PATCH /api/mcp/servers/{name}": "change_mcp_server",
    "DELETE /api/mcp/servers/{name}": "remove_mcp_server",
    "GET /api/agents": "list_agents",
    "POST /api/agents": "create_agent",
    "GET /api/agents/{name}": "get_agent",
    "PUT /api/agents/{name}": "update_agent",
    "DELETE /api/agents/{name}": "delete_agent",
    "GET /api/memory": "get_memory",
    "DELETE /api/memory": "forget_memory",
    "POST /api/memory/reload": "reload_memory",
    "GET /api/memory/config": "get_memory_config",
    "GET /api/memory/status": "get_memory_status",
    "POST /api/memory/facts": "add_memory_fact",
    "PATCH /api/memory/facts/{fact}": "update_memory_fact",
    "DELETE /api/memory/facts/{fact}": "delete_memory_fact",
    "GET /api/skills": "list_skills",
    "GET /api/skills/{name}": "get_skill",
    "PUT /api/skills/{name}": "update_skill",
    "POST /api/skills/install": "install_skill",
    "POST /api/skills/check": "check_skill",
    "DELETE /api/skills/{name}": "remove_skill",
    "GET /api/skills/{name}/versions": "list_skill_versions",
    "POST /api/skills/{name}/upgrade": "upgrade_skill",
    "POST /api/skills/{name}/restore": "restore_skill",
    "POST /api/threads/{thread_id}/uploads": "upload_files",
    "GET /api/threads/{thread_id}/uploads/list": "list_uploads",
    "DELETE /api/threads/{thread_id}/uploads/{filename}": "delete_upload",
    "POST /api/threads/{thread_id}/uploads/{filename}/transcript": "transcribe_upload",
    "GET /api/threads/{thread_id}/artifacts/{path:path}": "get_artifact",
    "DELETE /api/threads/{thread_id}": "delete_thread_data",
    "POST /api/threads/{thread_id}/suggestions": "get_suggestions",
}
OF_A_SERVER = {
    "GET /health",
    "POST /api/models/{name:path}/probe",
    "GET /api/mcp/sign-ins/link",
    "POST /api/mcp/sign-ins/complete",
    "POST /api/mcp/sign-ins/erase",
}
"""What only a server has to say."""


def test_each_route_has_its_method(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    routes = management_routes(tmp_path / "home", tmp_path / "config.yaml")
    served = {
        f"{method} {route.path}"
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert served - OF_A_SERVER == set(METHODS)
    for name in METHODS.values():
        assert callable(getattr(AgentClient, name))
