"""Programs of ours in processes that are forked from one with their modules: a start costs no imports."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, cast

from bot.runtime.spawn import RuntimeProcess
from tests.harness.warning_filters import apply_filters

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("bot.cli.app", "bot.cli.config", "bot.cli.init.command", "bot.cli.manifest", "bot.cli.run"),
        *("bot.cli.chat.command", "bot.cli.doctor.command", "bot.cli.token_commands", "bot.app.service"),
        *("bot.platforms.telegram.adapter", "agent.serve", "agent.client", "agent.lead", "uvloop"),
        *("mcp.server.fastmcp", "uvicorn"),
        "tests.harness.forks",
    ]
)


@dataclass(frozen=True, slots=True)
class Program:
    """A module, or the source of a program (as for `python -c`), its arguments, and where it runs.

    `env` is the whole environment (None: ours).
    """

    module: str = ""
    arguments: Sequence[str] = ()
    folder: Path | None = None
    env: Mapping[str, str] | None = None
    source: str = ""
    warnings_are_errors: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a program."""

    returncode: int
    stdout: str
    stderr: str


class _Stream:
    """A file descriptor that a forked process gets a copy of."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _detach, (DupFd(self._number),)


def _detach(copy: Any) -> int:
    return int(copy.detach())


@cache
def load() -> None:
    """Wait until the modules are imported, which no deadline of a program includes then. Blocking."""
    process = FORKS.Process(target=int)
    process.start()
    process.join()


def start(program: Program, *files: IO[bytes]) -> ForkServerProcess:
    """Start a program with these files as its input, output and errors."""
    numbers = [file.fileno() for file in files]
    env = dict(os.environ if program.env is None else program.env)
    load()
    process = FORKS.Process(target=_become, args=(program, tuple(map(_Stream, numbers)), env))
    process.start()
    return process


def run(program: Program, said: str = "", seconds: float = 60.0) -> Result:
    """Run a program to its end with `said` as its input. Raises TimeoutError."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(said.encode())
        stdin.seek(0)
        process = start(program, stdin, out, err)
        process.join(seconds)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{program} did not end within {seconds} s")
        process.close()
        for file in (out, err):
            file.seek(0)
        return Result(code, out.read().decode(), err.read().decode())


class ForkedRuntime(RuntimeProcess):
    """The bundled runtime as a forked process, which the service handles as the one that it would start."""

    def start(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self._close_stdin()
            self.socket.unlink(missing_ok=True)
            # The parent of a fork is the process that it is forked from, so the option for ours is left out.
            _, _, _, module, *arguments, _, _ = self._command_line()
            program = Program(module, arguments, env=self.environment())
            with self._open_log() as output:
                self.process = cast("subprocess.Popen[bytes]", _Popen(program, output))
        return self.process


class _Popen:
    """The part of `subprocess.Popen` that the service uses of its runtime."""

    def __init__(self, program: Program, output: IO[bytes]) -> None:
        read_end, write_end = os.pipe()
        self.stdin = os.fdopen(write_end, "wb")
        with os.fdopen(read_end, "rb") as stdin:
            self._process = start(program, stdin, output, output)
        self.pid = self._process.pid
        self.returncode: int | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        self._process.join()
        self.returncode = self._process.exitcode
        self._ended.set()

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("agent.serve", timeout or 0.0)
        return self.returncode

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _become(program: Program, streams: tuple[int, int, int], env: Mapping[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if program.folder is not None:
        os.chdir(program.folder)
    os.environ.clear()
    os.environ.update(env)
    if program.warnings_are_errors:
        apply_filters()
    sys.argv = [program.module or "-c", *program.arguments]
    sys.path.insert(0, "")
    if program.source:
        exec(compile(program.source, "<string>", "exec"), {"__name__": "__main__"})
        return
    # Its names are those of a program, so it is executed once more.
    sys.modules.pop(program.module, None)
    runpy.run_module(program.module, run_name="__main__", alter_sys=True)
