"""Attacks on shared resources: processes, memory, disk, output and time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.core.interfaces import Sandbox, SandboxError
from roebot_testing.agent.conformance.attacks_base import AttackBase, run_on_host, run_python, wait_until_gone

_FORKS = """
import os, time, sys
made = 0
for _ in range(2000):
    try:
        pid = os.fork()
    except OSError:
        break
    if not pid:
        time.sleep(60); os._exit(0)
    made += 1
print(made)
"""
_THREADS = """
import threading, time
made = 0
try:
    for _ in range(2000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
print(made, flush=True)
import os; os._exit(0)
"""
_HIDDEN_FILE = """
import os, time
for number in range(2):
    fd = os.open(f"hidden{number}", os.O_RDWR | os.O_CREAT); os.unlink(f"hidden{number}")
    for _ in range(30):
        os.write(fd, bytes(1_000_000))
print("kept"); time.sleep(60)
"""
_DEEP = """
import os, time
for _ in range(50):
    os.mkdir("d" * 200); os.chdir("d" * 200)
for number in range(3):
    with open(f"file{number}", "wb") as file:
        file.write(bytes(30_000_000))
time.sleep(60)
"""
_SPREAD = """
import os, time
for _ in range(8):
    if not os.fork():
        kept = bytearray(100_000_000)
        for at in range(0, len(kept), 4096): kept[at] = 1
        time.sleep(60); os._exit(0)
os.wait(); os._exit(1)
"""
_NAMELESS = """
import os, time
fds = []
for _ in range(40):
    fd = os.memfd_create("x"); fds.append(fd)
    for _ in range(15): os.write(fd, bytes(1_000_000))
print("kept", flush=True); time.sleep(60)
"""
_SHARED = """
import mmap, time
kept = [mmap.mmap(-1, 50_000_000) for _ in range(12)]
for one in kept:
    for at in range(0, 50_000_000, 4096): one[at] = 1
print("kept", flush=True); time.sleep(60)
"""


@pytest.mark.asyncio
class ResourceAttacks(AttackBase):
    """A command that uses too much is stopped, and the sandbox keeps working."""

    async def after(self, sandbox: Sandbox) -> None:
        """Check that the sandbox still works after each attack."""
        result = await sandbox.execute_command("echo fine; rm -rf *")
        assert result.output.startswith("fine\n")
        assert result.exit_code == 0

    @pytest.mark.parametrize("script", [_FORKS, _THREADS], ids=["forks", "threads"])
    async def test_a_fork_bomb_meets_its_limit(self, sandbox: Sandbox, script: str) -> None:
        """Of processes and of threads."""
        result = await run_python(sandbox, script)
        assert 1 <= int(result.output.split()[-1]) <= 60
        await self.after(sandbox)

    async def test_a_fork_bomb_that_multiplies(self, sandbox: Sandbox) -> None:
        """The classic one, with a name by which it can be found."""
        mark = f"7{os.getpid()}.5"
        await sandbox.execute_command(f"b() {{ sleep {mark} & b | b & }}; b 2>/dev/null; sleep 30", seconds=2)
        assert await wait_until_gone(f"sleep {mark}")
        await self.after(sandbox)

    async def test_the_disk_by_one_file(self, sandbox: Sandbox, home: Path) -> None:
        """Written, and reserved."""
        for command in ("head -c 200000000 /dev/zero > big", "fallocate -l 200000000 big", "yes > big"):
            await sandbox.execute_command(command, seconds=15)
            assert await run_on_host(lambda: measure_folder(self.folder(home))) <= 45_000_000
        await self.after(sandbox)

    async def test_the_disk_by_many_files(self, sandbox: Sandbox, home: Path) -> None:
        """Each of them small, in all three folders."""
        result = await sandbox.execute_command(
            "for i in $(seq 10000); do for d in . ../uploads ../outputs; do "
            "head -c 5000000 /dev/zero > $d/f$i; sleep 0.01; done; done"
        )
        assert result.stopped
        areas = [self.folder(home, area) for area in ("workspace", "uploads", "outputs")]
        assert await run_on_host(lambda: sum(map(measure_folder, areas))) < 200_000_000
        await sandbox.execute_command("rm -rf ../uploads/* ../outputs/* *")
        await self.after(sandbox)

    async def test_the_disk_by_empty_files(self, sandbox: Sandbox) -> None:
        """File names use disk space too."""
        result = await run_python(
            sandbox, "import time\nfor i in range(10**6):\n open(f'e{i}', 'w').close()\n time.sleep(0.0002)"
        )
        assert result.stopped
        await sandbox.execute_command("find . -name 'e*' -delete")
        await self.after(sandbox)

    async def test_the_disk_by_folders_in_folders(self, sandbox: Sandbox) -> None:
        """So deep that no path reaches the file."""
        result = await run_python(sandbox, _DEEP)
        assert result.stopped
        await self.after(sandbox)

    async def test_the_disk_by_files_without_a_name(self, sandbox: Sandbox) -> None:
        """Removed while they are open."""
        result = await run_python(sandbox, _HIDDEN_FILE)
        assert result.stopped
        await self.after(sandbox)

    async def test_the_disk_by_scratch_files(self, sandbox: Sandbox) -> None:
        """Memory behind a path has a size."""
        result = await sandbox.execute_command(
            "for d in /tmp /dev/shm /run /var/tmp; do test -d $d && for i in 1 2 3 4; do "
            "head -c 15000000 /dev/zero > $d/big$i; done; done 2>/dev/null; "
            "cat /tmp/big* /dev/shm/big* /run/big* /var/tmp/big* 2>/dev/null | wc -c"
        )
        assert result.stopped or int(result.output) <= 4 * 20_000_000
        await self.after(sandbox)

    async def test_the_disk_by_file_operations(self, sandbox: Sandbox) -> None:
        """The service does not fill the disk on behalf of a command."""
        with pytest.raises(SandboxError, match="full"):
            for number in range(10):
                await sandbox.write_file(f"part{number}", bytes(9_000_000))
        await self.after(sandbox)

    @pytest.mark.parametrize(
        "script",
        [
            "kept = bytearray(10**9)\nkept[::4096] = bytes(len(kept[::4096]))\nprint('kept')",
            _SPREAD,
            _NAMELESS,
            _SHARED,
        ],
        ids=["one", "spread", "nameless", "shared"],
    )
    async def test_memory(self, sandbox: Sandbox, script: str) -> None:
        """Of one process, of many, without a process, between them."""
        result = await run_python(sandbox, script)
        assert result.exit_code != 0
        assert not result.timed_out
        await self.after(sandbox)

    @pytest.mark.parametrize(
        "command",
        ["yes", "cat /dev/zero", "yes >&2", "yes & yes & wait", "cat /dev/urandom | base64 -w 0"],
        ids=["lines", "zeros", "errors", "two", "one-line"],
    )
    async def test_an_output_flood(self, sandbox: Sandbox, command: str) -> None:
        """The command is stopped, and little of its output is stored."""
        result = await sandbox.execute_command(command)
        assert result.stopped
        assert result.truncated
        assert len(result.output) <= 21_000
        await self.after(sandbox)

    async def test_time(self, sandbox: Sandbox) -> None:
        """A busy or sleeping command is stopped in time, even if it asks for more."""
        for command in ("while :; do :; done", "trap '' TERM; sleep 100", "exec sleep 100"):
            assert (await sandbox.execute_command(command, seconds=0.5)).timed_out
        await self.after(sandbox)


def measure_folder(folder: Path) -> int:
    """Return the size in bytes of all files in a folder."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
