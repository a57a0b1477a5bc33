"""Every adapter passes the same suite, in each of its ways to receive, and so does the fake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.conformance.drivers.discord import discord_by_gateway
from tests.conformance.drivers.feishu import feishu_by_callback, feishu_by_socket
from tests.conformance.drivers.local import page, terminal
from tests.conformance.drivers.recording import recording
from tests.conformance.drivers.slack import slack_by_http, slack_by_socket
from tests.conformance.drivers.telegram import (
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


class TestDiscord(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with discord_by_gateway() as driver:
            yield driver


class TestPage(AdapterConformance):
    @pytest.fixture
    async def platform(self, tmp_path: Path) -> AsyncIterator[PlatformDriver]:
        async with page(tmp_path) as driver:
            yield driver


class TestTerminal(AdapterConformance):
    @pytest.fixture
    async def platform(self, tmp_path: Path) -> AsyncIterator[PlatformDriver]:
        async with terminal(tmp_path) as driver:
            yield driver


class TestRecordingAdapter(AdapterConformance):
    @pytest.fixture
    async def platform(self) -> AsyncIterator[PlatformDriver]:
        async with recording() as driver:
            yield driver
