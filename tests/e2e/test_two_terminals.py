"""The service has tokens in its environment; another terminal, without them, looks at it and talks to it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service import MODEL, ServiceProcess

pytestmark = pytest.mark.may_block
SECONDS = 30.0


async def roebot(
    service: ServiceProcess, *arguments: str, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """A command in another terminal."""
    config = ["--config", str(service.home / "config.yaml")]
    return await asyncio.to_thread(
        lambda: subprocess.run(
            [sys.executable, "-m", "bot.cli", *arguments, "--home", str(service.home), *config],
            input=said,
            capture_output=True,
            text=True,
            timeout=60,
            env={key: value for key, value in os.environ.items() if key != "GUIDE_TOKEN"},
        )
    )


def config(emulator: TelegramEmulator, server: str = "port: 0") -> str:
    return f"""
config_version: 1
{MODEL}
server: {{{server}}}
channels:
  telegram: {{bot_token: $GUIDE_TOKEN, base_url: "{emulator.url}"}}
"""


async def banner(service: ServiceProcess) -> str:
    """What the service says once it is ready."""
    deadline = service.deadline(SECONDS)
    while "stop     Ctrl-C" not in service.log():
        assert not deadline.passed, service.log()
        await asyncio.sleep(0.05)
    return service.log()


@pytest.mark.long
async def test_another_terminal_needs_no_tokens(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        service = ServiceProcess(tmp_path / "home", config(emulator), is_forked=True)
        service.start(GUIDE_TOKEN=emulator.token)
        try:
            await banner(service)
            doctor = await roebot(service, "doctor")
            assert (
                "note configuration: the service was started with environment variables that are not set here"
                in doctor.stdout
            )
            assert "GUIDE_TOKEN" in doctor.stdout
            assert "account telegram is live" in doctor.stdout
            assert doctor.returncode == 0, doctor.stdout
            chat = await roebot(service, "chat", said="/status")
            assert (chat.returncode, "This conversation" in chat.stdout) == (0, True), chat.stderr
            (service.home / "config.yaml").write_text(config(emulator, "prot: 0"))
            doctor = await roebot(service, "doctor")
            assert "FAIL configuration" in doctor.stdout
            assert "still uses its last valid configuration" in doctor.stdout
            assert doctor.returncode == 1
        finally:
            assert service.stop() == 0


async def test_the_banner_says_which_account_failed(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        service = ServiceProcess(tmp_path / "home", config(emulator), is_forked=True)
        service.start(GUIDE_TOKEN="1234567890:AAwrong")
        try:
            said = await banner(service)
            assert "account  telegram (telegram) is failed: Telegram refuses the token" in said
            assert "account  terminal (terminal)\n" in said
            assert "AAwrong" not in said
        finally:
            assert service.stop() == 0
