"""Attacks on the remote provider: its home and its provisioner are on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from agent.core.interfaces import Sandbox, SandboxError, SandboxProvider
from roebot_testing.agent.conformance import SandboxAttackSuite
from roebot_testing.agent.conformance.attacks import LIMITS
from roebot_testing.agent.conformance.attacks_base import SECRET
from tests.sandbox.provisioning import bubblewrapped, remote, serving

pytestmark = pytest.mark.bubblewrap


class TestAttacksOnRemote(SandboxAttackSuite):
    @pytest_asyncio.fixture
    async def provider(self, home: Path, tmp_path: Path) -> AsyncIterator[SandboxProvider]:
        async with serving(bubblewrapped(tmp_path / "service", LIMITS)) as (url, _):
            yield remote(home, url, limits=LIMITS)

    async def test_links_swapped_in_between(self, sandbox: Sandbox, home: Path) -> None:
        """What a command does shows at home when it is over; a link in the place of a folder stays a link."""
        target = home / "target"
        await asyncio.to_thread(target.mkdir)
        await asyncio.to_thread((target / "secret.txt").write_text, SECRET)
        await sandbox.write_file("d/secret.txt", b"harmless")
        await sandbox.execute_command(f"mv d plain; ln -s {target} d")
        with pytest.raises(SandboxError, match="link"):
            await sandbox.read_file("d/secret.txt")
        with pytest.raises(SandboxError, match="link"):
            await sandbox.write_file("d/out.txt", b"escaped")
        await sandbox.execute_command("rm d; mv plain d; echo more > d/more.txt")
        assert await sandbox.read_file("d/secret.txt") == b"harmless"
        assert await asyncio.to_thread(lambda: [path.name for path in target.iterdir()]) == ["secret.txt"]

    async def test_pipes_and_sockets_are_no_files(self, sandbox: Sandbox) -> None:
        """They stay where they are, and nobody waits for their other end."""
        await sandbox.execute_command(
            "mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\"; "
            "mkdir sub; mkfifo sub/pipe"
        )
        for path in ("pipe", "socket", "sub/pipe"):
            with pytest.raises(SandboxError):
                await asyncio.wait_for(sandbox.read_file(path), 5)
        await sandbox.write_file("pipe", b"a file")
        assert (await sandbox.execute_command("cat pipe")).output == "a file"
