"""Who there is in the real minutes of the week."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.harness.wires import Wire
from tests.week import service_setup as at
from tests.week.actors.approvers import Approver
from tests.week.actors.editors import Editor, Sender
from tests.week.actors.outsiders import Stranger
from tests.week.actors.person import Person
from tests.week.actors.users import Asker, Commander, Planner
from tests.week.service_setup import Ledger


def cast(seed: int, wires: Mapping[str, Wire], home: Path, ledger: Ledger) -> Iterator[Person]:
    """Everybody, on every platform."""
    for number, wire in enumerate(wires.values()):
        chances = (random.Random(f"{seed} {number} {one}") for one in range(100))
        group = wire.group()
        for person in at.IN_PRIVATE:
            yield Asker(wire, person, next(chances))
        yield Asker(wire, at.IN_GROUP, next(chances), group)
        yield Commander(wire, at.COMMANDER)
        yield Planner(wire, at.PLANNER, minutes=1)
        yield Approver(
            wire,
            at.APPROVER,
            next(chances),
            wire.group(),
            ledger,
            member=at.IN_GROUP,
            admin=at.ADMIN,
            stranger=at.STRANGER,
        )
        yield Editor(wire, at.EDITOR, next(chances), ledger)
        yield Sender(wire, at.SENDER, next(chances), home)
        for person in (at.STRANGER, at.BLOCKED):
            blocked = person == at.BLOCKED
            yield Stranger(wire, person, next(chances), group, home, ledger, blocked)
