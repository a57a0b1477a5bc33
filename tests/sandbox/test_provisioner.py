"""HTTP API of the sandbox service: routes, bodies, heartbeats, access and start."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import pytest_asyncio

from agent.core.interfaces import SandboxUnavailable
from roebot_provisioner import service
from roebot_provisioner.service import COMMAND_BYTES
from roebot_provisioner.station_pool import StationPool
from tests.sandbox.provisioning import TOKEN, command, environment, provisioner, serving
from tests.sandbox.stations import Backend

NAME = "/v1/sandboxes/one"


@pytest.fixture
def backend() -> Backend:
    return Backend()


@pytest_asyncio.fixture
async def client(backend: Backend) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        serving(backend) as (url, _),
        httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as made,
    ):
        yield made


async def until(true: Any) -> None:
    while not true():
        await asyncio.sleep(0.01)


# --- the API


async def test_open_use_and_close_a_sandbox(client: httpx.AsyncClient, backend: Backend) -> None:
    answer = await client.put(NAME, json={"read_only": ["/mnt/skills/public"]})
    assert (answer.status_code, answer.json()) == (200, {})
    tree = (await client.get(f"{NAME}/tree")).json()
    assert tree == {"entries": [["/mnt/x", "file", 1, 2, True]], "cut": True}
    answer = await client.post(f"{NAME}/push", content=b"frames")
    assert answer.json() == {"refused": ["/mnt/refused"]}
    assert b"".join(backend.stations["one"].pushed) == b"frames"
    answer = await client.post(f"{NAME}/pull", json={"paths": ["/a", "/b"]})
    assert answer.content == b'["/a", "file", 0, 0, false]\n["/b", "file", 0, 0, false]\n'
    answer = await client.post(f"{NAME}/commands", json={"command": "ls", "seconds": 2.5})
    assert answer.json() == {"output": "out", "exit_code": 3, "truncated": True, "stopped": "why"}
    assert backend.stations["one"].ran == [("ls", 2.5)]
    assert (await client.delete(NAME)).json() == {}
    assert backend.log == [("open", "one /mnt/skills/public"), ("close", "one")]
    assert (await client.delete(NAME)).status_code == 200, "it is no error"


async def test_opening_twice_creates_one_sandbox(client: httpx.AsyncClient, backend: Backend) -> None:
    """Another one is created only if it was lost or needs other folders."""
    for _ in range(2):
        await client.put(NAME, json={})
    assert backend.log == [("open", "one")]
    backend.stations["one"].alive = False
    await client.put(NAME, json={})
    assert backend.log[1:] == [("close", "one"), ("open", "one")]
    await client.put(NAME, json={"read_only": ["/mnt/x"]})
    assert backend.log[3:] == [("open", "one /mnt/x")]


@pytest.mark.guard(
    "service: sandbox names are validated",
    "packages/roebot-provisioner/src/roebot_provisioner/service.py",
    "if not _NAME.fullmatch(name):",
    "if False:",
    against="paths",
)
@pytest.mark.parametrize("name", ["One", "a_b", "-a", "a-", "a" * 49, "a.b", "%2e%2e", "a%00"])
async def test_an_invalid_name_is_refused(client: httpx.AsyncClient, backend: Backend, name: str) -> None:
    answer = await client.put(f"/v1/sandboxes/{name}", json={})
    assert answer.status_code == 400
    assert backend.log == []


async def test_an_unknown_sandbox_is_reported(client: httpx.AsyncClient) -> None:
    assert (await client.get(f"{NAME}/tree")).status_code == 503
    answer = await client.post(f"{NAME}/pull", json={"paths": []})
    assert (answer.status_code, "no longer exists" in answer.text) == (503, True)
    assert "no longer exists" in (await client.post(f"{NAME}/push", content=b"")).text
    answer = await client.post(f"{NAME}/commands", json={"command": "ls"})
    assert answer.json()["unavailable"] is True
    assert (await client.get("/v1/other")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"command": 1},
        {"command": "a\x00b"},
        {"command": "\ud800"},
        {"command": "ls", "seconds": 0},
        {"command": "ls", "seconds": "1"},
        {"command": "ls", "more": 1},
        [],
    ],
)
async def test_an_invalid_body_is_refused(client: httpx.AsyncClient, body: object) -> None:
    await client.put(NAME, json={})
    answer = await client.post(f"{NAME}/commands", content=json.dumps(body))
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.mark.parametrize("body", [b"no json", b"[" * 100_000, b"\xff"])
async def test_a_body_that_is_not_json_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    assert (await client.put(NAME, content=body)).status_code == 400


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "application/json"])
async def test_a_body_is_json_whatever_its_content_type(client: httpx.AsyncClient, kind: str) -> None:
    headers = {"content-type": kind}
    assert (await client.put(NAME, content=b'{"read_only": []}', headers=headers)).status_code == 200
    answer = await client.post(f"{NAME}/commands", content=b'{"command": "ls"}', headers=headers)
    assert answer.json()["exit_code"] == 3


@pytest.mark.guard(
    "service: request size is limited",
    "agent/shared/json_routes.py",
    "if size > self._largest_body:",
    "if False:",
    against="memory",
)
async def test_a_body_that_is_too_large_is_refused(client: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * COMMAND_BYTES

    answer = await client.put(NAME, content=json.dumps({"command": "x" * COMMAND_BYTES}))
    assert answer.status_code == 400
    assert "larger than 1,000,000 bytes" in answer.text
    try:
        answer = await client.put(NAME, content=endless())
        assert answer.status_code == 400
    except httpx.TransportError:
        pass  # it hung up before all of it was sent


async def test_errors_of_a_sandbox_are_reported(client: httpx.AsyncClient, backend: Backend) -> None:
    await client.put(NAME, json={})
    backend.stations["one"].error = SandboxUnavailable("bwrap is missing")
    answer = await client.post(f"{NAME}/commands", json={"command": "ls"})
    assert answer.json() == {"error": "bwrap is missing", "unavailable": True}
    backend.error = SandboxUnavailable("no room in the cluster")
    answer = await client.put("/v1/sandboxes/two", json={})
    assert (answer.status_code, answer.json()) == (503, {"detail": "no room in the cluster"})
    backend.error = None
    assert (await client.put("/v1/sandboxes/two", json={})).status_code == 200


async def test_one_document_describes_every_route(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    routes = {(path, method) for path, methods in document["paths"].items() for method in methods}
    sandbox = "/v1/sandboxes/{name}"
    assert routes == {
        ("/health", "get"),
        (sandbox, "put"),
        (sandbox, "delete"),
        (f"{sandbox}/tree", "get"),
        (f"{sandbox}/push", "post"),
        (f"{sandbox}/pull", "post"),
        (f"{sandbox}/commands", "post"),
    }
    command = document["paths"][f"{sandbox}/commands"]["post"]
    assert command["summary"] == "Run a command, cancelling it if the caller disconnects"
    assert command["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/CommandRequest")


# --- commands


async def test_a_running_command_sends_heartbeats(
    client: httpx.AsyncClient, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "HEARTBEAT_SECONDS", 0.01)
    await client.put(NAME, json={})
    async with client.stream("POST", f"{NAME}/commands", json={"command": "wait"}) as answer:
        lines = answer.aiter_lines()
        assert [await anext(lines) for _ in range(3)] == ['{"running": true}'] * 3
        backend.stations["one"].go.set()
        last = [json.loads(line) async for line in lines][-1]
    assert last["exit_code"] == 3


@pytest.mark.guard(
    "service: a command ends when its caller disconnects",
    "packages/roebot-provisioner/src/roebot_provisioner/service.py",
    "        if not command.cancelling():\n            command.cancel()",
    "        return",
    against="processes left behind",
)
async def test_a_command_ends_when_its_caller_leaves(client: httpx.AsyncClient, backend: Backend) -> None:
    await client.put(NAME, json={})
    async with client.stream("POST", f"{NAME}/commands", json={"command": "wait"}):
        await until(lambda: backend.stations["one"].ran)
    await until(lambda: backend.stations["one"].ended)
    assert (await client.post(f"{NAME}/commands", json={"command": "ls"})).json()["exit_code"] == 3


async def test_the_end_of_a_command_is_awaited_when_its_caller_leaves(backend: Backend) -> None:
    """Its cleanup is not broken off, although the response is cancelled repeatedly."""
    pool = StationPool(backend)
    await pool.open("one", [])
    station = backend.stations["one"]
    station.ending_seconds = 0.2
    commands: set[service.Command] = set()
    body = service.CommandRequest(command="wait", seconds=None)
    lines = service._command_lines(pool, "one", body, commands)

    async def answer() -> None:
        async with aclosing(lines):
            await anext(lines)

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        await until(lambda: station.ran)
        group.cancel_scope.cancel()
    assert station.ended == ["wait"]
    await asyncio.sleep(0)
    assert commands == set()


async def test_the_end_of_a_command_is_awaited_before_the_sandboxes_end(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[list[str]] = []

    async def close(name: str) -> None:
        ended.append(list(backend.stations[name].ended))

    monkeypatch.setattr(backend, "close", close)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
        async with serving(backend) as (url, _):
            await client.put(f"{url}{NAME}", json={})
            station = backend.stations["one"]
            station.ending_seconds = 0.3
            call = asyncio.create_task(client.post(f"{url}{NAME}/commands", json={"command": "wait"}))
            await until(lambda: station.ran)
        await asyncio.gather(call, return_exceptions=True)
    assert ended == [["wait"]]


async def test_calls_of_one_sandbox_wait_for_each_other(client: httpx.AsyncClient, backend: Backend) -> None:
    await client.put(NAME, json={})
    station = backend.stations["one"]
    first = asyncio.create_task(client.post(f"{NAME}/commands", json={"command": "wait"}))
    await until(lambda: station.ran)
    second = asyncio.create_task(client.post(f"{NAME}/commands", json={"command": "ls"}))
    other = await client.put("/v1/sandboxes/two", json={})
    assert other.status_code == 200, "others don't wait"
    assert len(station.ran) == 1
    station.go.set()
    await asyncio.gather(first, second)
    assert [name for name, _ in station.ran] == ["wait", "ls"]


# --- access


@pytest.mark.guard(
    "service: a token is required",
    "agent/shared/http_guard.py",
    'if scope["path"] in open_paths:',
    "if True:",
    against="unauthorized callers",
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": "Bearer \u00fc".encode("latin-1")},
    ],
)
async def test_a_call_without_the_token_is_refused(backend: Backend, headers: Any) -> None:
    async with serving(backend) as (url, _), httpx.AsyncClient(base_url=url, trust_env=False) as client:
        for method, path in (("PUT", NAME), ("POST", f"{NAME}/commands"), ("GET", "/nowhere")):
            answer = await client.request(method, path, headers=headers, json={})
            assert answer.status_code == 401
        assert (await client.get("/health", headers=headers)).json() == {"ok": True}
    assert backend.log == []


@pytest.mark.guard(
    "service: requests from web pages are rejected",
    "agent/shared/http_guard.py",
    'return RequestRefusal(403, detail) if "origin" in headers else None',
    "return None",
    against="unauthorized callers",
)
async def test_a_call_from_a_web_page_is_refused(backend: Backend) -> None:
    """Also on this machine, where no token is needed."""
    async with (
        serving(backend, token=None) as (url, _),
        httpx.AsyncClient(base_url=url, trust_env=False) as client,
    ):
        answer = await client.put(NAME, json={}, headers={"origin": "http://evil.example"})
        assert answer.status_code == 403
        assert (await client.put(NAME, json={})).status_code == 200
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        answer = await client.get(NAME, headers={**upgrade, "sec-websocket-key": "x" * 22 + "=="})
        assert answer.status_code in {400, 403, 405}


@pytest.mark.guard(
    "service: it does not start on a public address without a token",
    "packages/roebot-provisioner/src/roebot_provisioner/__main__.py",
    "if token is None and not is_loopback(host):",
    "if False:",
    against="unauthorized callers",
)
@pytest.mark.guard(
    "service: short tokens are rejected",
    "packages/roebot-provisioner/src/roebot_provisioner/__main__.py",
    "if token is not None and len(token) < MIN_TOKEN_LENGTH:",
    "if False:",
    against="unauthorized callers",
)
@pytest.mark.may_block
@pytest.mark.parametrize(
    ("words", "token", "why"),
    [
        (["--host", "0.0.0.0"], None, "needs a token"),
        (["--host", ""], None, "needs a token"),
        (["--host", "sandboxes.example"], None, "needs a token"),
        ([], "short", "at least 16 characters"),
        (["--backend", "kubernetes"], None, "needs a token"),
        (["--backend", "kubernetes"], TOKEN, "does not run in a Kubernetes pod"),
        (["--settings", "{memory_mb: none}"], TOKEN, "sandbox.memory_mb"),
        (["--settings", "{use: 'agent.nowhere:Nothing'}"], TOKEN, "is not installed"),
        (["--settings", "[1]"], TOKEN, "must be a mapping"),
        (["--settings", "{"], TOKEN, "not valid YAML"),
        (["--config", "/nowhere.yaml"], TOKEN, "nowhere.yaml"),
        (["--idle-seconds", "0"], TOKEN, "greater than 0"),
        (["--most", "0"], TOKEN, "greater than 0"),
    ],
)
def test_a_service_with_wrong_settings_does_not_start(
    tmp_path: Path, words: list[str], token: str | None, why: str
) -> None:
    """One line says why."""
    ended = subprocess.run(
        command(tmp_path, *words), env=environment(token), capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert len(ended.stderr.splitlines()) == 1
    assert why in ended.stderr
    assert not (tmp_path / "port").exists()


def test_the_command_line_is_checked_before_the_server_is_loaded() -> None:
    code = "import sys, roebot_provisioner.__main__ as program; program.main(['--host', '0.0.0.0']); "
    code += "print([one for one in ('fastapi', 'uvicorn', 'yaml', 'kubernetes') if one in sys.modules])"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(None), capture_output=True, text=True, check=True
    )
    assert "needs a token" in ended.stderr
    assert ended.stdout == "[]\n"


@pytest.mark.may_block
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_umask_decides_who_may_read_the_port(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with provisioner(tmp_path) as served:
            port_file = tmp_path / "port"
            assert port_file.read_text() == f"{served.port}\n"
            assert port_file.stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)
