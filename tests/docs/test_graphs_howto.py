"""The files and the client of docs/howto/host-your-own-graphs.md, run as they stand."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path

import httpx
import pytest

from agent.runtime.loader import parse_graphs_file
from tests.docs.blocks import Block, blocks
from tests.harness.forks import Program, run, start

pytestmark = pytest.mark.may_block
START_SECONDS = 60.0


def _body(info: str) -> str:
    found = blocks(info)
    assert len(found) == 1
    return found[0].body


def _said(process: BaseProcess, file: Path, words: str = "") -> str:
    """What the file says once it has the words."""
    deadline = time.monotonic() + START_SECONDS
    while not (file.exists() and (text := file.read_text().strip()) and words in text):
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return text


@contextmanager
def _started(module: str, *arguments: str, log: Path, **more: str) -> Iterator[BaseProcess]:
    env = {**os.environ, "ROEBOT_RUNTIME_TOKEN": "", **more}
    with log.open("wb") as output, Path(os.devnull).open("rb") as nothing:
        process = start(Program(module, arguments, log.parent, env), nothing, output, output)
    try:
        yield process
    finally:
        process.terminate()
        process.join(10)
        assert process.exitcode == 0


@contextmanager
def _served(tmp_path: Path, project: str) -> Iterator[str]:
    for name in ("graph.py", "auth.py"):
        (tmp_path / name).write_text(_body(f"python file={name}"))
    (tmp_path / "langgraph.json").write_text(project)
    port = tmp_path / "port"
    arguments = ["--port", "0", "--port-file", str(port), "--home", str(tmp_path / ".graphs")]
    arguments += ["--graphs", str(tmp_path / "langgraph.json")]
    with _started("agent.serve", *arguments, log=tmp_path / "log") as process:
        yield f"http://127.0.0.1:{_said(process, port)}"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of the server that the page starts."""
    with _served(tmp_path, _body("json file=langgraph.json")) as address:
        yield address


def _key(folder: Path) -> str:
    """What the page puts into LANGGRAPH_API_KEY."""
    done = run(Program("bot.cli", ("agent", "token", "--home", ".graphs"), folder))
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.strip()


def test_the_graph_is_served_and_the_client_prints_its_answer(served: str, tmp_path: Path) -> None:
    assert httpx.get(f"{served}/ok", trust_env=False).json() == {"ok": True}
    assert httpx.get(f"{served}/info", trust_env=False).status_code == 401
    client = _body("python client").replace("http://127.0.0.1:2024", served)
    env = {**os.environ, "LANGGRAPH_API_KEY": _key(tmp_path)}
    done = run(Program(source=client, folder=tmp_path, env=env))
    assert (done.stdout, done.stderr, done.returncode) == ("HELLO\n", "", 0)


@pytest.mark.parametrize("block", [block for block in blocks("json") if '"graphs"' in block.body], ids=str)
def test_each_graphs_file_is_accepted(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "langgraph.json"
    file.write_text(block.body)
    assert parse_graphs_file(file).graphs


def test_the_cron_is_created(served: str, tmp_path: Path) -> None:
    client = _body("python cron").replace("http://127.0.0.1:2024", served)
    env = {**os.environ, "LANGGRAPH_API_KEY": _key(tmp_path)}
    done = run(Program(source=client, folder=tmp_path, env=env))
    assert (done.stderr, done.returncode) == ("", 0)
    assert re.fullmatch(r"next run: 20\d\d-\d\d-\d\dT0[78]:00:00.000000\+00:00\n", done.stdout)


def test_the_graph_answers_in_the_chats(served: str, tmp_path: Path) -> None:
    [page] = [block.body for block in blocks("yaml config") if "assistant_id: shout" in block.body]
    config = page.replace("http://127.0.0.1:2024", served)
    (tmp_path / "config.yaml").write_text(f"{config}server: {{port: 0}}\n")
    key = _key(tmp_path)
    with _started("bot.cli", "run", log=tmp_path / "run.log", LANGGRAPH_API_KEY=key) as process:
        banner = _said(process, tmp_path / "run.log", "Roebot is ready")
        assert "chosen by the agent runtime" in banner
        env = {**os.environ, "LANGGRAPH_API_KEY": key}
        chat = run(Program("bot.cli", ("chat",), tmp_path, env), "hello")
        assert (chat.stdout, chat.returncode) == ("HELLO\n", 0)
        doctor = run(Program("bot.cli", ("doctor",), tmp_path, env))
        assert "note models: this agent runtime does not list its models" in doctor.stdout
        assert doctor.returncode == 0, doctor.stdout


def test_each_user_has_threads_and_items(tmp_path: Path) -> None:
    [project] = [block.body for block in blocks("json") if '"auth"' in block.body]
    with _served(tmp_path, project) as address, httpx.Client(base_url=address, trust_env=False) as http:
        ada, bob = ({"authorization": f"Bearer key-of-{name}"} for name in ("ada", "bob"))
        assert http.post("/threads", json={}).json() == {"detail": "Unknown key"}
        thread = http.post("/threads", json={}, headers=ada).json()
        body = {"assistant_id": "shout", "input": {"messages": "hello"}}
        at = f"/threads/{thread['thread_id']}"
        answer = http.post(f"{at}/runs/wait", json=body, headers=ada).json()
        assert answer["messages"][-1]["content"] == "HELLO"
        assert [http.get(at, headers=who).status_code for who in (ada, bob)] == [200, 404]
        assert http.post("/assistants", json={"graph_id": "shout"}, headers=ada).status_code == 403
        item = {"namespace": ["notes"], "key": "k", "value": {}}
        assert http.put("/store/items", json=item, headers=ada).status_code == 204
        found = http.post("/store/namespaces", json={}, headers=ada).json()
        assert found == {"namespaces": [["ada", "notes"]]}
        assert http.post("/store/namespaces", json={}, headers=bob).json() == {"namespaces": []}
        operator = {"x-api-key": _key(tmp_path)}
        assert http.get(at, headers=operator).json()["metadata"]["owner"] == "ada"
