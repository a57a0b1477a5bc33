"""A clock, emulators without limits, and clients that talk to them over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from telegram import Bot
from telegram.request import HTTPXRequest

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator

from . import slack_sdk_client


class Ticks:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def sdk(emulator: TelegramEmulator, token: str = "") -> Bot:
    """A bot of the SDK that talks to the emulator."""
    return Bot(
        token or emulator.token,
        base_url=f"{emulator.url}/bot",
        base_file_url=f"{emulator.url}/file/bot",
        request=HTTPXRequest(httpx_kwargs={"trust_env": False}),
        get_updates_request=HTTPXRequest(httpx_kwargs={"trust_env": False}),
    )


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
async def emulator(ticks: Ticks) -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(monotonic=ticks, limits=False) as running:
        yield running


@pytest.fixture
async def bot(emulator: TelegramEmulator) -> AsyncIterator[Bot]:
    async with sdk(emulator) as connected:
        yield connected


@pytest.fixture
async def slack(ticks: Ticks) -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve(monotonic=ticks, limits=False) as running:
        yield running


@pytest.fixture
def web(slack: SlackEmulator) -> AsyncWebClient:
    return slack_sdk_client.sdk(slack)


@pytest.fixture
async def api(emulator: DiscordEmulator) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bot {emulator.token}"}
    async with httpx.AsyncClient(base_url=emulator.url, headers=headers, trust_env=False) as client:
        yield client
