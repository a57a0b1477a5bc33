"""The adapter of Telegram passes the suite of all adapters, in each of its ways to receive."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.platforms.telegram.driver import (
    telegram_by_polling,
    telegram_by_webhook,
    telegram_with_rich_messages,
)


class TestTelegramByPolling(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with telegram_by_polling() as driver:
            yield driver


@pytest.mark.fault
class TestTelegramWithRichMessages(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with telegram_with_rich_messages() as driver:
            yield driver


@pytest.mark.fault
class TestTelegramByWebhook(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with telegram_by_webhook() as driver:
            yield driver
