"""The adapter of Discord passes the suite of all adapters, in each of its ways to receive."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.platforms.discord.driver import discord_by_gateway


class TestDiscord(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with discord_by_gateway() as driver:
            yield driver
