"""`make dev`: a Telegram on this machine, the service against it, and a prompt to speak as a person.

One terminal holds all of it. The home is a folder that is removed at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from agent.shared.tokens import SERVICE_TOKEN_FILE, read_token
from bot.app.home import RunningService, find_service
from bot.cli.chat.terminal import Lines
from bot.turn import OPEN_STATES
from roebot_testing.emulators.telegram import TelegramEmulator
from scripts.person import FIRST_PERSON, Person, Transcript, said_by_bot

START_SECONDS = 60.0
STOP_SECONDS = 10.0
LOOK_EVERY = 0.1
ANSWER_SECONDS = 120.0
LAST_LINES = 10
QUIET_LOOKS = 8
"""So many looks without a change, and the prompt is shown again."""
SILENT_LOOKS = 20
"""So many looks at an idle bot without an answer, and there will be none."""
SCRIPTED = 'models: [{name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}]'
MODELS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "scripted": (SCRIPTED, {"ROEBOT_SCRIPT_EVERY": "0.05"}),
    "local": ("", {"ROEBOT_MODEL": "local"}),
    "found": ("", {}),
}
"""What `--model` means: lines of the configuration, and additions to the environment."""


class DevFailed(Exception):
    """The service did not do what it should; the text says what it printed."""


def config_text(emulator: TelegramEmulator, models: str) -> str:
    """A configuration with one account at the emulator, whose owner is the first person."""
    return f"""\
config_version: 1
server: {{port: 0}}
channels:
  telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {{owners: ["telegram:{FIRST_PERSON}"]}}
{models}
"""


@asynccontextmanager
async def service(home: Path, config: str, env: Mapping[str, str]) -> AsyncIterator[RunningService]:
    """`roebot run` as a process that ends with the block. Raises DevFailed."""
    path = home / "config.yaml"
    path.write_text(config)
    command = ("-m", "bot.cli", "run", "--home", str(home), "--config", str(path))
    with (home / "service.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, **env}, start_new_session=True,
        )  # fmt: skip
    try:
        yield await _started(process, home)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()


async def _started(process: asyncio.subprocess.Process, home: Path) -> RunningService:
    async with asyncio.timeout(START_SECONDS):
        while (found := find_service(home)) is None or not await _live(found, home):
            if process.returncode is not None:
                said = (home / "service.log").read_text().strip().splitlines()
                raise DevFailed("\n".join(["the service ended:", *said[-LAST_LINES:]]))
            await asyncio.sleep(LOOK_EVERY)
    return found


def client(found: RunningService, home: Path) -> httpx.AsyncClient:
    """A client of the service with the token of its data directory."""
    headers = {"Authorization": f"Bearer {read_token(home / SERVICE_TOKEN_FILE)}"}
    return httpx.AsyncClient(base_url=found.url, headers=headers, trust_env=False)


async def _live(found: RunningService, home: Path) -> bool:
    """Whether the service is ready and its account at the emulator is connected."""
    async with client(found, home) as http:
        try:
            ready = (await http.get("/health/ready")).json()
        except httpx.TransportError:
            return False
    return bool(ready["ready"] and ready["accounts"]["telegram"]["ok"])


async def talk(emulator: TelegramEmulator) -> None:
    """Take lines from the terminal until it ends, and show what the bot writes meanwhile."""
    person, transcript = Person(emulator), Transcript(emulator)
    print(f"  prompt   {FIRST_PERSON} is {person.name}, the owner; :help lists what you can do\n")
    _prompt(person)
    with Lines(sys.stdin) as lines:
        showing = asyncio.create_task(_show(person, transcript))
        try:
            async for text in lines:
                if text is None or not _take(person, text):
                    return
                _prompt(person)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


def _take(person: Person, text: str) -> bool:
    """Say what was typed, a message a line; False for the end."""
    for line in filter(str.strip, text.splitlines()):
        note = person.say(line)
        if note is None:
            return False
        print(note, end="")
    return True


def _prompt(person: Person) -> None:
    print(person.prompt, end="", flush=True)


async def _show(person: Person, transcript: Transcript) -> None:
    quiet = QUIET_LOOKS
    while True:
        if transcript.show_new():
            quiet = 0
        elif quiet < QUIET_LOOKS:
            quiet += 1
            if quiet == QUIET_LOOKS:
                print("\n")
                _prompt(person)
        await asyncio.sleep(LOOK_EVERY)


async def play(emulator: TelegramEmulator, http: httpx.AsyncClient, script: str) -> None:
    """Lines from a pipe: say each, wait for its answer, show it. Raises TimeoutError."""
    person, transcript = Person(emulator), Transcript(emulator)
    for line in filter(str.strip, script.splitlines()):
        print(f"{person.prompt}{line}", flush=True)
        before = len(said_by_bot(emulator, person.place))
        note = person.say(line)
        if note is None:
            return
        print(note, end="")
        if not line.startswith(":") or line.startswith((":reply", ":photo")):
            async with asyncio.timeout(ANSWER_SECONDS):
                answered = await _answered(person, before, http)
            transcript.show_new()
            print("\n" if answered else "\n(no answer)\n", flush=True)


async def _answered(person: Person, before: int, http: httpx.AsyncClient) -> bool:
    """Wait until the bot has nothing left to do; whether it has written more than `before` messages here."""
    silent = 0
    while silent < SILENT_LOOKS:
        if await _busy(http):
            silent = 0
        elif len(said_by_bot(person.emulator, person.place)) > before:
            return True
        silent += 1
        await asyncio.sleep(LOOK_EVERY)
    return False


async def _busy(http: httpx.AsyncClient) -> bool:
    """Whether any turn at the emulator is still open."""
    listed = await http.get("/api/conversations", params={"account": "telegram"})
    for conversation in listed.json()["conversations"]:
        turns = await http.get("/api/turns", params={"conversation": conversation["id"], "limit": 5})
        if any(turn["state"] in OPEN_STATES for turn in turns.json()["turns"]):
            return True
    return False


async def main(model: str) -> int:
    """Run until the terminal ends, Ctrl-C or SIGTERM; the exit code."""
    models, env = MODELS[model]
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with tempfile.TemporaryDirectory(prefix="roebot-dev-") as folder:
        async with TelegramEmulator.serve() as emulator:
            print(f"\n  emulator {emulator.url}", flush=True)
            async with service(Path(folder), config_text(emulator, models), env) as found:
                print(f"  page     {found.url} (sign in: .venv/bin/roebot link --home {folder})")
                print(f"  home     {folder} (config.yaml, service.log)\n  model    {model}")
                if sys.stdin.isatty():
                    await talk(emulator)
                else:
                    async with client(found, Path(folder)) as http:
                        await play(emulator, http, await asyncio.to_thread(sys.stdin.read))
        print("\n  service and emulator have ended", flush=True)
    return 0


def run() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.dev", description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), default="scripted", help="what answers")
    try:
        return asyncio.run(main(parser.parse_args().model))
    except DevFailed as problem:
        print(problem, file=sys.stderr)
        return 1
    except TimeoutError:
        print("the bot did not answer in time", file=sys.stderr)
        return 1
    except (asyncio.CancelledError, KeyboardInterrupt):
        return 130


if __name__ == "__main__":
    raise SystemExit(run())
