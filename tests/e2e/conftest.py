"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness.people import PlatformUser, on_platform
from tests.harness.wires import WIRES

EACH = [pytest.param(name, marks=() if name == "telegram" else pytest.mark.long) for name in WIRES]


@pytest.fixture(params=EACH)
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[PlatformUser]:
    """A person on each platform."""
    async with on_platform(request.param) as person:
        yield person


@pytest.fixture
def patient_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Feishu answer questions about events late, as an emulator on a busy machine does."""
    monkeypatch.setattr("bot.platforms.feishu.lookups.ASK_SECONDS", 30.0)
    monkeypatch.setattr("bot.platforms.feishu.event_handler.EVENT_SECONDS", 60.0)
