"""The adapter of Slack passes the suite of all adapters, in each of its ways to receive."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.platforms.slack.driver import slack_by_http, slack_by_socket


class TestSlackBySocket(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with slack_by_socket() as driver:
            yield driver


@pytest.mark.fault
class TestSlackByHttp(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with slack_by_http() as driver:
            yield driver
