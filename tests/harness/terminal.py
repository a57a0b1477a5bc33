"""A person at the terminal: a command of ours with a pipe for what is typed, read as far as it has come."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.harness.machine import Deadline

ROOT = Path(__file__).parents[2]
NO_SYSTEMD = {"XDG_RUNTIME_DIR": "", "DBUS_SESSION_BUS_ADDRESS": ""}
"""`roebot init` must not find the systemd of the person who runs the tests."""


class Terminal:
    """What stands on it, and how many lines were typed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.text = ""
        self.typed = 0
        self._read = 0
        self._reading = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        assert self.process.stdout is not None
        while piece := await self.process.stdout.read(4096):
            self.text += piece.decode(errors="replace")

    async def expects(self, words: str, seconds: float = 60.0) -> None:
        """Wait until these words come, after those that were expected before."""
        deadline = Deadline(seconds)
        while (found := self.text.find(words, self._read)) < 0:
            assert not self._reading.done(), f"ended without {words!r}:\n{self.text}"
            assert not deadline.passed, f"no {words!r}:\n{self.text}"
            await asyncio.sleep(0.02)
        self._read = found + len(words)

    async def types(self, line: str, after: str) -> None:
        """Type a line where these words ask for it."""
        await self.expects(after)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        await self.process.stdin.drain()
        self.typed += 1

    async def interrupts(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return await self.ends()

    async def ends(self) -> int:
        """Wait for the end; the exit code."""
        await asyncio.wait_for(self._reading, 60.0)
        return await self.process.wait()


def hear_interrupts() -> None:
    """Let programs hear Ctrl-C, also where a shell started the tests in the background, deaf to it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@asynccontextmanager
async def terminal(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[Terminal]:
    """`roebot` with these arguments in a folder; ended afterwards."""
    own = ("_TOKEN", "_API_KEY", "ROEBOT_HOME")
    clean = {key: value for key, value in os.environ.items() if not key.endswith(own)}
    hear_interrupts()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-u",
        "-m",
        "bot.cli",
        *arguments,
        cwd=folder,
        env={
            **clean,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1",
            **(NO_SYSTEMD if arguments[:1] == ("init",) else {}),
            **(env or {}),
        },
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Terminal(process)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 20.0)
        except TimeoutError:
            process.kill()
            await process.wait()
