"""The local provider, with bubblewrap, under the suites of every sandbox."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent.core.interfaces import SandboxError, SandboxProvider
from roebot_testing.agent.conformance import SandboxAttackSuite, SandboxSuite
from roebot_testing.agent.conformance.attacks import LIMITS
from tests.sandbox.sandbox_fixtures import local, one

pytestmark = pytest.mark.bubblewrap


class TestLocalSandbox(SandboxSuite):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> SandboxProvider:
        return local(tmp_path)


class TestAttacksOnLocal(SandboxAttackSuite):
    @pytest.fixture
    def provider(self, home: Path) -> SandboxProvider:
        return local(home, limits=LIMITS)


async def test_folders_are_private_and_made_when_used(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path))
    assert list(tmp_path.iterdir()) == [], "acquiring touches nothing"
    await sandbox.write_file("a.txt", b"x")
    workspace = tmp_path / "threads" / "thread-1" / "user-data" / "workspace"
    assert (workspace / "a.txt").read_bytes() == b"x"
    assert stat.S_IMODE(workspace.stat().st_mode) == 0o700


async def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    sandbox = await one(local(tmp_path))
    await sandbox.execute_command("head -c 10000001 /dev/zero > big")
    with pytest.raises(SandboxError, match="larger than 10 MB"):
        await sandbox.read_file("big")
