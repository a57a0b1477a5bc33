"""An emulator as a process: `roebot emulate PLATFORM` and `python -m roebot_testing.emulators.<platform>`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import pkgutil
from collections.abc import Sequence
from typing import Any

from roebot_testing import emulators
from roebot_testing.emulators.base import Emulator
from roebot_testing.emulators.server import LOOPBACK, until_signalled

_HELP = {"rich": "support the rich messages of Bot API 10.1"}


def load_emulator(platform: str) -> type[Emulator]:
    """Import the emulator class of a platform. Raises ModuleNotFoundError if there is no emulator of it."""
    module = importlib.import_module(f"roebot_testing.emulators.{platform}")
    found: type[Emulator] = getattr(module, f"{platform.capitalize()}Emulator")
    return found


def run(platform: str, host: str = LOOPBACK, port: int | None = None, **options: Any) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code; print the address once it listens.

    `options` are arguments of the emulator's class. The exit code is 2 for a host other than loopback, and 1
    if the port is taken.
    """
    if host not in (LOOPBACK, "localhost"):
        print(f"the emulator listens on {LOOPBACK} only, not on {host}")  # noqa: T201
        return 2
    emulator_class = load_emulator(platform)
    port = emulator_class.PORT if port is None else port
    try:
        emulator = emulator_class(port=port, **options)
    except OSError as error:
        print(f"port {port} cannot be used: {error.strerror}; choose another one with --port")  # noqa: T201
        return 1
    return asyncio.run(_serve(emulator))


def main(platform: str, arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments (default: the process's) and serve. The exit code for invalid arguments is 2."""
    try:
        emulator_class = load_emulator(platform)
    except ModuleNotFoundError:
        names = (one.name for one in pkgutil.iter_modules(emulators.__path__) if one.ispkg)
        print(f"there is no emulator of {platform}; choose {', '.join(sorted(names))}")  # noqa: T201
        return 2
    parser = argparse.ArgumentParser(
        prog=f"roebot_testing.emulators.{platform}",
        description=f"Run a local {emulator_class.TITLE} emulator on loopback.",
    )
    parser.add_argument("--host", default=LOOPBACK, help="loopback address")
    parser.add_argument("--port", type=int, default=emulator_class.PORT, help="0 takes a free one")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 makes periods ten times shorter")
    parser.add_argument("--no-limits", action="store_false", dest="limits")
    parameters = inspect.signature(emulator_class).parameters
    for name in emulator_class.OPTIONS:
        default = parameters[name].default
        action = "store_true" if default is False else "store"
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, action=action, default=default, help=_HELP.get(name))
    return run(platform, **vars(parser.parse_args(arguments)))


async def _serve(emulator: Emulator) -> int:
    async with emulator.running():
        secrets = ", ".join(f"{name} {getattr(emulator, name)}" for name in emulator.CREDENTIALS)
        print(f"{emulator.TITLE} emulator on {emulator.url} ({secrets})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
