"""Schedules in the web console: previewed, created, edited, run now, shown in a calendar."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import PHONE, Tab, opened
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


async def made(service: World, **more: Any) -> dict[str, Any]:
    body = {"conversation": await service.open(), "when": "daily 9:00", "text": "what is new?", "zone": "UTC"}
    answer = await service.http.post("/api/schedules", json={**body, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def fill(tab: Tab, **fields: str) -> None:
    """Fill the fields of the dialog by label."""
    for name, value in fields.items():
        await tab.dialog.get_by_label(name.replace("_", " "), exact=True).fill(value)


async def stored(service: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await service.http.get("/api/schedules")).json()["schedules"]
    return found


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])
async def test_a_schedule_is_created_after_a_preview(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/schedules", viewport=size) as tab:
        tab.refused = (422,)
        await expect(tab.box).to_contain_text("No schedules yet.")
        await tab.press("New schedule")
        await fill(tab, Text="what is new?", When="every 7 minutes", Time_zone="Asia/Tokyo")
        await tab.dialog.get_by_role("button", name="Preview the next five runs").click()
        await expect(tab.dialog.get_by_role("alert")).to_contain_text("don't divide an hour evenly")
        await fill(tab, When="weekdays 9:00")
        await tab.dialog.get_by_label("Time zone", exact=True).focus()
        await expect(tab.dialog.locator(".preview li")).to_have_count(5)
        await expect(tab.dialog.locator(".preview li").first).to_contain_text("9:00")
        assert await tab.fits()
        assert await stored(service) == []
        await tab.dialog.get_by_role("button", name="Save").click()
        await expect(tab.dialog).to_have_count(0)
        await expect(tab.said).to_have_text("Schedule saved.")
        await tab.row("what is new?", "weekdays 9:00 (Asia/Tokyo)", "active")
        [one] = await stored(service)
        assert (one["rule"], one["zone"], one["kind"]) == ("0 9 * * 1-5", "Asia/Tokyo", "prompt")


async def test_saving_needs_a_preview_of_the_runs(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/schedules") as tab:
        await tab.press("New schedule")
        await fill(tab, Text="tea", When="daily 16:00")
        await tab.dialog.get_by_label("Type").select_option("message")
        await tab.dialog.get_by_label("When", exact=True).press("Enter")
        await expect(tab.dialog.locator(".preview li")).to_have_count(5)
        assert await stored(service) == []
        await tab.dialog.get_by_role("button", name="Save").click()
        await tab.row("tea", "message")
        assert len(await stored(service)) == 1


async def test_a_schedule_is_edited_paused_resumed_and_deleted(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/schedules") as tab:
        one = await made(service)
        number = f"schedule {one['id']}"
        await tab.page.click("#refresh")
        await tab.press(f"Edit: {number}")
        await expect(tab.dialog.locator(".preview li")).to_have_count(5)
        await fill(tab, Text="what else?")
        await tab.dialog.get_by_role("button", name="Save").click()
        await tab.row("what else?", "daily 9:00 (UTC)")
        await tab.press(f"Pause: {number}")
        await expect(tab.said).to_have_text("Schedule paused.")
        await tab.row("what else?", "paused")
        await tab.press(f"Resume: {number}")
        await tab.row("what else?", "active")
        await tab.box.get_by_role("link", name="what else?").click()
        await expect(tab.box.locator("h2").first).to_have_text(f"Schedule {one['id']}")
        await expect(tab.box.locator(".steps li")).to_have_count(5)
        await tab.press(f"Delete: {number}")
        await tab.dialog.get_by_role("button", name="Cancel").click()
        assert len(await stored(service)) == 1
        await tab.press(f"Delete: {number}", sure=True)
        await expect(tab.box).to_contain_text("No schedules yet.")
        await expect(tab.said).to_have_text("Schedule deleted.")
        assert await stored(service) == []


async def test_a_schedule_is_run_now_and_shows_the_result(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service)
        async with opened(browser, service, f"/#/schedules/{one['id']}") as tab:
            await expect(tab.box).to_contain_text("No runs yet.")
            await tab.press(f"Run now: schedule {one['id']}", sure=True)
            await expect(tab.said).to_have_text("Run started.")
            runs: list[dict[str, Any]] = []
            while not runs or not runs[0]["delivered"]:
                runs = (await service.http.get(f"/api/schedules/{one['id']}/runs")).json()["runs"]
            await tab.page.click("#refresh")
            await tab.row("done", "yes", f"Turn {runs[0]['turn']}")
            await tab.box.get_by_role("link", name=f"Turn {runs[0]['turn']}").click()
            await expect(tab.box.locator(".turn-list")).to_contain_text("what is new?")


async def test_the_calendar_shows_a_month_of_runs(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await made(service, when="daily 9:00", text="every day")
        await made(service, when="every 6 hours", text="often")
        now = datetime.now()
        later = f"{now.year + (now.month == 12)}-{now.month % 12 + 1:02}"
        path = f"/#/schedules/calendar?month={later}"
        async with opened(browser, service, path, timezone_id="UTC") as tab:
            first = tab.box.locator(".calendar td:not(.away)").first
            await expect(first).to_contain_text("every day")
            await expect(first.locator("summary")).to_have_text("2 more")
            await first.locator("summary").click()
            await expect(first.locator("a")).to_have_count(5)
            await tab.box.get_by_role("link", name="Previous").click()
            await expect(tab.box.locator(".calendar .today")).to_have_count(1)
            await tab.page.go_back()
            await first.get_by_role("link", name="every day").click()
            await expect(tab.box.locator("h2").first).to_contain_text("Schedule")


async def test_runs_are_shown_in_the_time_zone_of_their_schedule(browser: Browser, tmp_path: Path) -> None:
    zone = "Pacific/Kiritimati"
    first = re.compile(rf"1:00\s?AM {zone}")
    async with world(tmp_path) as service:
        one = await made(service, when="0 1 1 * *", text="the first", zone=zone)
        now = datetime.now()
        later = f"{now.year + (now.month >= 11)}-{(now.month + 1) % 12 + 1:02}"
        async with opened(browser, service, "/#/schedules", timezone_id="America/New_York") as tab:
            due = tab.box.locator("tbody td").filter(has_text=first)
            await expect(due).to_have_count(1)
            await tab.press(f"Edit: schedule {one['id']}")
            await expect(tab.dialog.locator(".preview li").first).to_contain_text(first)
            await tab.page.keyboard.press("Escape")
            await tab.page.goto(f"{service.url}/#/schedules/calendar?month={later}")
            entry = tab.box.locator(".calendar a")
            await expect(entry).to_have_count(1)
            await expect(entry).to_contain_text(re.compile(rf"01:00\s?AM the first {zone}"))
            day = tab.box.locator(".calendar td", has=tab.page.locator("a")).locator(".day")
            await expect(day).to_have_text("1")
            await tab.page.goto(f"{service.url}/#/schedules/{one['id']}")
            await expect(tab.box.locator(".steps li").first).to_contain_text(zone)
