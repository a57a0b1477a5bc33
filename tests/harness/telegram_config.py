"""The configuration of a service with an emulated Telegram and a scripted provider of models."""

from __future__ import annotations

from llmock.pytest_plugin import LLMock

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.llmock_config import llmock_section


def telegram_config(emulator: TelegramEmulator, llmock: LLMock, access: str, more: str = "") -> str:
    """Return config.yaml with the account `tele`; `access` is the value of that key, `more` further lines."""
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels:
  tele: {{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {access}
{more}
"""
