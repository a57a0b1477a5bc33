"""Eight accounts of four platforms in one process: what happens to one is nobody else's business."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.account_state import Live
from bot.app.service import BotService
from tests.harness.assertions import check_answered, whole
from tests.harness.inprocess_service import Runtime, config_text, scripted_runtime, serviced
from tests.harness.sqlite import open_turns
from tests.harness.transcript_diff import Place, story
from tests.harness.waiters import until
from tests.harness.wires import DiscordWire, FeishuWire, SlackWire, TelegramWire, Wire

pytestmark = [pytest.mark.may_block, pytest.mark.fault, pytest.mark.timeout(180)]

SCALE = 0.2
WORDS, EVERY = 45, 0.1
# Of the graph `slow`, which is the assistant of half of the accounts.
SLOW = " ".join(f"word{number}" for number in range(1, 41))
REPLY = " ".join(f"said{number}" for number in range(1, WORDS + 1))
GROWS = f"[every={EVERY}] [reply={REPLY}]"
STOP_SECONDS = 1.0
PENALTY = 5000.0
PATIENCE = 40.0


@dataclass(frozen=True)
class Kind:
    """An account: its platform, what makes it another one than its sibling, and its assistant."""

    wire: type[Wire]
    options: Mapping[str, str]
    assistant: str = "echo"


def _slack(team: str, assistant: str = "echo") -> Kind:
    tokens = {"bot_token": f"xoxb-emulated-{team}", "app_token": f"xapp-emulated-{team}"}
    return Kind(SlackWire, {"team": team, **tokens}, assistant)


ACCOUNTS = {
    "slack": _slack("T0FIRST"),
    "slack-eu": _slack("T0SECOND", "slow"),
    "slack-us": _slack("T0THIRD"),
    "feishu": Kind(FeishuWire, {"app_id": "cli_emulated00000001"}, "slow"),
    "feishu-two": Kind(FeishuWire, {"app_id": "cli_emulated00000002"}),
    "telegram": Kind(TelegramWire, {"token": "1000001:emulated-token-for-loopback-only"}),
    "telegram-two": Kind(TelegramWire, {"token": "1000002:emulated-token-for-loopback-only"}, "slow"),
    "discord": Kind(DiscordWire, {}),
}


class House:
    """The accounts at their emulators, and the service that has them all."""

    def __init__(self, home: Path, wires: dict[str, Wire], runtime: Runtime) -> None:
        self.home = home
        self.wires = wires
        self._runtime = runtime

    def config(self, *, off: str = "", access: Mapping[str, str] | None = None) -> str:
        """Every account with its own assistant; `off` is not enabled."""
        rules = access or {}
        entries = {
            name: ", ".join(
                filter(
                    None,
                    [
                        f"platform: {wire.platform}",
                        f"enabled: {str(name != off).lower()}",
                        f"assistant_id: {ACCOUNTS[name].assistant}",
                        rules.get(name, ""),
                        wire.entry,
                    ],
                )
            )
            for name, wire in self.wires.items()
        }
        return config_text(self._runtime, entries)

    async def connected(self) -> None:
        """Wait until every account receives."""
        await until(
            lambda: all(wire.connected() for wire in self.wires.values()),
            PATIENCE,
            lambda: str({name: wire.connected() for name, wire in self.wires.items()}),
        )

    def ask(self, text: str, *, person: int = 1, without: str = "") -> dict[str, str]:
        """Somebody asks every account at the same time; the places by account."""
        wires = self.wires.items()
        return {name: wire.asks(text, person=person) for name, wire in wires if name != without}

    async def answered(self, places: Mapping[str, str], answer: str, count: int = 1) -> None:
        """Wait until each of these places has that many whole answers."""

        def left() -> list[str]:
            return [
                name
                for name, place in places.items()
                if len(whole(self.wires[name].standing(place), answer)) < count
            ]

        await until(
            lambda: not left(), PATIENCE, lambda: f"no answer in {left()}: {self._shown(left(), places)}"
        )

    def begun(self, places: Mapping[str, str]) -> bool:
        """Whether something of every answer can be seen."""
        return all(self.wires[name].standing(place) for name, place in places.items())

    def told(self, places: Sequence[Mapping[str, str]], without: str = "") -> dict[str, list[Place]]:
        """What happened in these places, by account."""
        stories = {name: story(wire) for name, wire in self.wires.items() if name != without}
        return {name: [told[place[name]] for place in places] for name, told in stories.items()}

    def limited(self) -> dict[str, int]:
        """The accounts that were refused a call for their rate."""
        return {name: wire.limited() for name, wire in self.wires.items() if wire.limited()}

    def _shown(self, names: list[str], places: Mapping[str, str]) -> Any:
        return {name: self.wires[name].standing(places[name]) for name in names}


@asynccontextmanager
async def house(home: Path) -> AsyncIterator[House]:
    """Eight emulators and a runtime."""
    async with AsyncExitStack() as stack:
        runtime = await stack.enter_async_context(scripted_runtime(home / "agent"))
        wires = {
            name: await stack.enter_async_context(kind.wire.serve(SCALE, **kind.options))
            for name, kind in ACCOUNTS.items()
        }
        yield House(home / "home", wires, runtime)


async def a_round(
    at: House, number: int, *, stopped: str = "", service: BotService | None = None
) -> dict[str, list[Place]]:
    """Everybody is asked for an answer that grows; while it does, one account is stopped. Then another person
    asks the others, and the stopped one comes back and goes on. Returns what happened at the others.
    """
    places = at.ask(GROWS, person=2 * number + 1)
    await until(lambda: at.begun(places), PATIENCE, lambda: "no first frames")
    if service is not None:
        await stop(service, at, stopped)
    await at.answered({name: place for name, place in places.items() if name != stopped}, REPLY)
    again = at.ask("and again", person=2 * number + 2, without=stopped)
    for name, place in again.items():
        await at.answered({name: place}, SLOW if ACCOUNTS[name].assistant == "slow" else "and again")
    if service is not None:
        await come_back(service, at)
        await at.answered({stopped: places[stopped]}, REPLY)
        check_answered(at.wires[stopped].standing(places[stopped]), [REPLY])
    await until(lambda: open_turns(at.home) == 0, PATIENCE, lambda: f"{open_turns(at.home)} open turns")
    return at.told([places, again], stopped)


async def come_back(service: BotService, at: House) -> None:
    """Switch every account on again."""
    await asyncio.to_thread((at.home / "config.yaml").write_text, at.config())
    await until(lambda: all(map(service.accounts.get, at.wires)), PATIENCE, lambda: "not taken over")
    await at.connected()


async def stop(service: BotService, at: House, name: str) -> None:
    """Switch an account off in the configuration file; it has let go of its platform within a second."""
    loop = asyncio.get_running_loop()
    [work] = [task for task in asyncio.all_tasks() if task.get_name() == f"account:{name}"]
    began = loop.time()

    def taken_over() -> bool:
        nonlocal began
        if service.accounts.get(name) is None:
            return True
        began = loop.time()
        return False

    await asyncio.to_thread((at.home / "config.yaml").write_text, at.config(off=name))
    await until(taken_over, PATIENCE, lambda: "not taken over")
    await asyncio.wait({work}, timeout=10 * STOP_SECONDS)
    await until(lambda: not at.wires[name].connected(), STOP_SECONDS, lambda: "still connected")
    assert work.done()
    took = loop.time() - began
    print(f"{name}: stopped in {took:.3f} s")
    assert took < STOP_SECONDS
    assert service.accounts.state(name).live is Live.STOPPED


@pytest.mark.timeout(300)
async def test_stopping_any_account_takes_no_second_and_changes_nothing_for_the_others(
    tmp_path: Path,
) -> None:
    async with house(tmp_path / "whole") as at:
        async with serviced(at.home, at.config()):
            await at.connected()
            undisturbed = await a_round(at, 0)
        assert at.limited() == {}
    async with house(tmp_path / "stops") as at:
        async with serviced(at.home, at.config()) as service:
            await at.connected()
            for number, name in enumerate(ACCOUNTS):
                told = await a_round(at, number, stopped=name, service=service)
                assert set(told) == set(ACCOUNTS) - {name}
                assert told == {other: undisturbed[other] for other in told}, name
        assert at.limited() == {}


async def test_a_long_penalty_on_one_chat_delays_nobody_else(tmp_path: Path) -> None:
    async with house(tmp_path) as at, serviced(at.home, at.config()):
        await at.connected()
        before = at.ask("[reply=hello]")
        await at.answered(before, "hello")
        for name, wire in at.wires.items():
            wire.penalize(before[name], PENALTY)
        at.ask("[reply=held back]")
        refused = {name: wire.limited() for name, wire in at.wires.items()}
        await until(lambda: set(at.limited()) == set(ACCOUNTS), PATIENCE, lambda: f"{refused} {at.limited()}")
        others = at.ask(GROWS, person=2)
        await at.answered(others, REPLY)
        again = at.ask("[reply=at once]", person=3)
        await at.answered(again, "at once")
        for name, place in before.items():
            assert [seen.text for seen in at.wires[name].standing(place)] == ["hello"]


async def test_each_account_has_its_own_assistant_and_its_own_people(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        access = {
            name: f'access: {{default: closed, members: ["{name}:{at.wires[name].person(number)}"]}}'
            for number, name in enumerate(at.wires, 1)
        }
        async with serviced(at.home, at.config(access=access)):
            await at.connected()
            asked = {number: at.ask("who are you?", person=number) for number in range(1, len(ACCOUNTS) + 1)}
            for number, name in enumerate(at.wires, 1):
                answer = SLOW if ACCOUNTS[name].assistant == "slow" else "who are you?"
                await at.answered({name: asked[number][name]}, answer)
            await until(lambda: open_turns(at.home) == 0, PATIENCE, lambda: "open turns")
        for number, places in asked.items():
            for name, place in places.items():
                said = whole(at.wires[name].standing(place), SLOW) + whole(
                    at.wires[name].standing(place), "who are you?"
                )
                mine = list(at.wires)[number - 1] == name
                assert len(said) == int(mine), (name, number)
