"""Settings in the web console: access, limits, event sources and versions."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.tab import PHONE, opened
from tests.browser.test_setup_pages import START, entry, said
from tests.platforms.web.people import CHATS
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


async def test_access_is_changed_refused_while_another_editor_saves_and_undone(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    async with (
        world(tmp_path, extra=CHATS) as service,
        opened(browser, service, f"{START}settings", viewport=PHONE, refused=(412, 422)) as tab,
    ):
        page, dialog = tab.page, tab.dialog
        review = page.get_by_role("button", name="Review and save")
        await page.get_by_label("People who are not listed").select_option("have no access")
        admins = page.get_by_role("combobox", name="Add to Admins")
        await admins.fill("nobody of this name")
        await admins.press("Enter")
        await expect(page.get_by_role("alert").filter(has_text="PLATFORM:ID")).to_be_visible()
        await admins.fill("telegram:8")
        await admins.press("Enter")
        await expect(page.get_by_role("button", name="Remove Person on Telegram")).to_be_visible()
        assert await serious(page) == []
        assert await tab.fits()
        await page.get_by_role("link", name="Limits").click()
        await page.get_by_label("Messages per hour and person").fill("7")
        await page.get_by_role("button", name="Discard changes").click()
        await expect(page.get_by_label("Messages per hour and person")).to_have_value("")
        await page.get_by_role("link", name="Access", exact=True).click()
        await expect(page.get_by_label("People who are not listed")).to_have_value("closed")
        await expect(page.get_by_role("button", name="Remove Person on Telegram")).to_be_visible()
        path.write_text(path.read_text() + "# by hand\n")
        await review.click()
        await expect(dialog.locator(".difference")).to_contain_text("telegram:8")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("The file has changed in the meantime.")
        await dialog.get_by_role("button", name="Load the file again").click()
        await expect(dialog.get_by_role("alert")).to_have_count(0)
        assert await serious(page) == []
        await dialog.get_by_role("button", name="Save").click()
        await expect(said(tab, "Saved and applied.")).to_be_visible()
        access = yaml.safe_load(path.read_text())["access"]
        assert access == {"default": "closed", "admins": ["telegram:8"]}
        assert "# by hand" in path.read_text()
        await page.get_by_role("link", name="Limits").click()
        await page.get_by_label("Messages per hour and person").fill("60")
        await review.click()
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
        assert yaml.safe_load(path.read_text())["budgets"] == {"person": {"messages_per_hour": 60}}
        await page.get_by_role("link", name="Versions").click()
        latest = page.locator(".entry").first
        await expect(latest).to_contain_text("Owner changed settings: budgets.person.messages_per_hour")
        await latest.locator("summary").click()
        await expect(latest.locator(".added").first).to_be_visible()
        assert await tab.fits()
        await page.locator(".entry").nth(1).get_by_role("button", name="Restore").click()
        await dialog.get_by_role("button", name="Restore").click()
        await expect(dialog).to_have_count(0)
        assert "budgets" not in yaml.safe_load(path.read_text())
        await page.get_by_role("button", name="Undo last change").click()
        await expect(dialog).to_contain_text("Owner restored version 2 of the settings")
        await expect(dialog.locator(".difference")).to_contain_text("-budgets:")
        await dialog.get_by_role("button", name="Undo").click()
        await expect(dialog).to_have_count(0)
        assert yaml.safe_load(path.read_text())["budgets"] == {"person": {"messages_per_hour": 60}}


async def test_one_account_overrides_only_what_is_changed(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    async with (
        world(tmp_path, extra=CHATS) as service,
        opened(browser, service, f"{START}settings?account=tg", refused=(422,)) as tab,
    ):
        page, dialog = tab.page, tab.dialog
        review = page.get_by_role("button", name="Review and save")
        guests = page.get_by_label("“Everyone” includes guests")
        unlisted = page.get_by_label("People who are not listed")
        for label, value, saved in (("Off", "false", False), ("On", "true", True)):
            await guests.select_option(label)
            await review.click()
            await dialog.get_by_role("button", name="Save").click()
            await expect(dialog).to_have_count(0)
            assert yaml.safe_load(path.read_text())["channels"]["tg"]["access"] == {"guests": saved}
            await page.reload()
            await expect(guests).to_have_value(value)
            await expect(unlisted).to_have_value("")
        await guests.select_option("Same as for all accounts")
        admins = page.get_by_role("combobox", name="Add to Admins")
        for one in ("telegram:8", "telegram:bob", "telegram:eve"):
            await admins.fill(one)
            await admins.press("Enter")
        await review.click()
        wrong = page.locator(".field", has=admins).locator(".problem")
        expected = "expected a person's numeric id after telegram:"
        await expect(wrong.filter(has_text=f"telegram:bob: {expected}")).to_be_visible()
        await expect(wrong.filter(has_text=f"telegram:eve: {expected}")).to_be_visible()
        await expect(page.locator(".form-problem")).to_have_count(0)
        await page.locator(".chip[title='telegram:bob'] button").click()
        await page.locator(".chip[title='telegram:eve'] button").click()
        await review.click()
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog).to_have_count(0)
        assert yaml.safe_load(path.read_text())["channels"]["tg"]["access"] == {"admins": ["telegram:8"]}


async def test_an_event_source_is_added_and_described(browser: Browser, tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        opened(browser, service, f"{START}settings/events") as tab,
    ):
        page, dialog = tab.page, tab.dialog
        await service.open()
        await page.get_by_role("link", name="Add an event source").click()
        await page.get_by_label("Name", exact=True).fill("alerts")
        await page.get_by_label("Chat").select_option(index=1)
        assert await serious(page) == []
        await page.get_by_role("button", name="Review and save").click()
        await expect(dialog.locator(".difference")).to_contain_text("alerts")
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("The secret is shown only once.")).to_be_visible()
        block = page.locator("code").filter(has_text="webhook_configs")
        await expect(block).to_contain_text("/events/alerts")
        assert await serious(page) == []
        await page.get_by_role("button", name="Send a test event").click()
        await expect(page.get_by_text("The card appeared in its chat (web).")).to_be_visible(timeout=15_000)
        assert await serious(page) == []
        await page.get_by_role("link", name="Event sources").click()
        await expect(entry(tab, "alerts")).to_contain_text("2 in the last day")
