"""What a service loads: the SDK of a platform only where an account of it is enabled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.wires import WIRES

pytestmark = pytest.mark.may_block

SDKS = {
    "telegram": ("telegram",),
    "slack": ("slack_sdk", "slack_bolt"),
    "feishu": ("lark_oapi", "Crypto"),
    "discord": ("discord",),
}
ACCOUNTS = {
    "telegram": 'bot_token: "1:emulated-token-for-loopback-only"',
    "slack": "bot_token: xoxb-x, app_token: xapp-x",
    "feishu": "app_id: cli_emulated00000001, app_secret: x",
    "discord": "bot_token: x",
}
BUILD = """
import asyncio, json, sys
from pathlib import Path
from agent.shared.live_token import LiveToken
from bot.clock import SystemClock
from bot.config import load_config
from bot.app.service import BotService, StartOptions
from bot.store import open_database
import bot.server.api.app, bot.app.http_server

async def main(home):
    loaded = load_config(home / "config.yaml", {}, home)
    database = await open_database(home)
    options = StartOptions(home, loaded, None, {}, home, LiveToken("unused"))
    service = BotService(options, database, SystemClock())
    await service.runtime.close()
    await database.close()

asyncio.run(main(Path(sys.argv[1])))
"""
PRINT = "\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def loaded(code: str, *arguments: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after this code."""
    command = [sys.executable, "-c", code + PRINT, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def sdks(modules: set[str]) -> set[str]:
    """The platforms whose SDK is among them."""
    return {platform for platform, names in SDKS.items() if modules & set(names)}


@pytest.mark.parametrize(
    "module",
    [
        "bot",
        "bot.app.service",
        "bot.app.accounts",
        "bot.cli",
        "bot.cli.run",
        "bot.config",
        "bot.app.http_server",
    ],
)
def test_importing_loads_no_sdk(module: str) -> None:
    assert sdks(loaded(f"import json, sys, {module}")) == set()


@pytest.mark.parametrize("platform", [*SDKS, ""])
def test_a_service_loads_the_sdk_of_its_platform_alone(platform: str, tmp_path: Path) -> None:
    """Nobody's for the page alone; that of Feishu comes with the first account that connects."""
    entry = f"  {platform}: {{{ACCOUNTS[platform]}}}\n" if platform else ""
    (tmp_path / "config.yaml").write_text(
        f"config_version: 1\nruntime: {{url: 'http://127.0.0.1:9'}}\nchannels:\n  web: {{}}\n{entry}"
    )
    found = sdks(loaded(BUILD, str(tmp_path)))
    assert found == {platform} - {"", "feishu"}


def test_every_platform_is_named() -> None:
    assert set(SDKS) == set(ACCOUNTS) == set(WIRES)
