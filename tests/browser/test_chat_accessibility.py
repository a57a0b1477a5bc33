"""Accessibility of the chat in light, dark, on a phone and in Chinese."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.tab import CHAT, PHONE, opened
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1360, "height": 850}},
    "dark": {"viewport": {"width": 1920, "height": 1000}, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True, "locale": "zh-CN"},
}


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_no_violations_in_the_chat(browser: Browser, tmp_path: Path, look: str) -> None:
    async with (
        world(tmp_path, graph="slow") as service,
        opened(browser, service, CHAT, **LOOKS[look]) as tab,
    ):
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await tab.page.wait_for_load_state("networkidle")
        assert await serious(tab.page) == []
        assert await tab.fits()
        await tab.send("[tokens=2000] hello")
        await expect(tab.page.locator(".answer.growing")).to_contain_text("word1")
        note = {"name": "n" * 80 + ".txt", "mimeType": "text/plain", "buffer": b"my notes"}
        await tab.page.set_input_files("#file", [note])  # type: ignore[arg-type]
        await expect(tab.page.locator("#files li")).to_contain_text("nnn")
        await tab.page.fill("#text", "/")
        await expect(tab.page.locator("#hints li").first).to_be_visible()
        assert await serious(tab.page) == []
        assert await tab.fits()
        await tab.page.fill("#text", "")
        await tab.page.click("#stop")
        await expect(tab.page.locator("#stop")).to_have_count(0)
        await tab.send("[fail=overloaded] " + "a long word without a space " + "x" * 200)
        await expect(tab.page.locator(".failure")).to_be_visible()
        assert await tab.fits()
        await tab.page.keyboard.press("Control+k")
        await expect(tab.dialog.get_by_role("option").first).to_be_visible()
        assert await serious(tab.page) == []
