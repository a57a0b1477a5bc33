"""A newcomer's path on each platform: `roebot init` in an empty folder, the service, the first answer.

What is typed and pasted here is counted, and so are the steps on the platform's side:
`docs/reference/setup-effort.md` has the same figures, or this fails.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from llmock.pytest_plugin import LLMock

from bot.app.accounts import load_manifest
from tests.harness.people import PLATFORMS, Driver
from tests.harness.terminal import Terminal, terminal
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "setup-effort.md"
EACH = [pytest.param(name, marks=() if name == "telegram" else pytest.mark.long) for name in PLATFORMS]
COMMANDS = 1
"""`roebot init` itself; `make install` before it is counted on the page."""


def values(platform: str, emulator: Any) -> Sequence[tuple[str, str]]:
    """What `init` asks for, with what is pasted there."""
    return {
        "telegram": [("token from @BotFather: ", "token")],
        "slack": [("(xoxb-…): ", "bot_token"), ("(xapp-…): ", "app_token")],
        "feishu": [("[feishu]: ", ""), ("(cli_…): ", "app_id"), ("app's secret: ", "app_secret")],
        "discord": [("developer portal: ", "token")],
    }[platform]


def counted(platform: str) -> tuple[int, int]:
    """What the page says: steps on the platform's side, and lines typed here."""
    [row] = re.findall(rf"^\| {platform} \| (\d+) \| (\d+) \|", PAGE.read_text(), re.I | re.M)
    return int(row[0]), int(row[1])


async def set_up(person: Driver, shell: Terminal, platform: str, emulator: Any) -> None:
    """Answer every question; the person writes to the bot when they are told to."""
    for question, key in values(platform, emulator):
        await shell.types(getattr(emulator, key) if key else "", question)
    await shell.types("", "Press Enter, or type your id or later: ")
    await shell.expects("Waiting for a message")
    person.writes("hello")
    await shell.expects("wrote: hello")
    await shell.types("y", "Is that you? [y/N]: ")
    await shell.types("", "Number (Enter for 1): ")
    await shell.types("y", "Start the service now? [Y/n]: ")
    await shell.expects("Roebot is ready")


@pytest.mark.parametrize("platform", EACH)
async def test_from_nothing_to_the_first_answer(
    platform: str, tmp_path: Path, llmock: LLMock, record_property: Any
) -> None:
    llmock.tool_mode("off")
    for _ in range(9):
        llmock.reply("A roe deer.")
    served, made = PLATFORMS[platform]
    (tmp_path / "config.yaml").write_text("config_version: 1\nserver: {port: 0}\n")
    env = {"OPENAI_API_KEY": "sk-emulated", "OPENAI_BASE_URL": llmock.base_url()}
    began = time.monotonic()
    async with served() as emulator:
        person = made(emulator)
        async with terminal(tmp_path, "init", platform, "--base-url", emulator.url, env=env) as shell:
            await set_up(person, shell, platform, emulator)
            person.writes("What is a roe deer?")
            await until(
                lambda: "A roe deer." in person.texts(), 30.0, lambda: f"{person.texts()}\n{shell.text}"
            )
        record_property("seconds", time.monotonic() - began)
        assert "don't have access" not in "".join(person.texts())
    manifest = load_manifest(platform)
    there = len(manifest.setup_steps) + len(manifest.later_steps)
    assert counted(platform) == (there, COMMANDS + shell.typed)
    for _, key in values(platform, emulator):
        if key and key != "app_id":
            assert getattr(emulator, key) not in shell.text
    assert not llmock.requests or "sk-emulated" not in (tmp_path / "config.yaml").read_text()
    assert (tmp_path / "config.yaml").stat().st_mode & 0o777 == 0o600
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["access"]["owners"][0].startswith(f"{platform}:")
