"""Calls of a container engine, and discovery and removal of Roebot's containers."""

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

from agent.core.interfaces import SandboxUnavailable
from agent.core.paths import make_private_folder
from agent.shared.process import OutputBuffer, ProgramStart, start_process

Command = tuple[str, ...]
LABEL, HOME_LABEL, SETUP_LABEL = "roebot.sandbox", "roebot.home", "roebot.setup"
SECONDS = 120.0
USED = Path("sandbox", "engines.json")
"""File in the data directory with the engines that were used; `make stop` calls each of them."""
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
    """Result of an engine call; `code` is None after a timeout."""

    code: int | None
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        return self.code == 0


def known_engines() -> tuple[str, ...]:
    """Return the engine programs of this platform, in order of preference."""
    return ("container", "docker", "podman") if sys.platform == "darwin" else ("docker", "podman")


def find_engine() -> Command:
    """Return the first installed engine. Raises SandboxUnavailable. Blocks."""
    for name in known_engines():
        if shutil.which(name):
            return (name,)
    raise SandboxUnavailable(
        f"Containers can't be started here: none of {', '.join(known_engines())} is installed "
        "(Debian: apt install podman)."
    )


def engine_environment() -> dict[str, str]:
    """Return the engine's environment, without proxies, which podman would forward to containers."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


async def call_engine(
    command: Command, *words: str, seconds: float = SECONDS, folder: Path | None = None
) -> Answer:
    """Call the engine in `folder`. Raises SandboxUnavailable if its program is missing.

    Podman's monitor writes a file to this folder when a container runs out of memory.
    """
    output, errors = OutputBuffer(), OutputBuffer()
    try:
        program = await start_process(
            ProgramStart([*command, *words], engine_environment(), folder), output, errors
        )
    except (FileNotFoundError, PermissionError):
        # A folder in PATH that this user can't read is reported as a missing permission.
        raise SandboxUnavailable(
            f"Containers can't be started here: {command[0]} is not installed."
        ) from None
    try:
        async with asyncio.timeout(seconds):
            await program.ended.wait()
            await output.closed.wait()
            await errors.closed.wait()
    except TimeoutError:
        return Answer(None, "", f"{command[0]} did not respond within {seconds:g} seconds")
    finally:
        await program.end()
    return Answer(program.code, output.text, errors.text)


@dataclass(frozen=True, slots=True)
class ContainerState:
    """State of a container; `pid` is its first process on this host, 0 if there is none."""

    running: bool = False
    pid: int = 0
    setup: str = ""


async def inspect_container(command: Command, name: str) -> ContainerState:
    """Return a container's state; a missing container is not running."""
    answer = await call_engine(command, "inspect", name)
    try:
        found = json.loads(answer.output)[0] if answer.ok else {}
        inside, config = found.get("State") or {}, found.get("Config") or found.get("configuration") or {}
        labels = config.get("Labels") or config.get("labels") or {}
    except (ValueError, AttributeError, LookupError):
        return ContainerState()
    running = bool(inside.get("Running")) or found.get("status") == "running"
    return ContainerState(running, int(inside.get("Pid") or 0), str(labels.get(SETUP_LABEL, "")))


def is_apple(command: Command) -> bool:
    """Return whether the engine is Apple's, which runs each container in a virtual machine."""
    return Path(command[0]).name == "container"


def home_of(folder: Path) -> str:
    """Return the short name of a data directory for labels and container names."""
    return sha256(str(folder.absolute()).encode()).hexdigest()[:8]


async def remove(command: Command, names: Iterable[str]) -> None:
    """Stop and remove containers, ignoring missing ones."""
    if found := list(names):
        await call_engine(
            command, *(("delete", "--force") if is_apple(command) else ("rm", "--force")), *found
        )


async def list_containers(command: Command, home: str | None = None) -> list[str]:
    """Return the names of Roebot's containers for one data directory, or all, including stopped ones."""
    label = f"{HOME_LABEL}={home}" if home else f"{LABEL}=1"
    if is_apple(command):
        listed = await call_engine(command, "list", "--all", "--format", "json")
        return _apple_names(listed.output, *label.split("=")) if listed.ok else []
    words = ("ps", "--all", "--filter", f"label={label}", "--format", "{{.Names}}")
    listed = await call_engine(command, *words)
    return listed.output.split() if listed.ok else []


def remember(home: Path, command: Command) -> None:
    """Record the use of this engine. Blocks."""
    known = used_engines(home)
    if command not in known:
        make_private_folder((home / USED).parent)
        (home / USED).write_text(json.dumps([*map(list, known), list(command)]))


def used_engines(home: Path) -> list[Command]:
    """Return the recorded engines. Blocks."""
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
