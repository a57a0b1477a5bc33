"""Whether commands can run is known before a chat asks for one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from agent.config.harness import SandboxConfig
from agent.management.check.report import sandbox_problems
from agent.shared.schemas import ConfigProblem
from tests.sandbox.engines import engine
from tests.sandbox.provisioning import TOKEN, serving
from tests.sandbox.stations import Backend

CONTAINERS = "agent.sandbox.container:ContainerSandboxProvider"
REMOTE = "agent.sandbox.remote:RemoteSandboxProvider"


async def problem(home: Path, **keys: Any) -> ConfigProblem | None:
    found = await sandbox_problems(SandboxConfig.model_validate(keys), home)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.bubblewrap
async def test_commands_that_can_run_are_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the try leaves nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert await problem(tmp_path / "home") is None
    assert await problem(tmp_path / "home", isolation="none") is None
    assert list(tmp_path.iterdir()) == []


async def test_what_is_switched_off_is_not_tried(tmp_path: Path) -> None:
    assert await problem(tmp_path, enabled=False, use="no.such:Thing") is None


async def test_without_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = await problem(tmp_path)
    assert found is not None
    assert not found.serious
    assert "bubblewrap is missing (Debian: apt install bubblewrap)" in found.what


async def test_a_provider_that_cannot_be_made_ends_every_run(tmp_path: Path) -> None:
    found = await problem(tmp_path, use="no.such:Thing")
    assert found is not None
    assert found.serious
    assert "The sandbox no.such:Thing needs the module no, which is not installed" in found.what


async def test_a_service_is_asked_with_the_token(tmp_path: Path) -> None:
    backend = Backend()
    async with serving(backend) as (url, _):
        assert await problem(tmp_path, use=REMOTE, url=url, token=TOKEN) is None
        found = await problem(tmp_path, use=REMOTE, url=url, token="another-token-for-tests")
        assert found is not None
        assert found.what == "The sandbox service rejected the token. Check sandbox.token."
    assert [what for what, _ in backend.log if what == "open"] == []
    found = await problem(tmp_path, use=REMOTE, url=url, token=TOKEN)
    assert found is not None
    assert (found.serious, "can't be reached" in found.what) == (False, True)


@pytest.mark.container
async def test_an_image_that_was_not_made_yet(tmp_path: Path) -> None:
    command = " ".join(engine())
    assert await problem(tmp_path, use=CONTAINERS, command=command) is None
    found = await problem(tmp_path, use=CONTAINERS, command=command, image="localhost/no-such-image")
    assert found is not None
    assert "Build it with `make setup-sandbox`" in found.what
