"""The machine's clock where its wall time jumps or the machine sleeps."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bot.clock import MAX_DRIFT, SystemClock

HOUR = 3600.0


@dataclass
class Machine:
    """What its wall shows, and the seconds that it has worked."""

    wall: float = 1_000_000.0
    worked: float = 50.0

    def clock(self) -> SystemClock:
        return SystemClock(lambda: self.wall, lambda: self.worked)

    def works(self, seconds: float) -> None:
        self.wall += seconds
        self.worked += seconds


def test_it_shows_the_wall_and_goes_on_with_it() -> None:
    machine = Machine()
    clock = machine.clock()
    assert clock.now() == machine.wall
    machine.works(90.0)
    assert clock.now() == machine.wall


@pytest.mark.parametrize("ahead", [2.0, 8 * HOUR])
def test_it_follows_where_the_wall_is_set_forward_or_the_machine_slept(ahead: float) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall += ahead
    assert clock.now() == machine.wall
    machine.works(5.0)
    assert clock.now() == machine.wall


def test_it_never_runs_backwards() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.wall -= HOUR
    assert clock.now() == before
    machine.works(5.0)
    assert clock.now() == before + 5.0
    machine.wall += HOUR
    assert clock.now() == before + 5.0
    assert machine.clock().now() == machine.wall


def test_it_does_not_tremble_with_the_wall() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.wall += MAX_DRIFT / 2
    assert clock.now() == before
