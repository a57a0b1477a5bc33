"""A storm: replicas are killed and paused again and again, and lose their connections, while people ask."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.replicas.asking import Asker, all_answered, keep_asking
from tests.replicas.crowd import Crowd

FAULTS = {"kill": 4, "pause": 3, "drop": 1, "agent": 2}
"""Faults by weight; `agent` kills the agent process of a replica alone."""
BETWEEN = (0.5, 3.0)
"""Seconds between two faults."""
DEAD, PAUSED = (0.0, 4.0), (5.0, 12.0)
"""Seconds until a killed replica is started again, and a paused one goes on."""
PATIENCE = 120.0
"""Seconds in which the last questions are answered after the storm."""


@dataclass
class Result:
    """What a storm did, and what is wrong afterwards."""

    faults: dict[str, int] = field(default_factory=dict)
    takeovers: list[float] = field(default_factory=list)
    """Seconds until another replica owned an account."""
    asked: int = 0
    marked: int = 0
    refused: int = 0
    waits: list[float] = field(default_factory=list)
    """Seconds from each question to its answer."""
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """One line."""
        slow, wait = percentile(self.takeovers, 0.95), percentile(self.waits, 0.95)
        return (
            f"{self.faults}, {self.asked} messages, {self.marked} marked repeats, {self.refused} writes "
            f"refused, takeover p95 {slow:.1f} s, answer p95 {wait:.1f} s, {len(self.problems)} problems"
        )


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile, 0 without values."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


class Storm:
    """Faults in a crowd. At most all replicas but one are dead or paused at a time."""

    def __init__(self, crowd: Crowd, accounts: Sequence[str], chance: random.Random) -> None:
        self._crowd = crowd
        self._accounts = accounts
        self._chance = chance
        self.result = Result()

    async def rage(self, seconds: float) -> None:
        """Cause faults for so long, then let all replicas work."""
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            while time.monotonic() < end:
                await asyncio.sleep(self._chance.uniform(*BETWEEN))
                [kind] = self._chance.choices([*FAULTS], [*FAULTS.values()])
                healthy = [name for name in self._crowd.members if self._crowd.is_at_work(name)]
                if kind == "drop":
                    self._crowd.drop_connections()
                elif len(healthy) < 2:
                    continue
                else:
                    self._harm(kind, self._chance.choice(healthy), group)
                self.result.faults[kind] = self.result.faults.get(kind, 0) + 1

    def _harm(self, kind: str, name: str, group: asyncio.TaskGroup) -> None:
        crowd = self._crowd
        if kind == "agent":
            agent = crowd.members[name].agent()
            if agent is not None:
                agent.kill()
            return
        owned = [account for account in self._accounts if crowd.owner(account) == name]
        if kind == "kill":
            crowd.kill(name)
        else:
            crowd.pause(name)
        for account in owned:
            group.create_task(self._measure(account, name))
        group.create_task(self._heal(kind, name, self._chance.uniform(*(DEAD if kind == "kill" else PAUSED))))

    async def _heal(self, kind: str, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if kind == "kill":
            self._crowd.start(name)
        else:
            self._crowd.resume(name)

    async def _measure(self, account: str, name: str) -> None:
        """Measure how long an account has no owner: the next one may be the same replica after a restart."""
        began = time.monotonic()
        while time.monotonic() - began < 60.0:
            holder = self._crowd.owner(account)
            if holder and (holder != name or self._crowd.is_at_work(name)):
                break
            await asyncio.sleep(0.1)
        self.result.takeovers.append(time.monotonic() - began)


async def pass_storm(crowd: Crowd, askers: Sequence[Asker], seconds: float, chance: random.Random) -> Result:
    """Let people ask through a storm of so many seconds, and judge what stands in the end."""
    accounts = sorted({asker.wire.platform for asker in askers})
    storm = Storm(crowd, accounts, chance)
    asking = asyncio.create_task(keep_asking(askers))
    try:
        await storm.rage(seconds)
    finally:
        asking.cancel()
    await all_answered(askers, PATIENCE)
    end = time.monotonic() + PATIENCE
    while crowd.open_turns() and time.monotonic() < end:
        await asyncio.sleep(0.2)
    await asyncio.sleep(3.0)
    result = storm.result
    for asker in askers:
        problems, marked = asker.judge()
        result.problems += problems
        result.marked += marked
        result.asked += len(asker.asked)
        result.waits += [one.answered_at - one.at for one in asker.asked if one.answered_at]
    result.problems += [f"late write: {row}" for row in crowd.late_writes()]
    limited = sum(wire.limited() for wire in {asker.wire for asker in askers})
    result.problems += [f"{limited} calls refused for their rate"] if limited else []
    result.refused = crowd.refused()
    return result
