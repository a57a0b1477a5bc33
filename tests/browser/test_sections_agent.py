"""Agent sections of the web console: memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import PHONE, opened
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])
async def test_facts_are_added_edited_and_deleted(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/memory", viewport=size) as tab:
        tab.refused = (409,)
        save = tab.dialog.get_by_role("button", name="Save")
        await expect(tab.box).to_contain_text("person:web:web:owner")
        await tab.press("Add fact")
        await tab.dialog.get_by_label("Fact").fill("Likes tea.")
        await tab.dialog.get_by_label("Category").select_option("preference")
        await save.click()
        await expect(tab.said).to_have_text("Fact saved.")
        await tab.row("Likes tea.", "preference", "1")
        await tab.press("Add fact")
        await tab.dialog.get_by_label("Fact").fill("Likes tea.")
        await save.click()
        await expect(tab.dialog.get_by_role("alert")).to_have_text("This fact is already stored.")
        await tab.page.keyboard.press("Escape")
        await tab.press("Edit: Likes tea.")
        await tab.dialog.get_by_label("Fact").fill("Likes coffee.")
        await tab.dialog.get_by_label("Confidence").fill("0.5")
        await save.click()
        await tab.row("Likes coffee.", "0.5")
        assert await tab.fits()
        async with tab.page.expect_download() as download:
            await tab.box.get_by_role("link", name="Export").click()
        exported = json.loads((await (await download.value).path()).read_text())
        assert [fact["content"] for fact in exported["facts"]] == ["Likes coffee."]
        await tab.press("Delete: Likes coffee.", sure=True)
        await expect(tab.box).to_contain_text("No facts yet.")


async def test_group_memory_is_separate(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/memory") as tab:
        group = {"scope": "group:telegram:-100"}
        await service.http.post("/api/memory/facts", params=group, json={"content": "Meets on Monday."})
        await expect(tab.box).to_contain_text("No facts yet.")
        await tab.box.get_by_label("Owner").fill(group["scope"])
        await tab.press("Show")
        await tab.row("Meets on Monday.", "manual")
        await tab.press("Delete all", sure=True)
        await expect(tab.said).to_have_text("The memory is empty.")
        found = (await service.http.get("/api/memory", params=group)).json()
        assert found["facts"] == []


@pytest.mark.parametrize(
    ("wrong", "right_form"),
    [("nonsense", "group:ACCOUNT:CHAT"), ("person:telegram:1001", "person:ACCOUNT:PLATFORM:ID")],
)
async def test_an_invalid_memory_owner_can_be_corrected(
    browser: Browser, tmp_path: Path, wrong: str, right_form: str
) -> None:
    address = f"/#/memory?scope={wrong}"
    async with world(tmp_path) as service, opened(browser, service, address, viewport=PHONE) as tab:
        person = {"scope": "person:telegram:telegram:1001"}
        await service.http.post("/api/memory/facts", params=person, json={"content": "Likes tea."})
        await expect(tab.box.get_by_role("alert")).to_contain_text(right_form)
        await expect(tab.box.get_by_role("button", name="Delete all")).to_have_count(0)
        whose = tab.box.get_by_label("Owner")
        await expect(whose).to_have_value(wrong)
        await expect(tab.box.locator("small")).to_contain_text("person:ACCOUNT:PLATFORM:ID")
        inside = "hint => hint.getBoundingClientRect().right <= innerWidth && hint.clientHeight > 0"
        assert await tab.box.locator("small").evaluate(inside)
        assert await tab.fits()
        await whose.fill(person["scope"])
        await tab.press("Show")
        await tab.row("Likes tea.", "manual")
        await expect(tab.box.get_by_role("alert")).to_have_count(0)


async def test_a_rejected_memory_owner_shows_an_error(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        tab.refused = (503,)
        away = {"status": 503, "json": {"detail": "away"}}
        await tab.page.route("**/api/memory*scope=group**", lambda route: route.fulfill(**away))
        await tab.page.goto(f"{service.url}/#/memory?scope=group:telegram:-100")
        await expect(tab.box.get_by_role("alert")).to_contain_text("away")
        await tab.box.get_by_label("Owner").fill("")
        await tab.press("Show")
        await expect(tab.box).to_contain_text("person:web:web:owner")
