"""Execution of a command with limits on time, output and resources, leaving no process behind."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Callable
from contextlib import suppress

from agent.core.interfaces import CommandResult
from agent.sandbox.options import SandboxLimits
from agent.shared.process import Process, ProgramStart, kill_group, run_to_end, start_process

WATCH_SECONDS = 0.1
PIPE_SECONDS = 5.0
"""Default seconds to wait until no process holds the output of an ended command."""
_LINE = 4_096
GAP = "\n[... {count:,} bytes of output were not kept ...]\n"
"""Stands for the middle of an output that is too long."""
LOST = re.compile(r"^\[\.\.\. (?P<count>[\d,]+) bytes of output were not kept \.\.\.\]$", re.MULTILINE)
"""Finds it in an output."""


async def run(
    start: ProgramStart,
    limits: SandboxLimits,
    *,
    seconds: float | None = None,
    over: Callable[[int], str | None] | None = None,
    letting_go: float = PIPE_SECONDS,
) -> CommandResult:
    """Run a program; `over` runs in a thread and returns why the program must stop. Raises OSError on start.

    Its process group is killed afterwards, which has to end its PID namespace too. `letting_go` is how many
    seconds other processes have to close the output then.
    """
    output = _CommandOutput(limits.output_bytes, limits.flood_bytes)
    program = await start_process(start, output)
    output.flooding = program.ended.set
    stopped: str | None = None
    code: int | None = None
    try:
        async with asyncio.timeout(limits.time_for(seconds)):
            stopped = await _until_over(program, output, over)
        code = program.code if stopped is None else None
    except TimeoutError:
        pass
    finally:
        # Background processes of the command are in its group.
        kill_group(program.pid)
        # A process outside of the group may hold the pipe for ever.
        await run_to_end(_wait_for_close(output, letting_go))
        program.close()
    return CommandResult(output.text, code, output.truncated, stopped)


async def _until_over(
    program: Process, output: _CommandOutput, over: Callable[[int], str | None] | None
) -> str | None:
    """Wait until the program exits, or return why it must stop."""
    while not program.ended.is_set():
        try:
            async with asyncio.timeout(WATCH_SECONDS if over else None):
                await program.ended.wait()
        except TimeoutError:
            reason = await asyncio.to_thread(over, program.pid) if over else None
            if reason and not program.ended.is_set():
                return reason
    return "It produced too much output." if output.flooded else None


async def _wait_for_close(output: _CommandOutput, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await output.closed.wait()


class _CommandOutput(asyncio.Protocol):
    """The output of a command: the first and last half of `limit` bytes.

    `flooding` is called after `flood` bytes; `closed` is set once no process can write.
    """

    def __init__(self, limit: int, flood: int) -> None:
        self._half, self._flood, self._seen = limit // 2, flood, 0
        self._head, self._tail = bytearray(), bytearray()
        self.truncated = self.flooded = False
        self.flooding: Callable[[], None] = lambda: None
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
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
        self.closed.set()

    @property
    def text(self) -> str:
        """The output, cut between lines, since a partial host path could not be masked.

        A line that is too long for that is cut between characters.
        """
        head, tail = bytes(self._head), bytes(self._tail)
        if not self.truncated:
            return (head + tail).decode(errors="replace")
        end, begin = head.rfind(b"\n", -_LINE), tail.find(b"\n", 0, _LINE)
        head = head[: end if end >= 0 else len(head) - _split_bytes(head)]
        tail = tail[begin + 1 :] if begin >= 0 else tail[_continued_bytes(tail) :]
        gap = GAP.format(count=self._seen - len(head) - len(tail))
        return f"{head.decode(errors='replace')}{gap}{tail.decode(errors='replace')}"


def _split_bytes(data: bytes) -> int:
    """Return the number of trailing bytes that belong to an incomplete character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    return len(decoder.getstate()[0])


def _continued_bytes(data: bytes) -> int:
    """Return the number of leading bytes that only continue a character."""
    return next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
