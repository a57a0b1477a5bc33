"""Opening and leaving sections of the web console, on every width, in light and dark."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from bot.server.console.page import SECTIONS
from tests.browser.tab import DONE, PHONE, opened
from tests.platforms.web.serving import MODELS, World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
ATTACK = "<img src=x onerror='window.hit=1'><script>window.hit=2</script>"
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}


async def furnish(service: World) -> None:
    """Create data for most sections."""
    conversation = await service.open()
    await service.turn((await service.say(conversation, ATTACK))["turn"])
    schedule = {"conversation": conversation, "when": "every 6 hours", "text": ATTACK}
    for path, body in (
        ("/api/schedules", schedule),
        ("/api/memory/facts", {"content": ATTACK}),
    ):
        answer = await service.http.post(path, json=body)
        assert answer.status_code == 201, answer.text
    answer = await service.http.put("/api/access/telegram:7", json={"role": "admin"})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("look", LOOKS)
async def test_every_section_opens_without_layout_or_script_errors(
    browser: Browser, tmp_path: Path, look: str
) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, extra=MODELS) as service:
        await furnish(service)
        async with opened(browser, service, **options) as tab:
            page = tab.page
            for name, label, _ in SECTIONS:
                if look == "phone":
                    await page.locator("#open-side:visible, #open-side-section:visible").click()
                if not await page.locator("#manage").evaluate("box => box.open"):
                    await page.click("#manage summary")
                await page.click(f"#sections a[href='#/{name}']")
                await expect(page.locator("#section-title")).to_have_text(label)
                await expect(page.locator("#section-title")).to_be_focused()
                await expect(tab.box).not_to_contain_text("Loading…")
                await expect(tab.box.locator("table:visible, .none:visible").first).to_be_visible()
                await expect(tab.box.locator(".failure")).to_have_count(0)
                await expect(page.locator("#sections [aria-current=page]")).to_have_text(label)
                assert await tab.fits(), name
            await page.goto(f"{service.url}/#/schedules/calendar")
            await expect(tab.box.locator(".calendar")).to_be_visible()
            assert await tab.fits()
            assert await page.evaluate("window.hit") is None


@pytest.mark.parametrize("look", ["light", "phone"])
async def test_row_actions_are_visible(browser: Browser, tmp_path: Path, look: str) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path) as service:
        await furnish(service)
        async with opened(browser, service, **options) as tab:
            for name in ("schedules", "accounts", "memory", "people"):
                await tab.page.goto(f"{service.url}/#/{name}")
                table = tab.box.locator("table.acts").last
                await expect(table).to_be_visible()
                button = table.get_by_role("button").last
                await button.scroll_into_view_if_needed()
                place = await button.bounding_box()
                first = await table.locator("tbody th").last.bounding_box()
                assert place
                assert first
                assert first["x"] >= 0, "the table was scrolled"
                assert place["x"] + place["width"] <= options["viewport"]["width"]
                assert place["x"] >= first["x"] + 100
                await button.click(trial=True)


async def test_a_section_opens_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        await tab.page.locator("#manage summary").focus()
        await tab.page.keyboard.press("Enter")
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("#section-title")).to_be_focused()
        await expect(tab.page.locator("#section-title")).to_have_text("Schedules")
        await tab.page.locator("#skip").focus()
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("#section-title")).to_be_focused()
        assert tab.page.url.endswith("#/schedules")
        await tab.page.keyboard.press("Tab")
        await expect(tab.page.locator("#refresh")).to_be_focused()


async def test_the_chat_updates_behind_an_open_section(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        await tab.send("hello")
        await tab.answer()
        await tab.page.click("#manage summary")
        await tab.page.click("#sections a[href='#/usage']")
        await expect(tab.page.locator("#chat")).to_be_hidden()
        assert await tab.page.title() == "Usage · Roebot"
        await tab.page.go_back()
        await expect(tab.page.locator("#section")).to_be_hidden()
        await expect(tab.page.locator(".bubble")).to_have_text("hello")
        await expect(tab.page).to_have_title("hello · Roebot")
        await tab.page.go_forward()
        await expect(tab.page.locator("#section-title")).to_have_text("Usage")
        await tab.page.click("#conversations button >> text=hello")
        await expect(tab.page.locator(f"{DONE} .answer")).to_have_text("hello")
        assert "#" not in tab.page.url
        await tab.page.click("#sections a[href='#/usage']")
        await tab.page.click("#new")
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await tab.send("again")
        assert await tab.answer() == "again"


async def test_leaving_a_section_closes_its_dialogs(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await furnish(service)
        async with opened(browser, service, "/#/usage") as tab:
            await expect(tab.box).not_to_contain_text("Loading…")
            await tab.page.goto(f"{service.url}/#/schedules")
            await tab.press("New schedule")
            await expect(tab.dialog).to_be_visible()
            await tab.page.go_back()
            await expect(tab.page.locator("#section-title")).to_have_text("Usage")
            await expect(tab.dialog).to_have_count(0)
            await expect(tab.page.locator("#section-title")).to_be_focused()
            await tab.page.go_forward()
            await tab.press("Delete: schedule 1")
            await expect(tab.dialog).to_be_visible()
            await tab.page.goto(f"{service.url}/#/memory")
            await expect(tab.page.locator("#section-title")).to_have_text("Memory")
            await expect(tab.dialog).to_have_count(0)
            assert len((await service.http.get("/api/schedules")).json()["schedules"]) == 1


async def test_urls_open_their_section_and_unknown_ones_the_chat(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        async with opened(browser, service, "/#/audit?person=telegram:7") as tab:
            await expect(tab.page.locator("#section-title")).to_have_text("Audit log")
            await expect(tab.page.locator("#person")).to_have_value("telegram:7")
        async with opened(browser, service, "/#/constructor") as tab:
            not_found = tab.page.locator("#not-found")
            await expect(tab.page.locator("#welcome")).to_be_visible()
            await expect(tab.page.locator("#section")).to_be_hidden()
            await expect(not_found).to_have_text("Page not found.")
            await expect(not_found).to_be_visible()
            await tab.page.goto(f"{service.url}/#/usage")
            await expect(tab.page.locator("#section-title")).to_have_text("Usage")
            await expect(not_found).to_be_hidden()
            await tab.page.goto(f"{service.url}/#/nosuchpart")
            await expect(not_found).to_be_visible()
            await tab.page.click("#new")
            await expect(not_found).to_be_hidden()
            assert "#" not in tab.page.url
            await tab.page.go_back()
            await expect(not_found).to_be_visible()
            await tab.send("hello")
            assert await tab.answer() == "hello"
            await expect(not_found).to_be_hidden()


async def test_a_failed_load_shows_an_error_with_retry(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/schedules/99") as tab:
        tab.refused = (404, 503)
        await expect(tab.box.get_by_role("alert")).to_contain_text("Schedule not found.")
        away = {"status": 503, "json": {"detail": "away"}}
        await tab.page.route("**/api/schedules**", lambda route: route.fulfill(**away))
        await tab.page.goto(f"{service.url}/#/schedules")
        await expect(tab.box.get_by_role("alert")).to_contain_text("away")
        await tab.page.unroute("**/api/schedules**")
        await tab.press("Try again")
        await expect(tab.box).to_contain_text("No schedules yet.")


async def test_a_section_reloads_on_request_and_on_focus(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/people") as tab:
        await expect(tab.box).to_contain_text("No roles granted yet.")
        await service.http.put("/api/access/telegram:7", json={"role": "admin"})
        await tab.page.click("#refresh")
        await tab.row("telegram:7", "admin")
        await service.http.put("/api/access/telegram:8", json={"role": "member"})
        async with asyncio.timeout(20):
            while "telegram:8" not in await tab.box.inner_text():
                await tab.page.evaluate("dispatchEvent(new Event('focus'))")
                await asyncio.sleep(0.05)
