"""What breaks between the service and a platform while it lives: connections, deliveries, single calls.

Each accepted message has exactly one complete final; only a post of unknown outcome on Telegram may stand
twice, the second one marked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.app.service import BotService
from bot.faults import Step, act_at
from bot.features.privacy.expired_texts import purge_message_history
from tests.faults.chats import ALWAYS
from tests.harness.assertions import check_answered, whole
from tests.harness.inprocess_service import Runtime, ShiftedClock, config_text, scripted_runtime, serviced
from tests.harness.sqlite import open_turns, turns
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Standing, Wire

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

SCALE = 0.2
WORDS, EVERY = 20, 0.1
ANSWER = " ".join(f"word{number}" for number in range(1, WORDS + 1))
GROWS = f"[every={EVERY}] [reply={ANSWER}]"
AT_ONCE = f"[reply={ANSWER}]"
SIX_HOURS = 6 * 3600.0
PATIENCE = 20.0


@dataclass
class Stage:
    """A platform, and what the service needs to live there (again)."""

    wire: Wire
    runtime: Runtime
    home: Path

    def config(self, graph: str = "echo", *, owner: int = 0) -> str:
        """One account at the platform, open to everybody; one person may be its owner."""
        platform = self.wire.platform
        who = f', owners: ["{platform}:{self.wire.person(owner)}"]' if owner else ""
        access = f"default: allow{who}"
        return config_text(self.runtime, {platform: self.wire.entry}, graph=graph, access=access)

    async def connected(self) -> None:
        """Wait until the bot receives."""
        await until(self.wire.connected, PATIENCE, lambda: f"{self.wire.platform}: not connected")

    async def answered(self, place: str, answers: list[str], *, repeated: int = 0) -> list[Standing]:
        """Wait until these stand and every turn is closed; nothing else may stand then."""

        def done() -> bool:
            standing = self.wire.standing(place)
            return open_turns(self.home) == 0 and all(whole(standing, answer) for answer in answers)

        await until(done, PATIENCE, lambda: f"{self.wire.standing(place)} {self.wire.emulator.counters()}")
        standing = self.wire.standing(place)
        check_answered(standing, answers, repeated=repeated)
        return standing


@pytest.fixture(params=list(WIRES))
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with scripted_runtime(tmp_path / "agent") as runtime, WIRES[request.param].serve(SCALE) as wire:
        yield Stage(wire, runtime, tmp_path / "home")


def heard(service: BotService, stage: Stage) -> int:
    """How many events the adapter has seen."""
    channel = service.accounts.get(stage.wire.platform)
    assert channel is not None
    adapter: Any = channel.adapter  # each platform's has counts of its own kind
    return int(getattr(adapter.counts, "updates", 0) or getattr(adapter.counts, "events", 0))


@pytest.mark.parametrize("step", ALWAYS)
async def test_the_connection_is_cut_at_each_step(stage: Stage, step: Step) -> None:
    cuts: list[Step] = []

    def cut() -> None:
        cuts.append(step)
        stage.wire.cut()

    async with serviced(stage.home, stage.config()):
        await stage.connected()
        with act_at(step, cut):
            # A last frame that shows everything needs no final call, so that step is passed by a post.
            place = stage.wire.asks(AT_ONCE if step is Step.PART_SENT else GROWS)
            await stage.answered(place, [ANSWER])
            # The last step comes after the turn is closed.
            await until(lambda: bool(cuts), PATIENCE, lambda: f"not reached: {step}")
        assert cuts == [step]
        await stage.connected()
        stage.wire.asks("still there?")
        await stage.answered(place, [ANSWER, "still there?"])
    check_answered(stage.wire.standing(place), [ANSWER, "still there?"])
    assert stage.wire.limited() == 0


async def test_every_event_comes_twice(stage: Stage) -> None:
    async with serviced(stage.home, stage.config()) as service:
        await stage.connected()
        stage.wire.twice()
        place = stage.wire.asks(GROWS)
        await stage.answered(place, [ANSWER])
        stage.wire.asks("one more")
        await stage.answered(place, [ANSWER, "one more"])
        assert heard(service, stage) >= 4
    assert turns(stage.home) == 2


async def test_events_come_the_wrong_way_round(stage: Stage) -> None:
    keys = ["alpha", "beta", "gamma"]
    async with serviced(stage.home, stage.config()):
        await stage.connected()
        stage.wire.hold(len(keys))
        places = {stage.wire.asks(key) for key in keys}
        stage.wire.let_go()
        [place] = places

        def said() -> str:
            return " ".join(seen.text for seen in stage.wire.standing(place))

        await until(
            lambda: all(key in said() for key in keys) and open_turns(stage.home) == 0, PATIENCE, said
        )
    assert sorted(word for word in said().split() if word in keys) == sorted(keys)
    assert not any(seen.open for seen in stage.wire.standing(place))


async def test_events_come_again_six_hours_later(stage: Stage) -> None:
    clock = ShiftedClock()
    async with serviced(stage.home, stage.config(), clock) as service:
        await stage.connected()
        place = stage.wire.asks(AT_ONCE)
        await stage.answered(place, [ANSWER])
        await later(stage, service, clock)
        stage.wire.asks("second")
        await stage.answered(place, [ANSWER, "second"])
    async with serviced(stage.home, stage.config(), clock) as service:
        # The service of before has ended: what it knew is what is on disk.
        await stage.connected()
        stage.wire.asks("third")
        await stage.answered(place, [ANSWER, "second", "third"])
        await later(stage, service, clock)
        stage.wire.asks("fourth")
        await stage.answered(place, [ANSWER, "second", "third", "fourth"])
    assert turns(stage.home) == 4


async def later(stage: Stage, service: BotService, clock: ShiftedClock) -> None:
    """Six hours pass, what is too old is forgotten, and the last event comes again."""
    clock.jump(SIX_HOURS)
    await purge_message_history(service.db, clock.now())
    before = heard(service, stage)
    await stage.connected()
    stage.wire.again(1)
    await until(lambda: heard(service, stage) > before, PATIENCE, lambda: "the event did not come again")
