"""The sandboxes for an ordinary user, who gets a user namespace where root gets another user."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandbox.engines import engine

pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).parent.parent.parent
NOBODY = 65534
# Podman's default limit of processes is more than a container may set on machines with few rights.
PODMAN = """#!/bin/sh
remote=$1 url=$2 socket=$3
shift 3
[ "$1" = run ] && shift && set -- run --ulimit nproc=1024:1024 "$@"
exec podman "$remote" "$url" "$socket" "$@"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that is the other user's, which nothing below pytest's own folder can be."""
    made = Path(tempfile.mkdtemp(prefix="roebot-nobody-"))
    os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


def interpreter() -> str:
    """A Python that another user may run: this one, or the system's of the same version."""
    for found in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        tried = subprocess.run(
            ["setpriv", f"--reuid={NOBODY}", "--clear-groups", found, "-c", "print(1)"], capture_output=True
        )
        if tried.returncode == 0:
            return found
    pytest.fail("no Python of this version can be run by another user here")


@contextmanager
def engine_service(folder: Path) -> Iterator[str]:
    """Run the engine's service as root, as Docker's is, with a socket for the other user: its command."""
    socket = folder / "engine.sock"
    line = [*engine(), "system", "service", "--time", "0", f"unix://{socket}"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program = folder / "podman"
    program.write_text(PODMAN)
    program.chmod(0o755)
    try:
        for _ in range(500):
            if socket.exists():
                break
            assert process.poll() is None, "the engine's service ended"
            time.sleep(0.02)
        os.chown(socket, NOBODY, NOBODY)
        yield f"{program} --remote --url unix://{socket}"
    finally:
        process.terminate()
        process.wait(30)


def run_suites(folder: Path, marker: str, *files: str, **environment: str) -> None:
    """Run the tests with a marker as the other user."""
    packages = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    done = subprocess.run(
        [
            *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
            *(interpreter(), "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-m", marker),
            *("--basetemp", str(folder / "tests")),
            *(f"tests/sandbox/{name}" for name in files),
        ],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": packages,
            "HOME": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
            **environment,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout


@pytest.mark.long
@pytest.mark.bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="all tests run as an ordinary user already")
def test_the_suites_pass_for_an_ordinary_user(folder: Path) -> None:
    names = ("local", "guards", "seccomp", "egress_local", "skill_scripts")
    run_suites(folder, "bubblewrap", *(f"test_{name}.py" for name in names))


@pytest.mark.long
@pytest.mark.container
@pytest.mark.skipif(os.geteuid() != 0, reason="all tests run as an ordinary user already")
def test_scripts_of_skills_run_in_containers_of_an_ordinary_user(folder: Path) -> None:
    with engine_service(folder) as command:
        run_suites(folder, "container", "test_skill_scripts.py", ROEBOT_TEST_ENGINE=command)
