"""nanobot as a peer: an agent with chat channels, in an environment of its own (`make install-peer`).

It runs as it comes (streaming, typing, tools, sessions on disk), without what would call the model or the
platform beside the turn: reactions, the heartbeat and "Dream" are off.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from roebot_testing.emulators.telegram.workspace import DEFAULT_TOKEN
from tests.benchmarks import stage
from tests.benchmarks.asking import Watch
from tests.benchmarks.stage import Side
from tests.harness.free_ports import free_port

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-peer" / "bin" / "python"
LAUNCHER = Path(__file__).parent / "peer" / "launcher.py"
# Its first start compiles everything it imports.
START_SECONDS = 120.0


class PeerError(Exception):
    """The peer is not installed, or did not start."""


@asynccontextmanager
async def nanobot(home: Path, model_url: str, scale: float) -> AsyncIterator[Side]:
    """Run its gateway with Telegram alone. Raises PeerError where that is not possible."""
    if not PYTHON.exists():
        raise PeerError("nanobot is not installed: run `make install-peer`")
    home.mkdir(parents=True)
    config = home / "config.json"
    config.write_text(json.dumps(_configuration(home, model_url)))
    async with stage.emulated(scale) as emulator:
        with (home / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(PYTHON, LAUNCHER, emulator.url, "gateway", "--foreground", "--config", config),
                env={**stage.environment(), "HOME": str(home), "PYTHONPATH": ""},
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            await _polled(emulator, home / "log")
            yield Side("nanobot", emulator, Watch(emulator), (process.pid,))
        finally:
            await stage.ended(process)


async def _polled(emulator: stage.RemoteEmulator, log: Path) -> None:
    try:
        await stage.polled(emulator, START_SECONDS)
    except TimeoutError:
        said = log.read_text(errors="replace")[-1000:]
        raise PeerError(f"nanobot did not start within {START_SECONDS:.0f} s: {said}") from None


def _configuration(home: Path, model_url: str) -> dict[str, object]:
    return {
        "agents": {
            "defaults": {
                "workspace": str(home / "workspace"),
                "provider": "custom",
                "model": "scripted",
                "dream": {"enabled": False},
            }
        },
        "providers": {"custom": {"apiKey": "x", "apiBase": model_url}},
        "channels": {
            "websocket": {"enabled": False},
            "telegram": {"enabled": True, "token": DEFAULT_TOKEN, "allowFrom": ["*"], "reactEmoji": ""},
        },
        "gateway": {"port": free_port(), "heartbeat": {"enabled": False}},
    }
