"""Attacks on paths and links, by commands and by file operations from outside the sandbox."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from agent.core.interfaces import Sandbox, SandboxError, SandboxProvider
from roebot_testing.agent.conformance.attacks_base import OTHER, SECRET, AttackBase, run_on_host

SWAPS, TRIES, PATIENCE = 60, 5_000, 60.0
_SWAP = """
import os, shutil, sys
from contextlib import suppress
target = sys.argv[1]
os.mkdir("d")
open("d/secret.txt", "w").write("harmless")
os.symlink(target, "link")
def settle():
    # Whoever writes while there is no folder makes one.
    if os.path.islink("d"):
        os.rename("d", "link")
    if os.path.isdir("plain"):
        shutil.rmtree("d", ignore_errors=True)
        os.rename("plain", "d")
while not os.path.exists("stop"):
    try:
        os.rename("d", "plain"); os.rename("link", "d")
        os.rename("d", "link"); os.rename("plain", "d")
    except OSError:
        with suppress(OSError):
            settle()
"""


@pytest.mark.asyncio
class FileAttacks(AttackBase):
    """A path leads to a file of the sandbox or to none."""

    @pytest.mark.parametrize(
        "path",
        [
            "../../../../secret.txt",
            "a/../../../../../secret.txt",
            "/mnt/user-data/workspace/../../../secret.txt",
            "//etc/passwd",
            "/mnt/user-data/workspace-evil/x",
            "/mnt/user-data/workspace/..",
            "..\\secret.txt",
            "x\x00/../../secret.txt",
            "/mnt",
            "/proc/self/environ",
        ],
    )
    async def test_paths_by_file_operations(self, sandbox: Sandbox, path: str) -> None:
        """Traversal, other roots, look-alikes, control characters."""
        for operation in (sandbox.read_file(path), sandbox.list_dir(path), sandbox.write_file(path, b"x")):
            with pytest.raises(SandboxError):
                await operation

    async def test_paths_of_the_host_by_commands(self, sandbox: Sandbox, home: Path) -> None:
        """The host's files are not there, by their own path or upwards."""
        secret = home / "secret.txt"
        result = await sandbox.execute_command(
            f"cat {secret}; cat ../../../../secret.txt; cat /mnt/../{secret}; cat /etc/shadow; ls {home}; "
            "ls /root /home /var /boot /opt/secret; find / -xdev -name secret.txt 2>/dev/null"
        )
        assert SECRET not in result.output
        assert "secret.txt\n" not in result.output.replace("secret.txt: ", "")

    async def test_paths_of_another_thread(
        self, provider: SandboxProvider, sandbox: Sandbox, home: Path
    ) -> None:
        """Neither read nor written, by a command."""
        victim = provider.get(await provider.acquire(OTHER))
        assert victim is not None
        await victim.write_file("mine.txt", SECRET.encode())
        place = self.folder(home, thread_id=OTHER)
        result = await sandbox.execute_command(
            f"cat {place}/mine.txt; echo gotcha > {place}/new.txt; "
            f"cat ../../{OTHER}/user-data/workspace/mine.txt; "
            f"cat /mnt/user-data/../../{OTHER}/user-data/workspace/mine.txt; ls /mnt /mnt/user-data"
        )
        assert SECRET not in result.output
        assert await run_on_host(lambda: sorted(path.name for path in place.iterdir())) == ["mine.txt"]

    async def test_paths_that_can_only_be_read(self, sandbox: Sandbox) -> None:
        """The system's folders and the sandbox's own root."""
        result = await sandbox.execute_command(
            "for f in /x /usr/x /usr/bin/x /etc/x /etc/passwd /mnt/x /mnt/user-data/x /dev/x /lib/x; "
            "do (echo x >> $f) 2>/dev/null && echo wrote $f; done; rm -f /usr/bin/true; test -x /usr/bin/true"
        )
        assert "wrote" not in result.output
        assert result.exit_code == 0

    async def test_links_by_file_operations(self, sandbox: Sandbox, home: Path) -> None:
        """As the file itself, on the way to it, to nothing, and in a circle."""
        await sandbox.execute_command(
            f"ln -s {home}/secret.txt file; ln -s {home} folder; ln -s {home}/new.txt new; ln -s loop loop; "
            "ln -s /proc/self/root root; mkdir -p real; ln -s ../folder real/deep"
        )
        for path in ("file", "folder/secret.txt", "new", "loop", "root/etc/passwd", "real/deep/secret.txt"):
            with pytest.raises(SandboxError):
                await sandbox.read_file(path)
            with pytest.raises(SandboxError):
                await sandbox.write_file(path, b"overwritten")
        for path in ("folder", "root", "real/deep"):
            with pytest.raises(SandboxError):
                await sandbox.list_dir(path)
        assert await run_on_host((home / "secret.txt").read_text) == SECRET
        assert not await run_on_host((home / "new.txt").exists)

    async def test_links_of_the_second_kind(self, sandbox: Sandbox, home: Path) -> None:
        """No second name for a file of the system, and none is used by a file operation."""
        result = await sandbox.execute_command(
            f"ln /usr/bin/env stolen; ln {home}/secret.txt stolen; ln /etc/passwd stolen; ls stolen"
        )
        assert result.exit_code != 0
        # What a command may not do, an accident or another program of the host may.
        await run_on_host(lambda: (self.folder(home) / "second").hardlink_to(home / "secret.txt"))
        with pytest.raises(SandboxError, match="another hard link"):
            await sandbox.read_file("second")
        for append in (False, True):
            with pytest.raises(SandboxError, match="another hard link"):
                await sandbox.write_file("second", b"x", append=append)
        assert await run_on_host((home / "secret.txt").read_text) == SECRET

    async def test_links_swapped_in_between(self, sandbox: Sandbox, home: Path) -> None:
        """A folder that is a link at every other moment leads nowhere."""
        target = home / "target"
        await run_on_host(target.mkdir)
        await run_on_host(lambda: (target / "secret.txt").write_text(SECRET))
        await sandbox.write_file("swap.py", _SWAP.encode())
        swapping = asyncio.create_task(sandbox.execute_command(f"python3 swap.py {target}"))
        read: list[bytes] = []
        refused = 0
        try:
            for _ in range(TRIES):
                if "link" in {entry.name for entry in await sandbox.list_dir(".")}:
                    break
                await asyncio.sleep(0.01)
            # Whoever swaps is another process: it may have to wait for its turn.
            patient = asyncio.get_running_loop().time() + PATIENCE
            while min(len(read), refused) < SWAPS and asyncio.get_running_loop().time() < patient:
                try:
                    read.append(await sandbox.read_file("d/secret.txt"))
                except SandboxError:
                    refused += 1
                with suppress(SandboxError):
                    await sandbox.write_file("d/out.txt", b"escaped")
        finally:
            await sandbox.write_file("stop", b"")
            await swapping
        assert set(read) == {b"harmless"}
        assert refused
        assert await run_on_host(lambda: [path.name for path in target.iterdir()]) == ["secret.txt"]

    async def test_pipes_and_sockets_are_no_files(self, sandbox: Sandbox) -> None:
        """Reading them does not wait for their other end."""
        await sandbox.execute_command(
            "mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\""
        )
        for path in ("pipe", "socket"):
            with pytest.raises(SandboxError):
                await asyncio.wait_for(sandbox.read_file(path), 5)
            with pytest.raises(SandboxError):
                await asyncio.wait_for(sandbox.write_file(path, b"x"), 5)
