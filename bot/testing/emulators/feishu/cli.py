"""Runs an emulator as a process of its own."""

from __future__ import annotations

import asyncio

from bot.testing.emulators.feishu.emulator import FeishuEmulator
from bot.testing.emulators.feishu.workspace import DEFAULT_APP_ID, DEFAULT_APP_SECRET
from bot.testing.emulators.server import LOOPBACK, until_signalled


def run(
    host: str = LOOPBACK,
    port: int = 8083,
    *,
    app_id: str = DEFAULT_APP_ID,
    app_secret: str = DEFAULT_APP_SECRET,
    scale: float = 1.0,
    limits: bool = True,
) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. Prints where it listens once it does.

    Only loopback is served: 2 for any other host, 1 where the port is taken.
    """
    if host not in (LOOPBACK, "localhost"):
        print(f"the emulator listens on {LOOPBACK} only, not on {host}")  # noqa: T201
        return 2
    try:
        emulator = FeishuEmulator(port=port, app_id=app_id, app_secret=app_secret, scale=scale, limits=limits)
    except OSError as error:
        print(f"port {port} cannot be used: {error.strerror}; choose another one with --port")  # noqa: T201
        return 1
    return _loop(emulator)


def _loop(emulator: FeishuEmulator) -> int:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_serve(emulator))
    return uvloop.run(_serve(emulator))


async def _serve(emulator: FeishuEmulator) -> int:
    async with emulator.running():
        credentials = f"app_id {emulator.app_id}, app_secret {emulator.app_secret}"
        print(f"Feishu emulator on {emulator.url} ({credentials})", flush=True)  # noqa: T201
        await until_signalled()
    return 0
