"""Every management route has a method of the embedded client that does the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.routing import Route

from agent.api import management_routes
from agent.client import AgentClient

pytestmark = pytest.mark.may_block
METHODS = {
    "GET /api/models": "list_models",
    "GET /api/models/{name:path}": "get_model",
    "GET /api/mcp/config": "get_mcp_config",
    "PUT /api/mcp/config": "update_mcp_config",
    "GET /api/skills": "list_skills",
    "GET /api/skills/{name}": "get_skill",
    "PUT /api/skills/{name}": "update_skill",
    "POST /api/skills/install": "install_skill",
    "POST /api/threads/{thread_id}/uploads": "upload_files",
    "GET /api/threads/{thread_id}/uploads/list": "list_uploads",
    "DELETE /api/threads/{thread_id}/uploads/{filename}": "delete_upload",
    "GET /api/threads/{thread_id}/artifacts/{path:path}": "get_artifact",
    "DELETE /api/threads/{thread_id}": "delete_thread_data",
}
OF_A_SERVER = {"GET /health", "POST /api/models/{name:path}/probe"}
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
