"""The SDK's client for Slack's emulator, and what its refusals say."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.slack import SlackEmulator


def sdk(slack: SlackEmulator, token: str = "") -> AsyncWebClient:
    """Return a client of the SDK; "unset" keeps it from taking a proxy out of the environment."""
    client = AsyncWebClient(token or slack.bot_token, base_url=slack.url, proxy="unset", retry_handlers=[])
    client.proxy = None
    return client


async def refusal(call: Awaitable[Any]) -> dict[str, Any]:
    """Return the body of the refusal of a call."""
    with pytest.raises(SlackApiError) as error:
        await call
    answer: dict[str, Any] = error.value.response.data
    assert answer["ok"] is False
    return answer


async def refused(call: Awaitable[Any]) -> str:
    """Return Slack's name of the refusal of a call."""
    return str((await refusal(call))["error"])
