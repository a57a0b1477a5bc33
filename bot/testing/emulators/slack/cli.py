"""Runs the emulator as a process of its own."""

from __future__ import annotations

import asyncio

from bot.testing.emulators.server import LOOPBACK, until_signalled
from bot.testing.emulators.slack.emulator import SlackEmulator


def run(host: str = LOOPBACK, port: int = 8082, *, scale: float = 1.0, limits: bool = True) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Prints where it listens once it does.

    Only loopback is served: 2 for any other host, 1 where the port is taken.
    """
    if host not in (LOOPBACK, "localhost"):
        print(f"the emulator listens on {LOOPBACK} only, not on {host}")  # noqa: T201
        return 2
    try:
        emulator = SlackEmulator(port=port, scale=scale, limits=limits)
    except OSError as error:
        print(f"port {port} cannot be used: {error.strerror}")  # noqa: T201
        return 1
    return asyncio.run(_serve(emulator))


async def _serve(emulator: SlackEmulator) -> int:
    async with emulator.running():
        tokens = f"bot_token {emulator.bot_token}, app_token {emulator.app_token}"
        print(f"Slack emulator on {emulator.url} ({tokens})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
