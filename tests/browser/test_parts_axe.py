"""What axe says of the page and its parts, in light and dark and on a phone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from bot.console.page import PARTS
from tests.browser.tab import opened
from tests.browser.test_parts import LOOKS, furnish
from tests.platforms.web.serving import MODELS, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
AXE = files("axe_playwright_python") / "axe.min.js"
BAD = {"serious", "critical"}


async def serious(page: Page) -> list[str]:
    """What keeps people from using the page."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"] if one["impact"] in BAD]


@pytest.mark.parametrize("look", LOOKS)
async def test_nothing_serious_is_found(browser: Browser, tmp_path: Path, look: str) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, extra=MODELS) as service:
        await furnish(service)
        async with opened(browser, service, **options) as tab:
            assert await serious(tab.page) == []
            for address in [*(name for name, _, _ in PARTS), "schedules/calendar", "schedules/1", "turns/1"]:
                await tab.page.goto("about:blank")
                await tab.page.goto(f"{service.url}/#/{address}")
                await expect(
                    tab.box.locator("table:visible, .none:visible, dl:visible").first
                ).to_be_visible()
                await expect(tab.box).not_to_contain_text("Loading…")
                assert await serious(tab.page) == [], address
            await tab.page.goto(f"{service.url}/#/schedules")
            await tab.press("New schedule")
            await expect(tab.dialog).to_be_visible()
            assert await serious(tab.page) == []
