"""The image of deploy/container, built from this tree and started as its compose file does.

ROEBOT_TEST_BUILD holds more options of the build, for networks with their own index or certificates.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.harness.waiters import until
from tests.sandbox.engines import engine

pytestmark = [pytest.mark.image, pytest.mark.may_block, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
CONTAINER = ROOT / "deploy" / "container"
NAME = "localhost/roebot-image-test"
BUILD_SECONDS, START_SECONDS = 1500, 300
LIMITS = ("--ulimit", "nofile=20000:20000", "--ulimit", "nproc=20000:20000")
"""Limits within those of an engine that may not raise them."""
HEALTH = """
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:2026/health", timeout=4).read().decode())
"""


def run(*words: str, seconds: float = START_SECONDS) -> str:
    done = subprocess.run([*engine(), *words], capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    more = shlex.split(os.environ.get("ROEBOT_TEST_BUILD", ""))
    file = str(CONTAINER / "Containerfile")
    run("build", *LIMITS, *more, "--tag", NAME, "--file", file, str(ROOT), seconds=BUILD_SECONDS)
    service = yaml.safe_load((CONTAINER / "compose.yaml").read_text())["services"]["roebot"]
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    hardened = (
        "--read-only",
        "--tmpfs",
        "/tmp",
        "--cap-drop",
        "ALL",
        *("--security-opt", "no-new-privileges"),
    )
    started = run("run", "--detach", *LIMITS, *hardened, NAME)
    yield started
    run("rm", "--force", "--volumes", started)
    run("rmi", "--force", NAME)


async def test_the_service_of_the_image_starts_and_has_its_documentation(container: str) -> None:
    def log() -> str:
        return run("logs", container)

    await until(lambda: "Roebot is ready: " in log(), START_SECONDS, log)
    health = json.loads(run("exec", container, "python", "-c", HEALTH))
    assert health["status"] == "ok"
    assert "#code=" in run("exec", container, "roebot", "link")
    pages = (
        "from agent.shared.documentation import load_documentation; print(len(load_documentation().pages))"
    )
    assert int(run("exec", container, "python", "-c", pages)) > 40
    assert run("exec", container, "id", "-u") == "10001"
