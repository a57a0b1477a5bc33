"""The files and the client of docs/howto/host-your-own-graphs.md, run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.docs.blocks import blocks

pytestmark = pytest.mark.may_block
START_SECONDS = 60.0


def _body(info: str) -> str:
    found = blocks(info)
    assert len(found) == 1
    return found[0].body


def _port(process: subprocess.Popen[bytes], file: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return file.read_text().strip()


def test_the_graph_is_served_and_the_client_prints_its_answer(tmp_path: Path) -> None:
    for name, info in (("graph.py", "python file=graph.py"), ("langgraph.json", "json file=langgraph.json")):
        (tmp_path / name).write_text(_body(info))
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "agent.serve", "--port", "0", "--port-file", str(port_file)]
    command += ["--home", str(tmp_path / "home"), "--graphs", str(tmp_path / "langgraph.json")]
    env = {**os.environ, "ROEBOT_RUNTIME_TOKEN": ""}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
    try:
        url = f"http://127.0.0.1:{_port(process, port_file)}"
        assert httpx.get(f"{url}/ok", trust_env=False).json() == {"ok": True}
        client = _body("python client").replace("http://127.0.0.1:2024", url)
        done = subprocess.run(
            [sys.executable, "-c", client], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.stderr, done.returncode) == ("HELLO\n", "", 0)
    finally:
        process.terminate()
        assert process.wait(10) == 0
