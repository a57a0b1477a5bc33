"""Runs a program to its end, or ends it: time, flood and whatever a watch finds. Leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.ports.sandbox import CommandResult
from agent.sandbox.limits import SandboxLimits

PAUSE = 0.1
LETTING_GO = 5.0
_LINE = 4_096
_GAP = b"\n[...]\n"


@dataclass(frozen=True, slots=True)
class Start:
    """What to run: `fds` are handed to it under their own numbers."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None = None
    fds: Sequence[int] = field(default=())


async def run(
    start: Start,
    limits: SandboxLimits,
    *,
    seconds: float | None = None,
    over: Callable[[int], str | None] | None = None,
    letting_go: float = LETTING_GO,
) -> CommandResult:
    """Run it. `over` is asked, in a thread, whether it has to end. Raises OSError where it can't start.

    Its process group is killed in the end, however that comes; a namespace of processes has to die with it.
    `letting_go`: seconds for others to close its output then.
    """
    transport, watched = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Watched(limits.output_bytes, limits.flood_bytes),
        *start.argv,
        cwd=start.cwd,
        env=dict(start.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        pass_fds=tuple(start.fds),
    )
    stopped: str | None = None
    code: int | None = None
    try:
        async with asyncio.timeout(limits.time_for(seconds)):
            stopped = await _until_over(watched, transport.get_pid(), over)
        code = transport.get_returncode() if stopped is None else None
    except TimeoutError:
        pass
    finally:
        _kill(transport.get_pid())
        # Somebody outside of the group may hold the pipe; nobody waits for that one.
        await to_its_end(_let_go(watched, letting_go))
        transport.close()
    return CommandResult(watched.text, code, watched.truncated, stopped)


async def _until_over(watched: _Watched, pid: int, over: Callable[[int], str | None] | None) -> str | None:
    """Wait for the end; why it has to come, if it does not come by itself."""
    while not watched.ended.is_set():
        try:
            async with asyncio.timeout(PAUSE if over else None):
                await watched.ended.wait()
        except TimeoutError:
            reason = await asyncio.to_thread(over, pid) if over else None
            if reason and not watched.ended.is_set():
                return reason
    return "It printed too much." if watched.flooded else None


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do it whole, also when the task is cancelled meanwhile; the cancellation comes after."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


async def _let_go(watched: _Watched, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await watched.closed.wait()


class _Watched(asyncio.SubprocessProtocol):
    """A command at work, and what it prints: the first and the last half of what may be kept.

    `ended`: it is over itself, or printed too much; `closed`: and so is everything that it started.
    """

    def __init__(self, limit: int, flood: int) -> None:
        self._half, self._flood, self._seen = limit // 2, flood, 0
        self._head, self._tail = bytearray(), bytearray()
        self.truncated = self.flooded = False
        self.ended, self.closed = asyncio.Event(), asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._half:
            self.truncated = True
            del self._tail[: -self._half]
        self._seen += len(data)
        if self._seen > self._flood:
            self.flooded = True
            self.ended.set()

    def process_exited(self) -> None:
        """It ended."""
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody holds its output any more."""
        self.closed.set()

    @property
    def text(self) -> str:
        """The output. It is cut between lines: half a path would not be known for one of the host."""
        head, tail = bytes(self._head), bytes(self._tail)
        if self.truncated:
            end, begin = head.rfind(b"\n", -_LINE), tail.find(b"\n", 0, _LINE)
            head, tail = head[: end if end >= 0 else None], tail[begin + 1 :]
        return (head + (_GAP if self.truncated else b"") + tail).decode(errors="replace")


def _kill(pid: int) -> None:
    """End the command and whatever of its group it left in the background."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
