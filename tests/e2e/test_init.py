"""`roebot init` against an emulated platform: asked, tried, written; what is refused writes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from bot.testing.emulators.telegram import TelegramEmulator

pytestmark = pytest.mark.may_block


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve() as running:
        yield running


def init(folder: Path, *arguments: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.endswith(("_TOKEN", "_API_KEY"))}
    return subprocess.run(
        [sys.executable, "-m", "bot.cli", "init", *arguments],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(Path(__file__).parents[2]), "NO_PROXY": "127.0.0.1", **env},
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
    )


async def run(folder: Path, *arguments: str, said: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    import asyncio

    return await asyncio.to_thread(lambda: init(folder, *arguments, said=said, **env))


async def test_from_nothing_to_a_configuration(tmp_path: Path, emulator: TelegramEmulator) -> None:
    emulator.people.says("I wrote early", user=7)
    done = await run(
        tmp_path,
        "telegram",
        "--base-url",
        emulator.url,
        said="987654321\n",
        TELEGRAM_BOT_TOKEN=emulator.token,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "@roebot_bot" in done.stdout
    assert "@BotFather" in done.stdout
    assert emulator.token not in done.stdout + done.stderr
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["channels"]["telegram"] == {"base_url": emulator.url, "bot_token": "$TELEGRAM_BOT_TOKEN"}
    assert data["access"]["owners"] == ["telegram:987654321"]
    assert emulator.queue.pending == 1, "what came in meanwhile is still to be received"


async def test_a_typed_token_is_written_and_not_shown(tmp_path: Path, emulator: TelegramEmulator) -> None:
    (tmp_path / "config.yaml").write_text("config_version: 1\n# mine\nserver: {port: 0}\n")
    done = await run(
        tmp_path, "telegram", "--name", "team", "--base-url", emulator.url, said=f"{emulator.token}\n\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert emulator.token not in done.stdout + done.stderr
    text = (tmp_path / "config.yaml").read_text()
    assert "# mine" in text
    data = yaml.safe_load(text)
    assert data["channels"]["team"]["bot_token"] == emulator.token
    assert data["channels"]["team"]["platform"] == "telegram"
    assert "access" not in data


async def test_a_refused_token_writes_nothing(tmp_path: Path, emulator: TelegramEmulator) -> None:
    done = await run(tmp_path, "telegram", "--base-url", emulator.url, said="1234567890:AAwrongwrongwrong\n")
    assert done.returncode == 1
    assert "refuses the token" in done.stderr
    assert "Traceback" not in done.stderr
    assert "AAwrong" not in done.stdout + done.stderr
    assert not (tmp_path / "config.yaml").exists()


@pytest.mark.parametrize("platform", ["irc", "web"])
async def test_a_platform_that_there_is_not(tmp_path: Path, platform: str) -> None:
    done = await run(tmp_path, platform)
    assert done.returncode == 1
    assert "choose discord, feishu, slack, telegram" in done.stderr


async def test_an_account_that_is_there_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    text = "config_version: 1\nchannels: {telegram: {enabled: false}}\n"
    (tmp_path / "config.yaml").write_text(text)
    done = await run(tmp_path, "telegram")
    assert done.returncode == 2
    assert "channels.telegram is there already; choose another name with --name" in done.stderr
    assert "bot_token" not in done.stdout
    assert (tmp_path / "config.yaml").read_text() == text


async def test_a_name_that_cannot_be_one(tmp_path: Path) -> None:
    done = await run(tmp_path, "telegram", "--name", "My Bot")
    assert done.returncode == 1
    assert "My Bot cannot be a name" in done.stderr


async def test_an_id_that_is_none_is_asked_again(tmp_path: Path, emulator: TelegramEmulator) -> None:
    done = await run(
        tmp_path, "telegram", "--base-url", emulator.url, said=f"{emulator.token}\n@ann\n987654321\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "That is not the number of a person" in done.stdout
    assert "Warning" not in done.stderr
    data = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert data["access"]["owners"] == ["telegram:987654321"]


async def test_a_platform_out_of_reach_is_named(tmp_path: Path) -> None:
    done = await run(tmp_path, "telegram", "--base-url", "http://127.0.0.1:9", said="1234567890:AAsecret\n")
    assert done.returncode == 1
    assert "http://127.0.0.1:9" in done.stderr
    assert "look at the network" in done.stderr
    assert "AAsecret" not in done.stdout + done.stderr


async def test_a_value_of_the_wrong_form_is_said_plainly(tmp_path: Path) -> None:
    done = await run(tmp_path, "slack", said="xapp-1-A\nxapp-1-A\n")
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "roebot: bot_token: expected the bot token (xoxb-…); this is the app-level token (xapp-…)"
    )
