"""`roebot` in processes that are forked from one with its modules: a command costs no imports."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from bot.cli import main

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        *("bot.cli.app", "bot.cli.config", "bot.cli.init.command", "bot.cli.manifest", "bot.cli.run"),
        *("bot.cli.chat.command", "bot.cli.doctor.command", "bot.cli.token_commands", "bot.app.service"),
        *("bot.platforms.telegram.adapter", "uvloop", "tests.harness.command_line"),
    ]
)


@dataclass(frozen=True, slots=True)
class Result:
    """The end of a command."""

    returncode: int
    stdout: str
    stderr: str


class _Stream:
    """A file descriptor that a forked process gets."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _detach, (DupFd(self._number),)


def _detach(copy: Any) -> int:
    return int(copy.detach())


def run_roebot(
    *arguments: str, folder: Path, env: Mapping[str, str] | None = None, said: str = "", seconds: float = 60.0
) -> Result:
    """Run a command to its end in a folder, with `said` as its input and `env` as the whole environment.

    Raises TimeoutError.
    """
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(said.encode())
        files = (stdin, out, err)
        for file in files:
            file.seek(0)
        streams = tuple(_Stream(file.fileno()) for file in files)
        values = dict(os.environ if env is None else env)
        process = FORKS.Process(target=_become_roebot, args=(streams, arguments, folder, values))
        process.start()
        process.join(seconds)
        try:
            if process.exitcode is None:
                raise TimeoutError(f"roebot {' '.join(arguments)}")
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
            return Result(process.exitcode, *texts)
        finally:
            process.kill()
            process.join()
            process.close()


def _become_roebot(
    streams: tuple[int, int, int], arguments: tuple[str, ...], folder: Path, env: Mapping[str, str]
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["roebot", *arguments]
    main()
