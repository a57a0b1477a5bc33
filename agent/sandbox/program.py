"""Starts a program whose output comes by pipes of ours.

A loop's own way may differ: uvloop 0.23 gives sockets, which can't be opened as /dev/stdout, and leaves them
open in what the program starts, so that the monitor of a container holds the engine's output for ever.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent.core.pipes import PipeReader


@dataclass(frozen=True, slots=True)
class Start:
    """What to run: `fds` are handed to it under their own numbers."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None = None
    fds: Sequence[int] = field(default=())


class Program:
    """One that was started, in a session of its own. `ended` is set when it is over."""

    def __init__(self, process: subprocess.Popen[bytes], pipes: Sequence[PipeReader]) -> None:
        self._process, self._pipes = process, pipes
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        threading.Thread(target=self._wait, name=f"program-{process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its number, which is its group's too."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        return self._process.returncode

    def kill(self) -> None:
        """End it; whom it started goes on."""
        self._process.kill()

    def close(self) -> None:
        """Hear no more of its output."""
        for pipe in self._pipes:
            pipe.close()

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self.ended.set)


async def begin(start: Start, output: asyncio.Protocol, errors: asyncio.Protocol | None = None) -> Program:
    """Start it. `output` gets what it prints, with its errors unless `errors` gets them. Raises OSError."""
    pipes: list[PipeReader] = []
    writers: list[int] = []
    try:
        for protocol in (output, errors):
            if protocol is not None:
                reader, writer = os.pipe()
                writers.append(writer)
                pipes.append(PipeReader(reader, protocol))
        return Program(await _started(start, writers[0], writers[-1]), pipes)
    except BaseException:
        for pipe in pipes:
            pipe.close()
        raise
    finally:
        for writer in writers:
            os.close(writer)


async def _started(start: Start, output: int, errors: int) -> subprocess.Popen[bytes]:
    """The process, off the loop; one that nobody waits for any more is ended."""

    def popen() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - what it runs is the caller's
            start.argv,
            cwd=start.cwd,
            env=dict(start.env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            pass_fds=tuple(start.fds),
        )

    starting = asyncio.create_task(asyncio.to_thread(popen))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        process.kill()
        await asyncio.to_thread(process.wait)
        raise
