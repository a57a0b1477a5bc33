"""An emulator for the tests of events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from roebot_testing.emulators.telegram import TelegramEmulator


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(limits=False) as running:
        yield running
