"""Accessibility of the web console in light, dark and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.furniture import LOOKS
from tests.browser.tab import opened
from tests.console.layout import PAGES, problems
from tests.console.rig import furnish
from tests.platforms.web.serving import MODELS, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TOKEN = "a-long-secret-token"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("look", LOOKS)
async def test_no_page_has_layout_or_accessibility_problems(
    browser: Browser, tmp_path: Path, look: str
) -> None:
    async with world(tmp_path, graph="approving", extra=MODELS) as service:
        await furnish(service)
        async with opened(browser, service, **LOOKS[look]) as tab:
            for address in PAGES:
                await tab.page.goto("about:blank")
                await tab.page.goto(
                    service.url + address if address[0] == "/" else f"{service.url}/{address}"
                )
                await tab.page.wait_for_load_state("networkidle")
                assert await problems(tab.page) == [], address


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_no_violations_in_a_running_chat(browser: Browser, tmp_path: Path, look: str) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, graph="slow") as service, opened(browser, service, **options) as tab:
        await tab.send("[tokens=2000] hello")
        await expect(tab.page.locator(".answer.growing")).to_contain_text("word1")
        note = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"my notes"}
        await tab.page.set_input_files("#file", [note])  # type: ignore[arg-type]
        await expect(tab.page.locator("#files li")).to_contain_text("notes.txt")
        assert await serious(tab.page) == []
        await tab.page.click("#stop")
        await expect(tab.page.locator(".answer.growing")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_no_violations_in_a_question(browser: Browser, tmp_path: Path, look: str) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, graph="approving") as service, opened(browser, service, **options) as tab:
        await tab.send("clean up")
        group = tab.page.get_by_role("group", name="Choices")
        await expect(group.get_by_role("button")).to_have_count(4)
        assert await serious(tab.page) == []


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_no_violations_on_the_sign_in_page(
    browser: Browser, tmp_path: Path, look: str
) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        context = await browser.new_context(**LOOKS[look])
        page = await context.new_page()
        await page.goto(service.url)
        await expect(page.locator("#token")).to_be_visible()
        assert await serious(page) == []
        await context.close()
