"""Shared base and helpers of the sandbox attacks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import psutil
import pytest
import pytest_asyncio

from agent.core.interfaces import CommandResult, Sandbox, SandboxProvider

SECRET = "roebot-attack-secret-5d41402a"  # noqa: S105 - what the attacks look for
_RUN = token_hex(4)
THREAD, OTHER = f"attacker-{_RUN}", f"victim-{_RUN}"
"""Threads of this process alone: commands of a thread have the same user everywhere on the machine, and the
kernel counts processes by user, so that a fork bomb of one run would hit the limit of another.
"""
ResultT = TypeVar("ResultT")


class AttackBase:
    """Base class of the attack suites. Subclasses provide the fixtures `home` and `provider`."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """The data directory, which contains a secret of the host."""
        home = tmp_path / "home"
        (home / "threads").mkdir(parents=True)
        (home / "secret.txt").write_text(SECRET)
        return home

    @pytest.fixture
    def provider(self, home: Path) -> SandboxProvider:
        """The provider to test. Subclasses override this."""
        raise NotImplementedError("a conformance suite needs a fixture named provider")

    @pytest_asyncio.fixture
    async def sandbox(self, provider: SandboxProvider) -> AsyncIterator[Sandbox]:
        """The sandbox of the attacker."""
        sandbox_id = await provider.acquire(THREAD)
        sandbox = provider.get(sandbox_id)
        assert sandbox is not None
        yield sandbox
        await provider.release(sandbox_id)

    def folder(self, home: Path, area: str = "workspace", thread_id: str = THREAD) -> Path:
        """Return the host path of an area of a thread."""
        return home / "threads" / thread_id / "user-data" / area


async def run_on_host(work: Callable[[], ResultT]) -> ResultT:
    """Run a blocking check on the host in a thread."""
    return await asyncio.to_thread(work)


async def run_python(sandbox: Sandbox, text: str, *, seconds: float | None = None) -> CommandResult:
    """Run a Python script in the sandbox."""
    await sandbox.write_file("attack.py", text.encode())
    return await sandbox.execute_command("python3 attack.py", seconds=seconds)


def list_marked_processes(mark: str) -> list[int]:
    """Return the host's processes with the mark in their command line. Blocking."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE and mark in " ".join(process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


async def wait_until_gone(mark: str, *, tries: int = 100) -> bool:
    """Return whether the processes with the mark have exited, waiting briefly for killed ones."""
    for _ in range(tries):
        if not await asyncio.to_thread(list_marked_processes, mark):
            return True
        await asyncio.sleep(0.05)
    return False
