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


@pytest.mark.guard(
    "links swapped in mid-operation: each name is opened from its parent folder",
    "agent/sandbox/safe_files.py",
    "return os.open(name, flags, FILE_MODE, dir_fd=folder)",
    'return os.open(f"/proc/self/fd/{folder}/{name}", flags & ~os.O_NOFOLLOW, FILE_MODE)',
    against="links",
    test="test_links_swapped_in_between",
)
@pytest.mark.guard(
    "open files are not inherited",
    "agent/shared/process.py",
    "pass_fds=tuple(start.fds),",
    "close_fds=not [os.set_inheritable(fd, True) for fd in start.fds],",
    against="environment",
    test="test_secrets_in_open_files",
)
@pytest.mark.guard(
    "separate network namespace",
    "agent/sandbox/bubblewrap.py",
    '    own += ["--unshare-net"]\n',
    "",
    against="network",
    test="test_the_network",
)
@pytest.mark.guard(
    "the number of processes is limited",
    "agent/sandbox/bubblewrap.py",
    'f"--nproc={limits.processes}",',
    "",
    against="fork bomb",
    test="test_a_fork_bomb_meets_its_limit",
)
@pytest.mark.guard(
    "the number of files is limited",
    "agent/sandbox/resource_watch.py",
    "if held.entries > limits.disk_files and held.entries > least.entries:",
    "if False:",
    against="disk fill",
    test="test_the_disk_by_empty_files",
)
@pytest.mark.guard(
    "folders that are too deep to count use up the quota",
    "agent/sandbox/resource_watch.py",
    "if len(os.fsencode(folder)) > _MAX_PATH_BYTES:",
    "if False:",
    against="disk fill",
    test="test_the_disk_by_folders_in_folders",
)
@pytest.mark.guard(
    "file tools respect the quota",
    "agent/sandbox/folder.py",
    "if len(content) > self.room(held):",
    "if False:",
    against="disk fill",
    test="test_the_disk_by_file_operations",
)
@pytest.mark.guard(
    "memory in deleted open files is counted",
    "agent/sandbox/resource_watch.py",
    "return ProcessUse(memory + sum(deleted.values()) - sum(disk.values()), sum(disk.values()))",
    "return ProcessUse(memory, sum(disk.values()))",
    against="memory",
    test="test_memory",
)
@pytest.mark.guard(
    "excessive output ends a command",
    "agent/sandbox/running.py",
    "if self._seen > self._flood:",
    "if False:",
    against="output flood",
    test="test_an_output_flood",
)
@pytest.mark.guard(
    "only a limited amount of output is kept",
    "agent/sandbox/running.py",
    "if len(self._tail) > self._half:",
    "if False:",
    against="output flood",
    test="test_an_output_flood",
)
@pytest.mark.guard(
    "commands have a time limit",
    "agent/sandbox/running.py",
    "async with asyncio.timeout(limits.time_for(seconds)):",
    "async with asyncio.timeout(None):",
    against="time",
    test="test_time",
)
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
