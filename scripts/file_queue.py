"""A pytest plugin that runs test files, or shares of them, from a queue for several processes.

Options: `-p scripts.file_queue --file-queue=QUEUE --file-logs=LOG,LOG --preload=MODULE,MODULE FOLDERS`. One
pytest imports the preloaded modules and forks a process for each log: the libraries are imported once.

Each process imports and collects a file only when it takes it. pytest-xdist collects every file in every
worker, which took a quarter of the whole run here. A module is imported right before its tests run, so a
value computed on import is close to what the test sees. The longest files are queued in shares of every n-th
test. The folders that have the files are the arguments: for each file that is one, pytest lists its folder.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest


def shares(name: str, count: int) -> list[str]:
    """Return the entries of a file whose tests are taken in `count` shares: `NAME 1/COUNT` and so on."""
    return [name] if count == 1 else [f"{name} {number}/{count}" for number in range(1, count + 1)]


class FileQueue:
    """Entries of `shares`, one a line, in a file that every process opens."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fill(self, entries: Sequence[str]) -> None:
        """Replace the content."""
        self._path.write_text("".join(f"{entry}\n" for entry in entries))

    def take(self) -> str | None:
        """Remove the first entry and return it, None if the queue is empty."""
        with self._path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            entries = file.read().splitlines()
            file.seek(0)
            file.truncate()
            file.writelines(f"{entry}\n" for entry in entries[1:])
        return entries[0] if entries else None

    def __len__(self) -> int:
        return len(self._path.read_text().splitlines())


class QueueRunner:
    """Runs the tests of one file after another until the queue is empty."""

    def __init__(self, queue: FileQueue) -> None:
        self._queue = queue
        self._modules: dict[str, pytest.Collector] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Make the nodes of all files without importing them."""
        session.perform_collect(genitems=False)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the folders from the plugins, which would judge markers before the files are imported."""
        if self._modules is None:
            self._modules = {module.nodeid: module for module in _list_modules(items)}
            items.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run each test. Fixtures of the session stay for the next file and end with the session."""
        collected = 0
        while tests := self._collect(session):
            collected += len(tests)
            for test, following in zip(tests, [*tests[1:], session], strict=True):
                test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        session.testscollected = collected
        return True

    def _collect(self, session: pytest.Session) -> list[pytest.Item]:
        while entry := self._queue.take():
            name, _, share = entry.partition(" ")
            tests = list(session.genitems((self._modules or {})[name]))
            session.config.hook.pytest_collection_modifyitems(
                session=session, config=session.config, items=tests
            )
            if share:
                number, count = map(int, share.split("/"))
                tests = tests[number - 1 :: count]
            if tests:
                return tests
        return []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name a failed test at once; its traceback follows at the end."""
        if report.failed:
            print(f"FAILED {report.nodeid} ({report.when})", file=sys.__stderr__, flush=True)


def _list_modules(nodes: Iterable[pytest.Item | pytest.Collector]) -> Iterator[pytest.Collector]:
    for node in nodes:
        if isinstance(node, pytest.Directory):
            yield from _list_modules(node.ihook.pytest_make_collect_report(collector=node).result)
        elif isinstance(node, pytest.Collector):
            yield node


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the queue."""
    parser.addoption("--file-queue", type=Path, help="run the test files that this file names")
    parser.addoption("--file-logs", default="", help="fork a process for each of these logs")
    parser.addoption("--preload", default="", help="import these modules before the processes are forked")
    parser.addoption("--before-fork", help="call this MODULE:FUNCTION before the processes are forked")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Fork the processes. They go on with pytest's own main function, and this one returns their result."""
    logs = list(filter(None, config.getoption("--file-logs").split(",")))
    if not logs:
        return None
    with warnings.catch_warnings(action="ignore"):
        for name in filter(None, config.getoption("--preload").split(",")):
            importlib.import_module(name)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    # The processes must not share the files that captured output goes to.
    capture.stop_global_capturing()
    if before_fork := config.getoption("--before-fork"):
        module, _, function = before_fork.partition(":")
        getattr(importlib.import_module(module), function)()
    gc.collect()
    gc.freeze()
    forked = []
    for log in map(Path, logs):
        if (process := os.fork()) == 0:
            _redirect_stdout(log)
            capture.start_global_capturing()
            capture.suspend_global_capture()
            # In a folder that they share, one process would delete what another is deleting, and fail.
            config.option.basetemp = str(log.with_suffix(""))
            return None
        forked.append(process)
    codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in forked]
    return int(any(code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) for code in codes))


def _redirect_stdout(log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(file)


def pytest_configure(config: pytest.Config) -> None:
    """Take the tests from the queue if there is one."""
    if path := config.getoption("--file-queue"):
        config.pluginmanager.register(QueueRunner(FileQueue(path)))
