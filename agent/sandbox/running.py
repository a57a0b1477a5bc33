"""Runs a program to its end, or ends it: time, flood and whatever a watch finds. Leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from agent.core.interfaces import CommandResult
from agent.sandbox.limits import SandboxLimits
from agent.shared.process import Process, ProgramStart, kill_group, run_to_end, start_process

PAUSE = 0.1
LETTING_GO = 5.0
_LINE = 4_096
_GAP = b"\n[...]\n"


async def run(
    start: ProgramStart,
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
    watched = _Watched(limits.output_bytes, limits.flood_bytes)
    program = await start_process(start, watched)
    watched.flooding = program.ended.set
    stopped: str | None = None
    code: int | None = None
    try:
        async with asyncio.timeout(limits.time_for(seconds)):
            stopped = await _until_over(program, watched, over)
        code = program.code if stopped is None else None
    except TimeoutError:
        pass
    finally:
        # The group has whatever the command left in the background.
        kill_group(program.pid)
        # Somebody outside of the group may hold the pipe; nobody waits for that one.
        await run_to_end(_let_go(watched, letting_go))
        program.close()
    return CommandResult(watched.text, code, watched.truncated, stopped)


async def _until_over(
    program: Process, watched: _Watched, over: Callable[[int], str | None] | None
) -> str | None:
    """Wait for the end; why it has to come, if it does not come by itself."""
    while not program.ended.is_set():
        try:
            async with asyncio.timeout(PAUSE if over else None):
                await program.ended.wait()
        except TimeoutError:
            reason = await asyncio.to_thread(over, program.pid) if over else None
            if reason and not program.ended.is_set():
                return reason
    return "It printed too much." if watched.flooded else None


async def _let_go(watched: _Watched, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await watched.closed.wait()


class _Watched(asyncio.Protocol):
    """What a command prints: the first and the last half of what may be kept.

    `flooding` is called when it is too much; `closed`: nobody is left who could print.
    """

    def __init__(self, limit: int, flood: int) -> None:
        self._half, self._flood, self._seen = limit // 2, flood, 0
        self._head, self._tail = bytearray(), bytearray()
        self.truncated = self.flooded = False
        self.flooding: Callable[[], None] = lambda: None
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
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
            self.flooding()

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
