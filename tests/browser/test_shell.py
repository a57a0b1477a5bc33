"""The frame of the console: addresses, sidebar, keys, theme, language, and what a failed load shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.furniture import LOOKS
from tests.browser.tab import PHONE, opened
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import MODELS, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
WORK = ("Activity", "Conversations", "Schedules")


async def test_pages_open_by_pointer_by_keyboard_and_by_address(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=MODELS) as service, opened(browser, service) as tab:
        page = tab.page
        title = page.locator("h1")
        await expect(title).to_have_text("New chat")
        await page.get_by_role("link", name="Schedules").click()
        await expect(title).to_have_text("Schedules")
        await expect(title).to_be_focused()
        assert page.url.endswith("#/schedules")
        assert await page.title() == "Schedules · Roebot"
        await expect(page.locator("roe-sidebar [aria-current=page]")).to_have_text("Schedules")
        await page.go_back()
        await expect(title).to_have_text("New chat")
        records, usage = page.get_by_text("Records", exact=True), page.get_by_role("link", name="Usage")
        await expect(usage).to_be_visible()
        await records.focus()
        await page.keyboard.press("Enter")
        await expect(usage).not_to_be_visible()
        await page.reload()
        await expect(page.get_by_role("link", name="MCP servers")).to_be_visible()
        await expect(usage).not_to_be_visible()
        await records.focus()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(title).to_have_text("Usage")
        await page.locator(".skip").focus()
        await page.keyboard.press("Enter")
        await expect(title).to_be_focused()
        await page.goto(f"{service.url}/#/nothing")
        await expect(title).to_have_text("Page not found")
        await page.get_by_role("link", name="Go to the chat").click()
        await expect(title).to_have_text("New chat")


async def test_an_admin_begins_with_the_overview_once_there_is_something(
    browser: Browser, tmp_path: Path
) -> None:
    async with world(tmp_path) as service:
        await service.turn((await service.say(await service.open(), "hello"))["turn"])
        async with opened(browser, service) as tab:
            await expect(tab.page.locator("h1")).to_have_text("Overview")
            await tab.page.locator("#new").click()
            await expect(tab.page.locator("#text")).to_be_visible()
            await tab.page.get_by_role("link", name="Roebot", exact=True).click()
            await expect(tab.page.locator("h1")).to_have_text("Overview")


async def test_a_member_sees_only_pages_of_their_own(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await give(service, "tg:7", "member")
        code = await code_for(service)
        async with opened(browser, service, f"/#code={code}") as tab:
            await expect(tab.page.locator("#account")).to_be_visible()
            names = await tab.page.locator("nav .nav-item").all_text_contents()
            shown = {name.strip() for name in names}
            assert not shown & {"Accounts", "Audit log", "Settings", "MCP servers"}
            assert set(WORK) <= shown
            await tab.page.goto(f"{service.url}/#/accounts")
            await expect(tab.page.locator("h1")).to_have_text("Page not found")
            await tab.page.get_by_role("link", name="Roebot", exact=True).click()
            await expect(tab.page.locator("#text")).to_be_visible()


async def test_theme_and_language_are_kept(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, color_scheme="light") as tab:
        page = tab.page
        await page.locator("#account").click()
        await page.get_by_role("menuitemradio", name="Dark").click()
        assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 22, 24)"
        await page.reload()
        assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
        await page.locator("#account").click()
        await page.get_by_role("menuitemradio", name="中文").click()
        await expect(page.locator("#new")).to_have_text("新聊天")
        assert await page.evaluate("document.documentElement.lang") == "zh-Hans"
        await page.reload()
        await expect(page.locator("#new")).to_have_text("新聊天")


async def test_the_browser_decides_the_first_language(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, locale="zh-CN") as tab:
        await expect(tab.page.locator("#new")).to_have_text("新聊天")


async def test_the_sidebar_is_a_drawer_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, viewport=PHONE) as tab:
        side = tab.page.locator("roe-sidebar")
        await expect(side).not_to_be_visible()
        await tab.page.get_by_role("button", name="Open sidebar").click()
        await expect(tab.page.get_by_role("button", name="Close sidebar")).to_be_focused()
        await tab.page.keyboard.press("Escape")
        await expect(side).not_to_be_visible()
        await expect(tab.page.get_by_role("button", name="Open sidebar")).to_be_focused()
        assert await tab.fits()


async def test_search_opens_pages_and_keys_are_listed(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        await tab.page.locator("#new").focus()
        await tab.page.keyboard.press("?")
        await expect(tab.dialog).to_contain_text("Keyboard shortcuts")
        await tab.page.keyboard.press("Escape")
        await expect(tab.dialog).to_have_count(0)
        await tab.page.keyboard.press("Control+k")
        await expect(tab.page.get_by_role("combobox", name="Search")).to_be_focused()
        await tab.page.keyboard.type("sched")
        await expect(tab.dialog).to_contain_text("Schedules")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("h1")).to_have_text("Schedules")
        await expect(tab.dialog).to_have_count(0)


async def test_a_failed_load_offers_to_try_again(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        tab.refused = (503,)
        broken = {"status": 503, "json": {"detail": "The database is not responding."}}
        await tab.page.route("**/api/skills*", lambda route: route.fulfill(**broken))
        await tab.page.goto(f"{service.url}/#/skills")
        await expect(tab.page.get_by_role("alert")).to_contain_text("The database is not responding.")
        await tab.page.unroute("**/api/skills*")
        await tab.page.get_by_role("button", name="Try again").click()
        await expect(tab.page.locator("roe-skills")).to_be_visible()
        await expect(tab.page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_no_violations_in_the_frame(browser: Browser, tmp_path: Path, look: str) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/nothing", **LOOKS[look]) as tab:
        await expect(tab.page.locator("h1")).to_have_text("Page not found")
        assert await serious(tab.page) == []
