"""Fixture of a Chromium browser."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright, expect

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Something that must appear is waited for as long as a busy machine may need.
expect.set_options(timeout=20_000)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Launch the system's Chromium per test, since its connection belongs to the test's event loop."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        await opened.close()
