"""Runs an emulator as a process of its own."""

from __future__ import annotations

import asyncio

from bot.testing.emulators.discord.emulator import DiscordEmulator
from bot.testing.emulators.discord.workspace import DEFAULT_TOKEN
from bot.testing.emulators.server import LOOPBACK, until_signalled


def run(
    host: str = LOOPBACK,
    port: int = 8084,
    *,
    token: str = DEFAULT_TOKEN,
    scale: float = 1.0,
    limits: bool = True,
) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Prints where it listens once it does.

    Only loopback is served: 2 for any other host, 1 where the port is taken.
    """
    if host not in (LOOPBACK, "localhost"):
        print(f"the emulator listens on {LOOPBACK} only, not on {host}")  # noqa: T201
        return 2
    return asyncio.run(_serve(port, token, scale, limits))


async def _serve(port: int, token: str, scale: float, limits: bool) -> int:
    try:
        emulator = DiscordEmulator(port=port, token=token, scale=scale, limits=limits)
    except OSError as error:
        print(f"port {port} cannot be used: {error.strerror}; choose another one with --port")  # noqa: T201
        return 1
    async with emulator.running():
        print(f"Discord emulator on {emulator.url} (token {emulator.token})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
