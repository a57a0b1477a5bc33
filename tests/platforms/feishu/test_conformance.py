"""The adapter of Feishu passes the suite of all adapters, in each of its ways to receive."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.platforms.feishu.driver import feishu_by_callback, feishu_by_socket


class TestFeishuBySocket(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with feishu_by_socket() as driver:
            yield driver


@pytest.mark.fault
class TestFeishuByCallback(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with feishu_by_callback() as driver:
            yield driver
