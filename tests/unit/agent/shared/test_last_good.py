"""`LastGood`: reads again when the stamp changes, and keeps the last good value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from agent.shared.last_good import LastGood, file_stamp

log = structlog.get_logger(__name__)


class Numbers:
    """A file that holds a number, and how often it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = 0.0
        self.reads = 0
        self.good = LastGood[int, ValueError](
            self.read,
            lambda: file_stamp(path),
            error=ValueError,
            name="number",
            log=log,
            clock=lambda: self.now,
        )

    def read(self, current: int | None) -> int:
        self.reads += 1
        return int(self.path.read_text())

    def write(self, text: str) -> None:
        self.path.write_text(text)
        os.utime(self.path, ns=(self.reads + 1, self.reads + 1))


async def test_unchanged_file_is_read_once(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "number")
    numbers.write("1")
    for numbers.now in (0.0, 0.5, 2.0, 4.0):
        assert await numbers.good.current() == 1
    assert numbers.reads == 1


async def test_change_is_seen_after_the_check_interval(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "number")
    numbers.write("1")
    assert await numbers.good.current() == 1
    numbers.write("22")
    assert await numbers.good.current() == 1
    numbers.now = 1.0
    with capture_logs() as logs:
        assert await numbers.good.current() == 22
    assert [entry["event"] for entry in logs] == ["number_reloaded"]


async def test_expire_forces_a_check(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "number")
    numbers.write("1")
    await numbers.good.current()
    numbers.write("22")
    numbers.good.expire()
    assert await numbers.good.current() == 22


async def test_broken_file_keeps_the_last_good_value_and_logs_once(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "number")
    numbers.write("1")
    await numbers.good.current()
    numbers.write("broken")
    with capture_logs() as logs:
        for numbers.now in (1.0, 2.0, 3.0):
            assert await numbers.good.current() == 1
            assert numbers.good.problem is not None
    assert [entry["event"] for entry in logs] == ["number_kept"]
    numbers.write("333")
    numbers.now = 4.0
    assert await numbers.good.current() == 333
    assert numbers.good.problem is None


async def test_first_read_raises_until_the_file_is_good(tmp_path: Path) -> None:
    numbers = Numbers(tmp_path / "number")
    numbers.write("broken")
    with pytest.raises(ValueError):
        await numbers.good.current()
    numbers.write("1")
    assert await numbers.good.current() == 1


def test_stamp_of_a_missing_file_is_none(tmp_path: Path) -> None:
    assert file_stamp(tmp_path / "none") is None
    assert file_stamp(None) is None
