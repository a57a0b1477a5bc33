"""The serving process: where it listens, how it says so, when it ends, what it says when it can't start."""

from __future__ import annotations

import asyncio
import os
import queue
import socket
from functools import partial
from pathlib import Path

import httpx
import pytest
import uvicorn

from agent.errors import GraphLoadError
from agent.runtime.app import create_app
from agent.runtime.server import RuntimeServer
from agent.runtime.settings import RuntimeSettings
from agent.serve import TOKEN_VARIABLE, ServeSettings, parse_arguments
from agent.shared.connection_limits import ConnectionLimits
from agent.shared.live_token import LiveToken
from agent.shared.tokens import AGENT_TOKEN_FILE, read_token, rotate_token
from tests.harness.broker import forked_command
from tests.runtime import graphs
from tests.runtime.processes import ROOT, TOKEN, graphs_file, runtime

pytestmark = pytest.mark.may_block


async def start(home: Path, *arguments: str, token: str = TOKEN) -> asyncio.subprocess.Process:
    """The process with pipes."""
    return await asyncio.create_subprocess_exec(
        *(*forked_command("agent.serve"), "--home", str(home), *arguments),
        env={**os.environ, TOKEN_VARIABLE: token, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def until(path: Path) -> None:
    """Wait for a file."""
    while not path.exists():
        await asyncio.sleep(0.02)


def test_the_command_line_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    settings = parse_arguments(
        ["--port", "0", "--home", "/h", "--allowed-host", "a", "--allowed-host", "b", "--parent-pid", "7"]
    )
    assert settings == ServeSettings(
        home=Path("/h"), port=0, allowed_hosts=("a", "b"), parent_pid=7, token="secret"
    )
    assert TOKEN_VARIABLE not in os.environ
    monkeypatch.setenv("ROEBOT_HOME", "/other")
    assert parse_arguments([]).home == Path("/other")
    assert parse_arguments([]).token is None


def test_limits_of_the_command_line() -> None:
    limits = ["--max-connections", "9", "--max-body-mb", "2"]
    settings = parse_arguments([*limits, "--header-seconds", "4", "--body-seconds", "5"])
    assert settings.body_bytes == 2_000_000
    assert settings.connections == ConnectionLimits(total=9, header_seconds=4, body_seconds=5)
    with pytest.raises(SystemExit):
        parse_arguments(["--max-connections", "0"])


async def test_a_half_sent_request_is_closed(tmp_path: Path) -> None:
    async with runtime(tmp_path / "home", arguments=("--header-seconds", "1"), forked=True) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET /ok HTTP/1.1\r\nhost: local")
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 408")
        writer.close()


async def test_a_unix_socket_and_an_end_with_stdin(tmp_path: Path) -> None:
    graphs = graphs_file(tmp_path / "home")
    place, ready = tmp_path / "s", tmp_path / "ready"
    for _ in range(2):
        arguments = ("--uds", str(place), "--graphs", str(graphs), "--port-file", str(ready))
        process = await start(tmp_path / "home", *arguments, "--until-stdin-closes")
        await asyncio.wait_for(until(ready), 30)
        transport = httpx.AsyncHTTPTransport(uds=str(place))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            assert (await http.get("/ok")).status_code == 200
            assert (await http.get("/health", headers={"x-api-key": TOKEN})).status_code == 200
            assert (await http.get("/info")).status_code == 401
        ready.unlink()
        assert process.stdin is not None
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_a_used_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        graphs = graphs_file(tmp_path / "home")
        process = await start(tmp_path / "home", "--port", str(port), "--graphs", str(graphs))
        _, told = await process.communicate()
    assert process.returncode == 1
    assert told.decode().splitlines()[-1] == (
        f"roebot agent: can't listen on 127.0.0.1:{port}: Address already in use; choose another --port"
    )


async def test_a_used_data_directory_is_one_clear_line(tmp_path: Path) -> None:
    async with runtime(tmp_path / "home", forked=True):
        process = await start(
            tmp_path / "home", "--port", "0", "--graphs", str(graphs_file(tmp_path / "home"))
        )
        _, told = await process.communicate()
    assert process.returncode == 1
    assert told.decode().strip() == "roebot agent: another process uses agent.db in this data directory"


async def test_a_process_whose_parent_ended_does_not_start(tmp_path: Path) -> None:
    graphs = str(graphs_file(tmp_path / "home"))
    process = await start(tmp_path / "home", "--port", "0", "--graphs", graphs, "--parent-pid", "1234567")
    _, told = await process.communicate()
    assert process.returncode == 0
    assert b"parent_gone" in told
    assert b"runtime_ready" not in told


async def test_a_missing_graphs_file_is_one_clear_line(tmp_path: Path) -> None:
    process = await start(tmp_path / "home", "--graphs", str(tmp_path / "none.json"))
    _, told = await process.communicate()
    assert process.returncode == 1
    assert told.decode().strip() == "roebot agent: can't read none.json: No such file or directory"


async def test_logs_are_events_without_the_token(tmp_path: Path) -> None:
    process = await start(tmp_path / "home", "--port", "0", "--graphs", str(graphs_file(tmp_path / "home")))
    assert process.stderr is not None
    line = await process.stderr.readline()
    assert b'"event": "runtime_ready"' in line
    process.terminate()
    _, rest = await process.communicate()
    assert b'"event": "runtime_stopping"' in rest
    assert TOKEN.encode() not in line + rest
    assert process.returncode == 0


async def test_without_a_graphs_file_the_lead_agent_is_served(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    umask = os.umask(0o077)
    try:
        process = await start(tmp_path / "home", "--port", "0", "--port-file", str(ready))
    finally:
        os.umask(umask)
    try:
        await asyncio.wait_for(until(ready), 30)
        assert ready.stat().st_mode & 0o777 == 0o600, "the umask decides"
        headers = {"x-api-key": TOKEN}
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{ready.read_text()}", headers=headers
        ) as http:
            found = (await http.post("/assistants/search", json={})).json()
            assert {item["graph_id"] for item in found} == {"lead_agent", "compaction"}
            assert (await http.get("/api/models")).status_code == 200
            assert (await http.get("/health")).status_code == 200
    finally:
        process.terminate()
        assert await process.wait() == 0


async def test_graphs_are_loaded_before_a_run_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.runtime.server.PRELOAD_AFTER", 0.0)
    loaded: queue.Queue[str] = queue.Queue()

    def load(name: str) -> object:
        loaded.put(name)
        if name == "broken":
            raise GraphLoadError("it is broken")
        return graphs.chat()

    names = ("broken", "chat", "other")
    guard = create_app(
        RuntimeSettings(home=tmp_path), {name: partial(load, name) for name in names}, token=LiveToken(TOKEN)
    )
    config = uvicorn.Config(guard, host="127.0.0.1", port=0, log_config=None, lifespan="on")
    server = RuntimeServer(config, guard, ServeSettings(home=tmp_path, token=TOKEN), names[:2])
    serving = asyncio.create_task(server.serve())
    try:
        found = [await asyncio.to_thread(loaded.get, timeout=30) for _ in range(2)]
    finally:
        server.should_exit = True
        await serving
    assert found == ["broken", "chat"]
    assert loaded.empty()


async def test_memory_of_an_idle_process_is_small(tmp_path: Path) -> None:
    async with runtime(tmp_path / "home") as process:
        await process.client.runs.wait(None, "asking", input={"log": []})
        rollup = Path(f"/proc/{process.process.pid}/smaps_rollup").read_text()
    pss = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    assert pss < 150 * 1024


async def test_a_process_that_was_given_no_token_generates_one(tmp_path: Path) -> None:
    home, ready = tmp_path / "home", tmp_path / "ready"
    arguments = ("--port", "0", "--graphs", str(graphs_file(home)), "--port-file", str(ready))
    process = await start(home, *arguments, token="")
    try:
        await asyncio.wait_for(until(ready), 30)
        token = read_token(home / AGENT_TOKEN_FILE)
        assert token is not None
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{ready.read_text()}") as http:
            for headers, status in (
                ({}, 401),
                ({"x-api-key": TOKEN}, 401),
                ({"x-api-key": token}, 200),
                ({"authorization": f"Bearer {token}"}, 200),
            ):
                assert (await http.get("/info", headers=headers)).status_code == status
            rotated = rotate_token(home / AGENT_TOKEN_FILE)
            # Polls with the token that works: ten wrong ones would lock this address.
            async with asyncio.timeout(30):
                while (answer := await http.get("/info", headers={"x-api-key": token})).status_code == 200:
                    await asyncio.sleep(0.05)
            assert answer.status_code == 401
            assert (await http.get("/info", headers={"x-api-key": rotated})).status_code == 200
    finally:
        process.terminate()
        _, told = await process.communicate()
    assert str(home / AGENT_TOKEN_FILE).encode() in told
    assert token.encode() not in told


@pytest.mark.guard(
    "runtime: refused where other machines reach it",
    "agent/serve.py",
    "if weakness and settings.uds is None and not is_loopback(settings.host):",
    'if weakness and settings.host == "":',
    against="weak tokens",
)
@pytest.mark.parametrize(("token", "why"), [("k7-b", "shorter than 24"), ("change-me" * 4, "an example")])
async def test_a_weak_token_is_refused_where_others_reach_it(tmp_path: Path, token: str, why: str) -> None:
    home = tmp_path / "home"
    process = await start(
        home, "--host", "0.0.0.0", "--port", "0", "--graphs", str(graphs_file(home)), token=token
    )
    _, told = await process.communicate()
    assert process.returncode == 1
    [line] = told.decode().splitlines()
    assert line.startswith(
        "roebot agent: other machines can reach 0.0.0.0, and ROEBOT_RUNTIME_TOKEN must not"
    )
    assert why in line
    assert token not in line
