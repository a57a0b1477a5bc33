"""The configuration of a service with an emulated Telegram and a scripted provider of models."""

from __future__ import annotations

from llmock.pytest_plugin import LLMock

from bot.testing.emulators.telegram import TelegramEmulator


def telegram_config(emulator: TelegramEmulator, llmock: LLMock, access: str, more: str = "") -> str:
    """Return config.yaml with the account `tele`; `access` is the value of that key, `more` further lines."""
    llmock.tool_mode("off")
    return f"""
config_version: 1
models:
  - {{name: m, use: "langchain_openai:ChatOpenAI", model: m, api_key: k, stream_usage: true,
     base_url: "{llmock.base_url()}"}}
title: {{enabled: false}}
memory: {{enabled: false}}
server: {{port: 0}}
channels:
  tele: {{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}"}}
access: {access}
{more}
"""
