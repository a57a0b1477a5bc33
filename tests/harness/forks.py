"""Programs of ours in processes that are forked from one with their modules: a start costs no imports."""

from __future__ import annotations

import gc
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import psutil

from bot.runtime.spawn import RuntimeProcess
from tests.harness.warning_filters import apply_filters

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("bot.cli.app", "bot.cli.config", "bot.cli.init.command", "bot.cli.manifest", "bot.cli.run"),
        *("bot.cli.chat.command", "bot.cli.doctor.command", "bot.cli.token_commands", "bot.app.service"),
        *("bot.platforms.telegram.adapter", "agent.serve", "agent.client", "agent.lead", "uvloop"),
        *("agent.management.check.models", "agent.models.discovery", "mcp.server.fastmcp", "uvicorn"),
        "tests.harness.forks",
    ]
)


_started: list[psutil.Process] = []


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


def start_server() -> None:
    """Start to import the modules, for this process and those that it forks."""
    forkserver.ensure_running()
    os.register_at_fork(after_in_child=_use_server_of_parent)


def _use_server_of_parent() -> None:
    # It would wait for a process that is not its child.
    setattr(forkserver._forkserver, "ensure_running", resource_tracker.ensure_running)  # type: ignore[attr-defined]  # noqa: B010


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
    with suppress(psutil.NoSuchProcess):
        _started.append(psutil.Process(process.pid))
    return process


def list_running() -> list[psutil.Process]:
    """Return the programs of this process that still run. Their parent may be shared with other processes."""
    _started[:] = filter(_runs, _started)
    return [*_started]


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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
            read_end, write_end = os.pipe()
            with self._open_log() as output, os.fdopen(read_end, "rb") as stdin:
                self.process = start_process(program, stdin, output)
            self.process.stdin = os.fdopen(write_end, "wb")
        return self.process


def start_process(program: Program, stdin: IO[bytes], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program. It is handled as if it were a child of this process."""
    return cast("subprocess.Popen[bytes]", _Process(start(program, stdin, output, output)))


class _Process:
    """The part of `subprocess.Popen` that is used of the service and its runtime."""

    stdin: IO[bytes] | None = None

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self._process = process
        self.pid = process.pid
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

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def _become(program: Program, streams: tuple[int, int, int], env: Mapping[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if program.folder is not None:
        os.chdir(program.folder)
    if program.warnings_are_errors:
        apply_filters()
    sys.path.insert(0, "")
    if program.module == "bot.cli":
        setattr(subprocess, "Popen", _Child)  # noqa: B010 - a type to mypy
        os.execv = _replace_process
    _execute(program, env)


class _Child(subprocess.Popen[bytes]):
    """A child of a forked program: one of ours is a fork of it, which has the modules.

    A process with several threads starts it as usual: in a fork, a lock that another one had stays locked.
    """

    def __init__(self, args: Any, **options: Any) -> None:
        if (program := _find_program(args)) and not options.get("preexec_fn"):
            env = dict(options.get("env") or os.environ)
            options["preexec_fn"] = partial(_execute_and_exit, program, env)
        super().__init__(args, **options)


def _replace_process(path: str, args: Sequence[str]) -> NoReturn:
    if program := _find_program(args):
        _execute_and_exit(program, dict(os.environ))
    os.execve(path, args, os.environ)


def _find_program(args: object) -> Program | None:
    """Return the program of a command if a fork of this process can be it."""
    if not isinstance(args, list) or args[:3] != [sys.executable, "-P", "-m"]:
        return None
    if args[3] not in sys.modules or threading.active_count() > 1:
        return None
    # A copy of what is in a buffer would be written twice.
    sys.stdout.flush()
    return Program(args[3], args[4:])


def _execute_and_exit(program: Program, env: Mapping[str, str]) -> NoReturn:
    """Execute a program in this process, with its input, output and errors only."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    gc.enable()
    code: object = 1
    try:
        _execute(program, env)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
    with suppress(OSError):
        if not isinstance(code, int):
            print(code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def _execute(program: Program, env: Mapping[str, str]) -> None:
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [program.module or "-c", *program.arguments]
    if program.source:
        exec(compile(program.source, "<string>", "exec"), {"__name__": "__main__"})
        return
    with suppress(OSError):
        Path("/proc/self/comm").write_text(program.module)
    # Its names are those of a program, so it is executed once more.
    sys.modules.pop(program.module, None)
    runpy.run_module(program.module, run_name="__main__", alter_sys=True)
