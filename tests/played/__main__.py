"""Commands to play the model by hand; see the package."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import web

from roebot_testing.emulators.server import until_signalled
from tests.harness.credentials import give_token
from tests.played.desk import PATIENCE, Desk
from tests.played.model import PlayedModel
from tests.played.rooms import ROOMS
from tests.played.scenarios import SCENARIOS
from tests.played.steps import open_scenario, take

LONGEST = 24 * 3600.0


def parse_arguments() -> argparse.Namespace:
    """Return the command and its options."""
    parser = argparse.ArgumentParser(prog="python -m tests.played")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    scenario = commands.add_parser("scenario")
    scenario.add_argument("number", type=int, choices=SCENARIOS)
    scenario.add_argument("--on", default="telegram", choices=["page", *ROOMS])
    serve = commands.add_parser("serve")
    serve.add_argument("--port", type=int, default=0)
    for command in (scenario, serve):
        command.add_argument("--desk", type=Path, default=Path("played"))
        command.add_argument("--patience", type=float, default=PATIENCE)
    return parser.parse_args()


async def main(given: argparse.Namespace) -> None:
    """Run a command."""
    if given.command == "list":
        for number, make in SCENARIOS.items():
            print(f"{number:2} {make().title}")
        return
    desk = Desk(given.desk, given.patience)
    model = PlayedModel(desk.ask)
    if given.command == "serve":
        await _serve(model, desk, given.port)
    else:
        await _play(model, desk, given.number, given.on)


async def _serve(model: PlayedModel, desk: Desk, port: int) -> None:
    app = web.Application(client_max_size=1 << 26)
    for one in (model, desk):
        one.add_routes(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(f"model at http://127.0.0.1:{runner.addresses[0][1]}{model.base}", flush=True)
    try:
        await until_signalled()
    finally:
        await runner.cleanup()


async def _play(model: PlayedModel, desk: Desk, number: int, platform: str) -> None:
    scenario = SCENARIOS[number]()
    with tempfile.TemporaryDirectory(prefix="roebot-played-") as folder:
        give_token(Path(folder))
        async with open_scenario(scenario, platform, Path(folder), model, desk) as stage:
            print(f"desk at {stage.address}/played/next, requests in {desk.folder}", flush=True)
            sent: list[Any] = []
            for step in scenario.steps:
                sent.append(await take(stage, step, sent, seconds=LONGEST))
                print(f"{step.by}: {step.press or step.text[:300]}", flush=True)
            await stage.wait(LONGEST)
            await asyncio.sleep(5.0)
            print("every step is answered; what the bot shows:", flush=True)
            for one in await stage.room.read():
                print(f"- {one.text!r} {one.files or ''} {one.buttons or ''}", flush=True)
            print("background requests may follow; end with Ctrl-C", flush=True)
            await until_signalled()


if __name__ == "__main__":
    uvloop.run(main(parse_arguments()))
