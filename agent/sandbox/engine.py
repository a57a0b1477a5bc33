"""The command of a container engine: which there are, what is asked of them, and our containers in them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agent.core.home import make_private_folder
from agent.core.interfaces import SandboxUnavailable
from agent.shared.process import OutputBuffer, ProgramStart, start_process

Command = tuple[str, ...]
LABEL, HOME_LABEL, SETUP_LABEL = "roebot.sandbox", "roebot.home", "roebot.setup"
SECONDS = 120.0
USED = Path("sandbox", "engines.json")
"""Below the home: the engines that were used, with their options; `make stop` asks each of them."""
_PASSED_ON = (
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of the engine gave; `code` None: it took too long."""

    code: int | None
    output: str
    errors: str

    @property
    def good(self) -> bool:
        """Whether it worked."""
        return self.code == 0


def known_engines() -> tuple[str, ...]:
    """The programs that are looked for here, the best first."""
    return ("container", "docker", "podman") if sys.platform == "darwin" else ("docker", "podman")


def find_engine() -> Command:
    """The first that is there. Raises SandboxUnavailable. Blocking."""
    for name in known_engines():
        if shutil.which(name):
            return (name,)
    raise SandboxUnavailable(
        f"No container can be started here: none of {', '.join(known_engines())} is installed "
        "(Debian: apt install podman)."
    )


def engine_environment() -> dict[str, str]:
    """What an engine finds in its environment: podman hands proxies and their passwords down, so little."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


async def ask(command: Command, *words: str, seconds: float = SECONDS, folder: Path | None = None) -> Answer:
    """Call the engine. Raises SandboxUnavailable where its program is missing.

    `folder`: where it is called; podman's monitor leaves a file there when a container runs out of memory.
    """
    output, errors = OutputBuffer(), OutputBuffer()
    try:
        program = await start_process(
            ProgramStart([*command, *words], engine_environment(), folder), output, errors
        )
    except FileNotFoundError:
        raise SandboxUnavailable(f"No container can be started here: {command[0]} is missing.") from None
    try:
        async with asyncio.timeout(seconds):
            await program.ended.wait()
            await output.closed.wait()
            await errors.closed.wait()
    except TimeoutError:
        return Answer(None, "", f"{command[0]} did not answer within {seconds:g} seconds")
    finally:
        await program.end()
    return Answer(program.code, output.text, errors.text)


@dataclass(frozen=True, slots=True)
class State:
    """A container: `pid` is its first process as the host numbers it, 0 where that has no number here."""

    running: bool = False
    pid: int = 0
    setup: str = ""


async def state(command: Command, name: str) -> State:
    """How a container is; one that is not there does not run."""
    answer = await ask(command, "inspect", name)
    try:
        found = json.loads(answer.output)[0] if answer.good else {}
        inside, config = found.get("State") or {}, found.get("Config") or found.get("configuration") or {}
        labels = config.get("Labels") or config.get("labels") or {}
    except (ValueError, AttributeError, LookupError):
        return State()
    running = bool(inside.get("Running")) or found.get("status") == "running"
    return State(running, int(inside.get("Pid") or 0), str(labels.get(SETUP_LABEL, "")))


def is_apple(command: Command) -> bool:
    """Whether it is Apple's, in which every container is a machine of its own."""
    return Path(command[0]).name == "container"


def home_of(folder: Path) -> str:
    """What a home is called in labels and names."""
    return sha256(str(folder.absolute()).encode()).hexdigest()[:8]


async def remove(command: Command, names: Iterable[str]) -> None:
    """End containers and take them away; what is gone already is no error."""
    found = list(names)
    if found:
        await ask(command, *(("delete", "--force") if is_apple(command) else ("rm", "--force")), *found)


async def ours(command: Command, home: str | None = None) -> list[str]:
    """The names of our containers, those that ended too; of one home, or all."""
    label = f"{HOME_LABEL}={home}" if home else f"{LABEL}=1"
    if is_apple(command):
        listed = await ask(command, "list", "--all", "--format", "json")
        return _apple_names(listed.output, *label.split("=")) if listed.good else []
    words = ("ps", "--all", "--filter", f"label={label}", "--format", "{{.Names}}")
    listed = await ask(command, *words)
    return listed.output.split() if listed.good else []


def remember(home: Path, command: Command) -> None:
    """Note that this engine was used. Blocking."""
    known = used(home)
    if command not in known:
        make_private_folder((home / USED).parent)
        (home / USED).write_text(json.dumps([*map(list, known), list(command)]))


def used(home: Path) -> list[Command]:
    """The engines that were used. Blocking."""
    try:
        return [tuple(map(str, words)) for words in json.loads((home / USED).read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _apple_names(listing: str, key: str, value: str) -> list[str]:
    try:
        found = [one.get("configuration", {}) for one in json.loads(listing)]
    except (ValueError, AttributeError):
        return []
    return [str(one["id"]) for one in found if one.get("labels", {}).get(key) == value]
