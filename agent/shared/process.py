"""Starting of programs in their own session, with output through pipes, and their reliable termination.

The subprocess support of event loops differs too much. uvloop 0.23 connects programs by sockets, which can't
be opened as /dev/stdout and are inherited by the program's children, so that a container's monitor holds the
output of the engine open forever. Its `connect_read_pipe` closes a descriptor twice, the second time possibly
that of another file (github.com/MagicStack/uvloop/issues/763).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

PIPE_BYTES = 65_536
"""Maximum bytes per read from a pipe."""
TAIL_BYTES = 4_096
"""Maximum bytes to keep of a program's error output."""


@dataclass(frozen=True, slots=True)
class ProgramStart:
    """A program to start; it inherits only the descriptors `fds`, under the same numbers."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None = None
    fds: Sequence[int] = field(default=())


class PipeReader:
    """Passes a pipe's data to a protocol and calls its `connection_lost` at the end or after `close`."""

    def __init__(self, descriptor: int, protocol: asyncio.Protocol) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._protocol = protocol
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read_ready)

    def close(self) -> None:
        """Stop reading and close the descriptor."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(descriptor)
            self._loop.call_soon(self._protocol.connection_lost, None)
        os.close(descriptor)

    def _read_ready(self) -> None:
        if self._descriptor is None:
            return
        try:
            data = os.read(self._descriptor, PIPE_BYTES)
        except BlockingIOError:
            return
        if data:
            self._protocol.data_received(data)
        else:
            self.close()


class OutputBuffer(asyncio.Protocol):
    """Collects output, all or the last `limit` bytes. `closed` is set once no program can write."""

    def __init__(self, limit: int | None = None) -> None:
        self._data, self._limit = bytearray(), limit
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._data += data
        if self._limit is not None:
            del self._data[: -self._limit]

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()

    @property
    def text(self) -> str:
        """Return the collected output; invalid UTF-8 becomes U+FFFD."""
        return self._data.decode(errors="replace")

    @property
    def last_line(self) -> str:
        """Return the last line that is not blank, or "" if there is none."""
        lines = (line.strip() for line in reversed(self.text.splitlines()))
        return next((line for line in lines if line), "")

    @asynccontextmanager
    async def open_pipe(self) -> AsyncIterator[TextIO]:
        """Yield a file whose content is collected, for libraries that start programs themselves."""
        reading, writing = os.pipe()
        reader = PipeReader(reading, self)
        try:
            with os.fdopen(writing, "w") as write_end:
                yield write_end
        finally:
            reader.close()


class Process:
    """A started program, the leader of its own session and process group. `ended` is set on its exit."""

    def __init__(self, process: subprocess.Popen[bytes], pipes: Sequence[PipeReader]) -> None:
        self._process, self._pipes = process, pipes
        self._loop = asyncio.get_running_loop()
        self.ended = asyncio.Event()
        threading.Thread(target=self._wait, name=f"program-{process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Return the exit code, or minus the signal that killed it; None while it runs."""
        return self._process.returncode

    async def end(self) -> None:
        """Kill the program but not its children, wait for its exit, and stop reading its output."""
        self._process.kill()
        await run_to_end(self.ended.wait())
        self.close()

    def close(self) -> None:
        """Stop reading its output."""
        for pipe in self._pipes:
            pipe.close()

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed: nothing waits for the event
            self._loop.call_soon_threadsafe(self.ended.set)


async def start_process(
    start: ProgramStart, output: asyncio.Protocol, errors: asyncio.Protocol | None = None
) -> Process:
    """Start a program. Its error output goes to `errors` (default: `output`). Raises OSError."""
    pipes: list[PipeReader] = []
    writers: list[int] = []
    try:
        for protocol in (output, errors):
            if protocol is not None:
                reader, writer = os.pipe()
                writers.append(writer)
                pipes.append(PipeReader(reader, protocol))
        return Process(await _open_process(start, writers[0], writers[-1]), pipes)
    except BaseException:
        for pipe in pipes:
            pipe.close()
        raise
    finally:
        for writer in writers:
            os.close(writer)


async def _open_process(start: ProgramStart, output: int, errors: int) -> subprocess.Popen[bytes]:
    """Start the program off the event loop; kill it if the caller is cancelled in the meantime."""

    def popen() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the caller decides what runs
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


def kill_group(pid: int) -> None:
    """Kill a program and its process group; ignored if it has already exited."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


async def run_to_end(work: Coroutine[Any, Any, object]) -> None:
    """Finish `work` even if the caller is cancelled in the meantime, then raise the cancellation."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
