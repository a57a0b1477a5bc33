"""The wheel of this tree, installed by uvx and pipx from the package index of the machine, as people do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.harness.credentials import SERVICE_TOKEN, give_token
from tests.harness.waiters import until
from tests.rules.test_wheels import ROOT, names_in_wheel

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.timeout(600)]
INSTALL_SECONDS = 400.0
UV = (sys.executable, "-m", "uv", "tool", "run", "--quiet")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    names_in_wheel(ROOT, folder)
    (built,) = folder.glob("*.whl")
    return built


def by_uvx(wheel: Path, _folder: Path) -> Sequence[str]:
    return (*UV, "--from", str(wheel), "roebot")


def by_pipx(wheel: Path, folder: Path) -> Sequence[str]:
    places = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    environment = os.environ | {name: str(folder / place) for name, place in places.items()}
    subprocess.run([*UV, "pipx", "install", str(wheel)], env=environment, check=True, timeout=INSTALL_SECONDS)
    return (str(folder / "bin" / "roebot"),)


@contextmanager
def running(command: Sequence[str], home: Path) -> Iterator[Path]:
    """Run the service in a folder without a configuration; its output."""
    give_token(home)
    output = home / "output"
    keys = [name for name in os.environ if name.endswith("_API_KEY") or name in {"PYTHONPATH", "VIRTUAL_ENV"}]
    clean = {name: value for name, value in os.environ.items() if name not in keys}
    clean |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
    with output.open("wb") as log:
        service = subprocess.Popen(
            [*command, "run", "--home", str(home), "--port", "0"],
            cwd=home,
            env=clean,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            yield output
        finally:
            service.terminate()
            service.wait(20)


@pytest.mark.parametrize("install", [by_uvx, by_pipx])
async def test_the_service_runs_with_its_documentation_and_skills(
    tmp_path: Path, wheel: Path, install: Callable[[Path, Path], Sequence[str]]
) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o700)
    with running(install(wheel, tmp_path), home) as output:
        await until(lambda: "is ready: " in output.read_text(), INSTALL_SECONDS, output.read_text)
        url = output.read_text().partition("is ready: ")[2].split()[0]
        headers = {"Authorization": f"Bearer {SERVICE_TOKEN}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as http:
            assert (await http.get("/api/docs/howto/connect-slack")).json()["title"] == "Connect Slack"
            conversation = (await http.post("/api/conversations", json={})).json()["id"]
            path = f"/api/conversations/{conversation}/messages"
            turn = (await http.post(path, json={"text": "Draw a chart from sample data"})).json()["turn"]
            found: dict[str, object] = {}
            while not found.get("finished_at"):
                found = (await http.get(f"/api/turns/{turn}")).json()
    # The guide asks before it draws, or says what the sandbox lacks.
    assert "chart.py" in str(found["parts"]) or "agent.sandbox.setup --only python" in str(found["parts"])
