"""The processes of a measurement: emulators and model server beside the systems that are measured."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from roebot_testing.emulators.remote import RemoteEmulator
from roebot_testing.emulators.telegram.workspace import DEFAULT_TOKEN
from tests.benchmarks.asking import Watch
from tests.harness.service import ServiceProcess

START_SECONDS = 60.0
# Without memory, whose updates come half a minute later, whatever is measured then.
SCRIPTED = """models: [{name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}]
memory: {enabled: false}"""


@dataclass
class Side:
    """One system with an emulator of its own. `pids` are the processes whose cost counts."""

    name: str
    emulator: RemoteEmulator
    watch: Watch
    pids: Sequence[int]

    def cpu(self) -> float:
        """Seconds of processor time that the system has used so far."""
        total = 0.0
        for pid in self.pids:
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system
        return total

    def cpu_by_part(self) -> list[float]:
        """The same for each of `pids` with its descendants, which belong to the nearest one above them."""
        return [_seconds(psutil.Process(pid), set(self.pids)) for pid in self.pids]


def _seconds(process: psutil.Process, others: Set[int]) -> float:
    """Seconds of a process and of its children, ended or alive, that are none of `others`."""
    times = process.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in process.children():
        if child.pid not in others:
            with suppress(psutil.NoSuchProcess):
                total += _seconds(child, others)
    return total


@asynccontextmanager
async def spawned(*command: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A Python module as a process, and the address in the first line that it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, stdout=asyncio.subprocess.PIPE, env=environment()
    )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), START_SECONDS)).decode()
        found = [word for word in line.split() if word.startswith("http://")]
        if not found:
            raise RuntimeError(f"{command[0]} did not start: {line!r}")
        yield process, found[0]
    finally:
        await ended(process)


async def ended(process: asyncio.subprocess.Process) -> None:
    """End a process of ours."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), 5)
    except TimeoutError:
        with suppress(ProcessLookupError):  # it may have ended just now
            process.kill()
        await process.wait()


@asynccontextmanager
async def model_server() -> AsyncIterator[str]:
    """The address of a scripted model server, as `base_url` of an OpenAI client."""
    async with spawned("tests.benchmarks.openai_server") as (_, url):
        yield f"{url}/v1"


@asynccontextmanager
async def emulated(scale: float) -> AsyncIterator[RemoteEmulator]:
    """A Telegram emulator in its own process."""
    command = ("roebot_testing.emulators.telegram", "--port", "0", "--scale", str(scale))
    async with spawned(*command) as (_, url), RemoteEmulator(url) as remote:
        yield remote


@asynccontextmanager
async def relay(model_url: str, scale: float) -> AsyncIterator[Side]:
    """The bare relay (which also echoes commands)."""
    async with emulated(scale) as emulator:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.benchmarks.relay", emulator.url, DEFAULT_TOKEN, model_url,
            env=environment(), stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            await polled(emulator)
            yield Side("relay", emulator, Watch(emulator), (process.pid,))
        finally:
            await ended(process)


@asynccontextmanager
async def service(
    home: Path,
    model: str,
    scale: float,
    *,
    extra: str = "",
    program: str = "bot.cli",
    python: str = sys.executable,
) -> AsyncIterator[Side]:
    """Run our service, as installed for `python`, with Telegram only; `pids`: the bot's and the agent's."""
    async with emulated(scale) as emulator:
        text = configuration(emulator.url, model, scale, extra=extra)
        # Another installation must not import modules from this folder.
        env = {} if python == sys.executable else {"PYTHONSAFEPATH": "1", "PYTHONPATH": ""}
        process = ServiceProcess(home, text, env, program=program, python=python)
        process.start()
        try:
            await process.ready(START_SECONDS)
            await polled(emulator)
            yield Side("roebot", emulator, Watch(emulator), await processes(process))
        finally:
            process.stop()


async def processes(process: ServiceProcess) -> tuple[int, int]:
    """The process ids of bot and agent."""
    async with asyncio.timeout(START_SECONDS):
        while (agent := process.agent()) is None:
            await asyncio.sleep(0.05)
    return process.pid, agent.pid


async def polled(emulator: RemoteEmulator, seconds: float = START_SECONDS) -> None:
    """Wait until the system has asked for updates. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not (await emulator.do("counters"))["calls"].get("getUpdates"):
            await asyncio.sleep(0.05)


def configuration(url: str, model: str, scale: float = 1.0, *, extra: str = "") -> str:
    """One Telegram account at an emulator, open to everybody; neither page nor terminal."""
    return f"""
config_version: 1
{model}
server: {{port: 0}}
channels:
  web: {{enabled: false}}
  terminal: {{enabled: false}}
  telegram: {{bot_token: "{DEFAULT_TOKEN}", base_url: "{url}", rate_scale: {scale}}}
access: {{default: allow}}
{extra}
"""


def openai_model(url: str) -> str:
    """The model section for a server of `model_server`; a relay gives no titles, so nobody does."""
    return (
        'models: [{name: scripted, use: "langchain_openai:ChatOpenAI", model: scripted, api_key: x,'
        f' base_url: "{url}"}}]\ntitle: {{enabled: false}}'
    )


def environment() -> dict[str, str]:
    """Our environment without keys of providers."""
    clean = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    return {**clean, "NO_PROXY": "127.0.0.1"}
