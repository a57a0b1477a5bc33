"""The sign-in page of the web console."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.tab import PHONE, Tab, opened
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


@pytest.mark.parametrize(
    ("locale", "button", "title"),
    [("en-GB", "Sign in", "Sign in to Roebot"), ("zh-CN", "登录", "登录 Roebot")],
)
async def test_the_owner_signs_in_with_the_token(
    browser: Browser, tmp_path: Path, locale: str, button: str, title: str
) -> None:
    async with world(tmp_path) as service:
        scheme = "dark" if locale == "zh-CN" else "light"
        context = await browser.new_context(locale=locale, viewport=PHONE, color_scheme=scheme)  # type: ignore[arg-type]
        tab = Tab(await context.new_page(), service.url)
        tab.refused = (401,)
        page = tab.page
        await page.goto(f"{service.url}/")
        await expect(page.get_by_role("heading", name=title)).to_be_visible()
        await expect(page.locator("#token")).to_be_focused()
        assert await serious(page) == []
        assert await tab.fits()
        await page.keyboard.type("wrong")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_visible()
        await page.fill("#token", service.token)
        await page.get_by_role("button", name=button).click()
        await expect(page.locator("#app")).to_have_attribute("data-role", "owner")
        assert tab.bad == []
        await context.close()


async def test_a_link_signs_in_once(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        link = f"/#code={await code_for(service)}"
        async with opened(browser, service, link) as ann:
            await expect(ann.page.locator("#app")).to_have_attribute("data-role", "member")
            assert ann.page.url == f"{service.url}/"
        async with opened(browser, service, link, refused=(401,)) as thief:
            await expect(thief.page.locator("#problem")).to_contain_text("has expired or was already used")
            await expect(thief.page.locator("#sign-in")).to_be_visible()
            assert thief.page.url == f"{service.url}/"
