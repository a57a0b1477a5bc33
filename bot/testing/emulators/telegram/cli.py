"""Runs an emulator as a process of its own."""

from __future__ import annotations

import asyncio

from bot.testing.emulators.server import LOOPBACK, until_signalled
from bot.testing.emulators.telegram.emulator import TelegramEmulator
from bot.testing.emulators.telegram.workspace import DEFAULT_TOKEN


def run(
    host: str = LOOPBACK,
    port: int = 8081,
    *,
    token: str = DEFAULT_TOKEN,
    scale: float = 1.0,
    limits: bool = True,
    rich: bool = False,
) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Prints where it listens once it does.

    Only loopback is served: 2 for any other host, 1 where the port is taken.
    """
    if host not in (LOOPBACK, "localhost"):
        print(f"the emulator listens on {LOOPBACK} only, not on {host}")  # noqa: T201
        return 2
    try:
        emulator = TelegramEmulator(port=port, token=token, scale=scale, limits=limits, rich=rich)
    except OSError as error:
        print(f"port {port} cannot be used: {error.strerror}; choose another one with --port")  # noqa: T201
        return 1
    return _loop(emulator)


def _loop(emulator: TelegramEmulator) -> int:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_serve(emulator))
    return uvloop.run(_serve(emulator))


async def _serve(emulator: TelegramEmulator) -> int:
    async with emulator.running():
        print(f"Telegram emulator on {emulator.url} (token {emulator.token})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
