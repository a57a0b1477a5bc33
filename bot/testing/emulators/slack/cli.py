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
        print(f"port {port} cannot be used: {error.strerror}; choose another one with --port")  # noqa: T201
        return 1
    return asyncio.run(_serve(emulator))


async def _serve(emulator: SlackEmulator) -> int:
    async with emulator.running():
        secrets = f"app_token {emulator.app_token}, signing_secret {emulator.signing_secret}"
        print(f"Slack emulator on {emulator.url} (bot_token {emulator.bot_token}, {secrets})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
