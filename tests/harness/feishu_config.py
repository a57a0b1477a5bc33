"""The configuration of a service with an emulated Feishu and a scripted provider of models."""

from __future__ import annotations

from llmock.pytest_plugin import LLMock

from roebot_testing.emulators.feishu import FeishuEmulator
from tests.harness.llmock_config import llmock_section


def feishu_config(emulator: FeishuEmulator, llmock: LLMock, admin: str) -> str:
    """Return config.yaml with the account `feishu`, open to guests too; `admin` is an open id."""
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels:
  feishu: {{app_id: {emulator.app_id}, app_secret: "{emulator.app_secret}", base_url: "{emulator.url}"}}
access: {{default: allow, guests: true, admins: ["feishu:{admin}"]}}
"""
