"""Real python-telegram-bot against the emulator, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from telegram import Bot
from telegram.request import HTTPXRequest

from roebot_testing.emulators.telegram import TelegramEmulator


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
