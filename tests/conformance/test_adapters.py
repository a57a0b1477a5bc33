"""The local adapters and the fake pass the suite of all adapters. Each platform has its own such test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roebot_testing.conformance import AdapterConformance, PlatformDriver
from tests.conformance.drivers.local import page, terminal
from tests.conformance.drivers.recording import recording


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
