"""What a service loads: the SDK of a platform only where an account of it is enabled."""

from __future__ import annotations

import json
import subprocess
import sys

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
MODULES = (
    "bot",
    "bot.config",
    "bot.cli",
    "bot.cli.run",
    "bot.app.accounts",
    "bot.app.service",
    "bot.app.http_server",
)
PROGRAM = """
import asyncio, importlib, json, os, sys
from pathlib import Path

def report(name):
    print(json.dumps([name, sorted({one.partition('.')[0] for one in sys.modules})]), flush=True)

async def build(home):
    loaded = load_config(home / "config.yaml", {}, home)
    database = await open_database(home)
    options = StartOptions(home, loaded, None, {}, home, LiveToken("unused"))
    service = BotService(options, database, SystemClock())
    await service.runtime.close()
    await database.close()

homes, modules = json.loads(sys.argv[1])
for module in modules:
    importlib.import_module(module)
    report(module)
from agent.shared.live_token import LiveToken
from bot.clock import SystemClock
from bot.config import load_config
from bot.app.service import BotService, StartOptions
from bot.store import open_database
import bot.server.api.app
for home in homes:
    if (child := os.fork()) == 0:
        asyncio.run(build(Path(home)))
        report(Path(home).name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The platforms whose SDK a new process has loaded: after the import of each module, and in a copy of it
    after the construction of a service with each platform.
    """
    homes = []
    for platform in ("none", *SDKS):
        home = tmp_path_factory.mktemp("sdks") / platform
        home.mkdir()
        entry = f"  {platform}: {{{ACCOUNTS[platform]}}}\n" if platform in SDKS else ""
        (home / "config.yaml").write_text(
            f"config_version: 1\nruntime: {{url: 'http://127.0.0.1:9'}}\nchannels:\n  web: {{}}\n{entry}"
        )
        homes.append(str(home))
    command = [sys.executable, "-c", PROGRAM, json.dumps([homes, MODULES])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=110)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return {
        name: {platform for platform, sdks in SDKS.items() if set(sdks) & set(modules)}
        for name, modules in lines
    }


@pytest.mark.parametrize("module", MODULES)
def test_importing_loads_no_sdk(loaded: dict[str, set[str]], module: str) -> None:
    assert loaded[module] == set()


@pytest.mark.parametrize("platform", [*SDKS, "none"])
def test_a_service_loads_the_sdk_of_its_platform_alone(loaded: dict[str, set[str]], platform: str) -> None:
    """Nobody's for the page alone; that of Feishu comes with the first account that connects."""
    assert loaded[platform] == {platform} - {"none", "feishu"}


def test_every_platform_is_named() -> None:
    assert set(SDKS) == set(ACCOUNTS) == set(WIRES)
