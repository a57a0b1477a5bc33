"""A pytest plugin that runs test files, or shares of them, from a queue for several processes.

Each process imports and collects a file only when it takes it. pytest-xdist collects every file in every
worker, which took a quarter of the whole run here. Options: `-p scripts.file_queue --file-queue=QUEUE FILES`.

The longest files are queued in shares of every n-th test. A module is imported right before its tests run, so
a value computed on import is close to what the test sees. `make test` took 1,100 CPU seconds on two cores
instead of 1,650; bytecode is cached, as hundreds of child processes would compile the source again.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Sequence
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
        """Keep the files from the plugins, which would judge their markers before they are imported."""
        if self._modules is None:
            self._modules = {module.nodeid: module for module in items}
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--file-queue`."""
    parser.addoption("--file-queue", type=Path, help="run the test files that this file names")


def pytest_configure(config: pytest.Config) -> None:
    """Take the tests from the queue if there is one."""
    if path := config.getoption("--file-queue"):
        config.pluginmanager.register(QueueRunner(FileQueue(path)))
