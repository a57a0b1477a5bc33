"""A pytest plugin that measures what each test file costs: `-p scripts.file_seconds --file-seconds=PATH`.

A file's seconds are those of its tests with their set-up and teardown. A fixture of the session counts for
the file that needs it first. The processor's time includes programs whose end a test awaited.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

CEILING = 20.0
"""Seconds of the processor that a test file may take; they hardly depend on what else the machine does."""
CEILINGS: Mapping[str, float] = {}
"""Those of files that need more. Entries are only removed or lowered."""
FOLDER_DEPTH = 3
SLOWEST = 15


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds by the clock and of the processor."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall - other.wall, self.cpu - other.cpu)

    @classmethod
    def now(cls) -> Seconds:
        """Return the readings of this process and the children that it awaited."""
        return cls(time.monotonic(), sum(os.times()[:4]))


class FileMeter:
    """Adds up the seconds of each file and appends them to a file, one line each, when the session ends."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        self._root = root
        self._files: defaultdict[str, Seconds] = defaultdict(Seconds)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[object]:
        """Measure a test from its set-up to its teardown."""
        start = Seconds.now()
        result = yield
        self._files[os.path.relpath(item.path, self._root)] += Seconds.now() - start
        return result

    def pytest_sessionfinish(self) -> None:
        """Append the lines at once, since several processes share the file."""
        lines = [json.dumps([name, one.wall, one.cpu]) + "\n" for name, one in self._files.items()]
        with self._path.open("a") as file:
            file.write("".join(lines))


def read_seconds(path: Path) -> dict[str, Seconds]:
    """Return the sum of every test file that any process measured."""
    files: defaultdict[str, Seconds] = defaultdict(Seconds)
    for line in path.read_text().splitlines():
        name, wall, cpu = json.loads(line)
        files[name] += Seconds(wall, cpu)
    return dict(files)


def find_slow_files(files: Mapping[str, Seconds]) -> list[str]:
    """Return a line for each file over its ceiling."""
    over = [(name, one) for name, one in files.items() if one.cpu > CEILINGS.get(name, CEILING)]
    return [
        f"over the ceiling of {CEILINGS.get(name, CEILING):.0f} CPU s: {name} ({one.cpu:.0f})"
        for name, one in sorted(over, key=_by_cpu)
    ]


def _by_cpu(row: tuple[str, Seconds]) -> float:
    return -row[1].cpu


def render_table(files: dict[str, Seconds]) -> str:
    """Return the seconds by folder and those of the slowest files, by the processor's time."""
    folders: defaultdict[str, Seconds] = defaultdict(Seconds)
    for name, one in files.items():
        folders["/".join(Path(name).parent.parts[:FOLDER_DEPTH])] += one
    tables = (
        ("folder", sorted(folders.items(), key=_by_cpu)),
        ("slowest files", sorted(files.items(), key=_by_cpu)[:SLOWEST]),
    )
    lines = []
    for title, rows in tables:
        lines += ["", f"{'wall':>7} {'CPU s':>7}  {title}"]
        lines += [f"{one.wall:7.0f} {one.cpu:7.0f}  {name}" for name, one in rows]
    total = sum(files.values(), Seconds())
    return "\n".join([*lines, f"{total.wall:7.0f} {total.cpu:7.0f}  all"])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--file-seconds`."""
    parser.addoption("--file-seconds", type=Path, help="append the seconds of each test file to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Measure if there is a file to write to."""
    if path := config.getoption("--file-seconds"):
        config.pluginmanager.register(FileMeter(path, config.invocation_params.dir))
