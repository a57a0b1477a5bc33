"""The emulators, as the guides have them: the account of the page connects, and its orders are known."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from bot.cli.connect_probe import probe
from bot.config.loader import load_file
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.remote import RemoteEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.docs.blocks import ROOT, blocks

pytestmark = pytest.mark.may_block
GUIDES: dict[str, tuple[str, Any]] = {
    "telegram": ("use-platform-emulators.md", TelegramEmulator),
    "slack": ("connect-slack.md", SlackEmulator),
    "feishu": ("connect-feishu.md", FeishuEmulator),
    "discord": ("connect-discord.md", DiscordEmulator),
}
ORDER = re.compile(r"_emulator/(\w+)$")


def orders(page: Path) -> list[tuple[str, dict[str, Any]]]:
    """What the page's `curl` lines ask an emulator for."""
    found = []
    for block in blocks("console"):
        for line in block.body.splitlines() if block.page == page else ():
            words = shlex.split(line)
            match = next((ORDER.search(word) for word in words if ORDER.search(word)), None)
            if match and "-d" in words:
                found.append((match[1], json.loads(words[words.index("-d") + 1])))
    return found


@pytest.mark.parametrize("platform", GUIDES)
async def test_a_guide_and_its_emulator_agree(platform: str, tmp_path: Path) -> None:
    name, emulated = GUIDES[platform]
    page = ROOT / "docs" / "howto" / name
    local = f"http://127.0.0.1:{emulated.PORT}"
    [block] = [one.body for one in blocks("yaml config") if one.page == page and local in one.body]
    async with emulated.serve() as emulator, RemoteEmulator(emulator.url.partition("/api")[0]) as remote:
        (tmp_path / "config.yaml").write_text(block.replace(local, remote.url))
        loaded = load_file(tmp_path / "config.yaml", {}, tmp_path)
        [account] = [one for one in loaded.config.accounts if one.platform == platform]
        assert "roebot" in (await probe(account)).identity.lower()
        assert orders(page)
        for action, arguments in orders(page):
            await remote.do(action, **arguments)
