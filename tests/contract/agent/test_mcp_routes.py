"""MCP servers over real HTTP and through the client: the same models, the same answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from agent.client import AgentClient
from agent.config.errors import ConfigErrors
from agent.config.extensions_file import CHANGES, FILE_NAME, PATH_VARIABLE
from agent.core.schemas import ErrorBody, McpConfig
from agent.errors import Invalid, NotFound
from agent.management.routes import management_routes
from agent.shared.schemas import McpServerList, McpServerState
from tests.harness.mcp import children, configured, ours, pooled

pytestmark = pytest.mark.may_block
CONFIG = "models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]\ntitle: {enabled: false}\n"
OFF = {"command": "x", "env": {"TOKEN": "s3cret"}, "enabled": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / FILE_NAME).write_text(json.dumps({"mcpServers": {"off": OFF}}))
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / FILE_NAME))
    return tmp_path


def client(folder: Path) -> AgentClient:
    return AgentClient(home=folder / "home", config_path=folder / "config.yaml")


async def test_the_client_answers_as_the_routes_do(http: httpx.AsyncClient, folder: Path) -> None:
    with client(folder) as embedded:
        first = (await http.get("/api/mcp/config")).json()
        assert McpConfig.model_validate(first).mcp_servers["off"].env == {"TOKEN": "***"}
        assert embedded.get_mcp_config() == first
        servers = {**first["mcp_servers"], "web": {"url": "http://127.0.0.1:9/mcp", "enabled": False}}
        second = (await http.put("/api/mcp/config", json={"mcp_servers": servers})).json()
        assert McpConfig.model_validate(second).mcp_servers["web"].type == "http"
        assert embedded.get_mcp_config() == second
        third = embedded.update_mcp_config({"off": second["mcp_servers"]["off"]})
        assert (await http.get("/api/mcp/config")).json() == third == first
    assert json.loads((folder / FILE_NAME).read_text()) == {"mcpServers": {"off": OFF}}


async def test_a_published_file_is_a_body(http: httpx.AsyncClient, folder: Path) -> None:
    servers = {"web": {"type": "streamable-http", "url": "http://127.0.0.1:9/mcp", "disabled": True}}
    answer = await http.put("/api/mcp/config", json={"mcpServers": servers})
    web = McpConfig.model_validate(answer.json()).mcp_servers["web"]
    assert (answer.status_code, web.type, web.enabled) == (200, "http", False)


async def test_sign_ins_that_are_not_known(http: httpx.AsyncClient, folder: Path) -> None:
    link = await http.get("/api/mcp/sign-ins/link", params={"ticket": "x"})
    done = await http.post("/api/mcp/sign-ins/complete", json={"state": "x", "code": "y"})
    assert (link.status_code, done.status_code) == (404, 404)
    gone = await http.post("/api/mcp/sign-ins/erase", json={"person": "web:anna"})
    assert gone.json() == {"sign_ins": 0}
    assert (await http.post("/api/mcp/sign-ins/erase", json={"person": ""})).status_code == 422


@pytest.mark.parametrize(
    "body", [{}, {"mcp_servers": []}, {"mcp_servers": {"x": 1}}, {"mcp_servers": {}, "more": 1}, []]
)
async def test_a_body_that_does_not_fit(http: httpx.AsyncClient, folder: Path, body: object) -> None:
    before = (folder / FILE_NAME).read_bytes()
    assert (await http.put("/api/mcp/config", json=body)).status_code == 422
    assert (folder / FILE_NAME).read_bytes() == before


async def test_one_is_switched(http: httpx.AsyncClient, folder: Path) -> None:
    off = {"name": "off", "state": "off", "description": None, "detail": None, "tools": []}
    listed = {"servers": [off]}
    first = await http.get("/api/mcp/servers")
    assert McpServerList.model_validate_json(first.content).model_dump() == listed
    on = await http.put("/api/mcp/servers/off", json={"enabled": True})
    assert McpServerState.model_validate_json(on.content).state == "idle"
    stored = json.loads((folder / FILE_NAME).read_text())
    assert stored == {"mcpServers": {"off": {**OFF, "enabled": True}}}
    assert (await http.get("/api/mcp/servers")).json()["servers"][0]["state"] == "idle"
    with client(folder) as embedded:
        assert embedded.update_mcp_server("off", False) == off
        assert embedded.list_mcp_servers() == listed
        with pytest.raises(NotFound, match="There is no MCP server named"):
            embedded.update_mcp_server("of", True)
    assert (await http.get("/api/mcp/servers")).json() == listed


async def test_one_is_added_changed_and_removed_and_the_others_stay(
    http: httpx.AsyncClient, folder: Path
) -> None:
    before = (folder / FILE_NAME).read_bytes()
    server = ours(env={"TOKEN": "typed"}, start_seconds=120.0)
    tried = await http.post("/api/mcp/servers/check", json={"name": "new", "server": server}, timeout=130)
    found = McpServerState.model_validate_json(tried.content)
    assert found.state == "ready", tried.text
    names = [tool.name for tool in found.tools]
    assert "add" in names
    assert (folder / FILE_NAME).read_bytes() == before, "nothing is stored"
    down = {"name": "new", "server": {"url": "http://127.0.0.1:9/mcp"}}
    refused = McpServerState.model_validate_json(
        (await http.post("/api/mcp/servers/check", json=down)).content
    )
    assert refused.state == "unavailable"
    assert refused.detail
    added = await http.post("/api/mcp/servers", json={"name": "new", "server": server})
    assert (added.status_code, added.headers["location"]) == (201, "/api/mcp/servers/new")
    again = await http.post("/api/mcp/servers", json={"name": "new", "server": server})
    assert again.status_code == 422
    chosen = await http.put("/api/mcp/servers/new", json={"tools": ["add"]})
    assert chosen.status_code == 200
    changed = await http.patch("/api/mcp/servers/new", json={"server": {"description": "Ours."}})
    assert changed.json()["description"] == "Ours."
    stored = json.loads((folder / FILE_NAME).read_text())["mcpServers"]
    assert stored == {"off": OFF, "new": {**server, "tools": ["add"], "description": "Ours."}}
    shown = (await http.get("/api/mcp/config")).json()["mcp_servers"]["new"]
    assert (shown["env"], shown["tools"]) == ({"TOKEN": "***"}, ["add"])
    everything = await http.patch(
        "/api/mcp/servers/new", json={"server": {"tools": None, "command": "other"}}
    )
    assert everything.status_code == 422, "a stored secret is not sent to another program"
    assert (await http.patch("/api/mcp/servers/new", json={"server": {"tools": None}})).status_code == 200
    assert (await http.delete("/api/mcp/servers/new")).json() == {"success": True}
    assert (await http.delete("/api/mcp/servers/new")).status_code == 404
    assert (await http.patch("/api/mcp/servers/new", json={"server": {}})).status_code == 404
    assert json.loads((folder / FILE_NAME).read_text()) == {"mcpServers": {"off": OFF}}


async def test_the_agent_gets_the_chosen_tools() -> None:
    async with pooled() as pool:
        tools = await pool.load_tools(configured(ours=ours(tools=["add"])))
        assert [tool.name for tool in tools.tools] == ["ours_add"]


async def test_what_cannot_be_switched(http: httpx.AsyncClient, folder: Path) -> None:
    missing = await http.put("/api/mcp/servers/none", json={"enabled": True})
    assert missing.status_code == 404
    for body in ({}, {"enabled": "yes"}, {"enabled": True, "more": 1}, []):
        assert (await http.put("/api/mcp/servers/off", json=body)).status_code == 422
    (folder / FILE_NAME).write_text('{"mcpServers": {"off": {"enabled": false}}}')
    CHANGES.record()
    refused = await http.put("/api/mcp/servers/off", json={"enabled": True})
    assert refused.status_code == 422
    assert "needs url" in ErrorBody.model_validate_json(refused.content).detail
    assert json.loads((folder / FILE_NAME).read_text()) == {"mcpServers": {"off": {"enabled": False}}}


async def test_an_entry_that_does_not_fit_is_told(http: httpx.AsyncClient, folder: Path) -> None:
    response = await http.put("/api/mcp/config", json={"mcp_servers": {"x": {"comand": "y"}}})
    assert response.status_code == 422
    detail = ErrorBody.model_validate_json(response.content).detail
    assert "mcpServers.x.comand: unknown key; did you mean command?" in detail
    with client(folder) as embedded, pytest.raises(Invalid, match="did you mean command"):
        embedded.update_mcp_config({"x": {"comand": "y"}})


async def test_a_start_with_a_bad_file_stops(folder: Path) -> None:
    (folder / FILE_NAME).write_text("[")
    with pytest.raises(ConfigErrors, match="is not valid JSON"):
        await asyncio.to_thread(management_routes, folder / "home", folder / "config.yaml")


def test_the_clients_agent_follows_and_its_programs_end_with_it(folder: Path) -> None:
    before = children()
    with client(folder) as embedded:
        assert embedded.chat('[tool=test_add {"a": 2, "b": 3}] so').startswith("so")
        embedded.update_mcp_config({"test": {**ours(), "start_seconds": 120}})
        results = []
        for _ in range(100):
            events = list(embedded.stream('[tool=test_add {"a": 2, "b": 3}] so', "t"))
            results = [event.data["content"] for event in events if event.data.get("type") == "tool"]
            if any("5" in str(result) for result in results):
                break
        assert "5" in str(results[-1])
        assert children() - before
        [state] = embedded.list_mcp_servers()["servers"]
        assert (state["name"], state["state"], state["detail"]) == ("test", "ready", None)
        assert {"name": "add", "description": "Add two numbers.", "enabled": True} in state["tools"]
        embedded.update_mcp_config({})
        events = list(embedded.stream('[tool=test_add {"a": 2, "b": 3}] so', "u"))
        [result] = [event.data for event in events if event.data.get("type") == "tool"]
        assert "test_add" in str(result["content"])
        assert result["status"] == "error"
    assert not children() - before
