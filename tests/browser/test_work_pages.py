"""Work in the web console: overview, activity with traces, conversations, schedules and their calendar."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from bot.domain import ProgressState, ToolStep
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from tests.browser.axe import serious
from tests.browser.furniture import ATTACK, LOOKS, furnish
from tests.browser.tab import CONSOLE, PHONE, Tab, opened
from tests.contract.store.inbound_messages import ANN
from tests.platforms.web.people import CHATS, knock
from tests.platforms.web.serving import MODELS, World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
START = f"{CONSOLE}#/"
WIDE = {"width": 1360, "height": 900}
SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
PAGES = {
    "overview": "Overview",
    "turns": "Activity",
    "turns/1": "Activity",
    "conversations": "Conversations",
    "conversations/1": "Conversations",
    "schedules": "Schedules",
    "schedules/1": "Schedules",
    "schedules/calendar": "Schedules",
    "people": "People",
    "people/telegram%3A7": "People",
    "memory": "Memory",
    "privacy": "Privacy",
    "usage": "Usage",
    "audit": "Audit log",
}


async def stored(service: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await service.http.get("/api/schedules")).json()["schedules"]
    return found


async def made(service: World, **more: Any) -> dict[str, Any]:
    body = {"conversation": await service.open(), "when": "daily 9:00", "text": "what is new?", "zone": "UTC"}
    answer = await service.http.post("/api/schedules", json={**body, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def menu(tab: Tab, item: str) -> None:
    """Choose an item of the menu of the details."""
    await tab.page.locator(".panel-head").get_by_role("button", name="More").click()
    await tab.page.get_by_role("menuitem", name=item, exact=True).click()


async def choose(tab: Tab, label: str, typed: str, option: str) -> None:
    """Type into a combobox of the dialog, and choose the option with this text."""
    field = tab.dialog.get_by_role("combobox", name=label)
    await field.fill(typed)
    await tab.page.get_by_role("option", name=option).first.click()


@pytest.mark.parametrize("look", LOOKS)
async def test_every_page_opens_accessibly_and_fits(browser: Browser, tmp_path: Path, look: str) -> None:
    async with world(tmp_path, extra=MODELS) as service:
        await furnish(service)
        async with opened(browser, service, CONSOLE, **LOOKS[look]) as tab:
            for name, title in PAGES.items():
                await tab.page.goto("about:blank")
                await tab.page.goto(f"{service.url}{START}{name}")
                await expect(tab.page.get_by_role("heading", level=1)).to_have_text(title)
                await expect(tab.page.locator("#content")).not_to_contain_text("Loading…")
                await expect(tab.page.get_by_role("alert")).to_have_count(0)
                assert await tab.fits(), name
                assert await serious(tab.page) == [], name
            assert await tab.page.evaluate("window.hit") is None


@SIZES
async def test_the_overview_offers_what_needs_somebody(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with world(tmp_path, graph="approving", extra=CHATS) as service:
        conversation = await service.open()
        await service.say(conversation, "clean up")
        await knock(service, "tg", ANN, "SECR-ETSS")
        async with opened(browser, service, CONSOLE, viewport=size) as tab:
            await expect(tab.page).to_have_url(re.compile("#/overview$"))
            approvals = tab.page.get_by_role("list", name="Approvals waiting")
            await expect(tab.page.locator(".figure").first).to_contain_text("Approval waiting")
            await expect(approvals).to_contain_text("Approval needed")
            await approvals.get_by_role("button", name="Reject").click()
            decided = approvals.get_by_role("listitem")
            # No count is left in the heading, no note below the choice.
            shown = re.compile(r"^\s*Approvals waiting\s+[^\d\s].*chose “Reject”\.\s*Details\s*$", re.DOTALL)
            await expect(tab.page.locator("section").filter(has=approvals)).to_have_text(shown)
            await expect(decided).to_be_focused()
            await expect(decided.get_by_role("button")).to_have_count(0)
            await expect(approvals).to_have_count(0, timeout=10_000)
            await tab.page.get_by_role("button", name="Approve: Ann").click()
            await expect(tab.page.get_by_text("Access requests", exact=False)).to_have_count(0)
            await expect(tab.page.locator(".calm")).to_have_text("Nothing needs your attention")
            given = (await service.http.get("/api/access")).json()["given"]
            assert [(one["entry"], one["role"]) for one in given] == [("tg:7", "member")]
            assert await tab.fits()


async def test_a_run_in_another_chat_is_stopped(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open("terminal", "tty")
        turn = (await service.say(conversation, "[tokens=5000] count"))["turn"]
        async with opened(browser, service, f"{START}overview") as tab:
            await tab.page.get_by_role("button", name="Stop: [tokens=5000] count").click()
            assert (await service.turn(turn))["state"] == "cancelled"
            await expect(tab.page.locator("#content")).to_contain_text("Nothing is running.")


@SIZES
async def test_the_cause_of_a_failure_is_found(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with world(tmp_path) as service:
        one, other = await service.open(), await service.open()
        await service.turn((await service.say(one, "all is well"))["turn"])
        bad = await service.turn((await service.say(other, "[fail=overloaded] hello"))["turn"])
        async with opened(browser, service, f"{START}turns", viewport=size) as tab:
            rows = tab.page.get_by_role("table", name="Activity").get_by_role("rowheader")
            await expect(rows).to_have_count(2)
            await tab.page.get_by_role("link", name="Failed", exact=True).click()
            await expect(rows).to_have_count(1)
            await rows.get_by_role("link").press("Enter")
            await expect(tab.page).to_have_url(re.compile(rf"#/turns/{bad['id']}\?state=failed$"))
            panel = tab.page.locator(".panel")
            await expect(panel.locator(".banner.bad")).to_contain_text("failed")
            await expect(panel.locator(".trace details.failed").first).to_be_visible()
            assert await tab.fits()
            assert await serious(tab.page) == []
            await panel.get_by_role("button", name="Regenerate").click()
            await tab.dialog.locator(".primary").click()
            await expect(tab.page.locator(".toast")).to_contain_text("Regenerating the answer…")
            await tab.page.locator("#panel-title").focus()
            await tab.page.keyboard.press("Escape")
            await expect(panel).to_have_count(0)
            await expect(rows.filter(has_text="hello")).to_have_count(2, timeout=20_000)
            await tab.page.get_by_role("searchbox").fill("all is")
            await expect(tab.page.locator("#content")).to_contain_text("No matches")
            await tab.page.get_by_role("link", name="Clear filters").click()
            await expect(rows.filter(has_text="all is well")).to_have_count(1)


async def test_a_trace_shows_tool_calls_and_tokens(browser: Browser, tmp_path: Path) -> None:
    steps = (
        ToolStep("read_file", "path: /a", ProgressState.DONE, "<b>figures</b>", 1.5),
        ToolStep("bash", "command: make", ProgressState.FAILED, "no such target"),
    )
    async with world(tmp_path) as service:
        conversation = await service.open()
        turn = (await service.turn((await service.say(conversation, "hello **there**"))["turn"]))["id"]
        now, spent = service.service.clock.now(), TurnUsage("web:owner", 100, 20, 120)
        await service.service.db.transact(save_turn, turn, [], now, steps=steps, spent=spent)
        async with opened(browser, service, f"{START}turns/{turn}", viewport=PHONE) as tab:
            trace = tab.page.locator(".trace")
            await trace.get_by_text("read_file").click()
            await expect(trace).to_contain_text("<b>figures</b>")
            await expect(trace.locator("details.main")).to_contain_text("no such target")
            await expect(tab.page.locator(".facts.tight").first).to_contain_text("100 in, 20 out")
            await expect(tab.page.locator("roe-markdown strong")).to_have_text("there")
            assert await tab.fits()


async def test_turns_are_paginated(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for number in range(51):
            await service.turn((await service.say(conversation, f"/status {number}"))["turn"])
        async with opened(browser, service, f"{START}turns") as tab:
            rows = tab.page.get_by_role("table", name="Activity").locator("tbody tr")
            await expect(rows).to_have_count(50)
            await tab.page.get_by_role("button", name="Show more").click()
            await expect(rows).to_have_count(51)
            await expect(tab.page.get_by_role("button", name="Show more")).to_have_count(0)
            # Beside the details, the rows alone scroll.
            await tab.page.set_viewport_size(WIDE)
            await rows.last.get_by_role("link").click()
            await expect(tab.page.locator(".panel h2")).to_contain_text("/status 0")
            await expect(rows.last).to_be_in_viewport(ratio=1)
            for part in (".tabs", ".filters"):
                await expect(tab.page.locator(part)).to_be_in_viewport(ratio=1)


async def test_a_conversation_is_followed_and_exported(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open("terminal", "tty")
        await service.turn((await service.say(conversation, "first"))["turn"])
        async with opened(browser, service, f"{START}conversations", viewport=WIDE) as tab:
            await tab.page.get_by_label("Account", exact=True).select_option("terminal")
            await tab.page.get_by_role("table").get_by_role("link").click()
            items = tab.page.get_by_role("list", name="Transcript").locator("> li")
            await expect(items).to_have_count(1)
            await service.say(conversation, "second\n\n```mermaid\nflowchart LR\n A --> B\n```")
            await expect(items).to_have_count(2)
            await expect(items.last).to_contain_text("second")
            await expect(items.last.locator(".drawing img")).to_be_visible()
            async with tab.page.expect_download() as download:
                await menu(tab, "Export as Markdown")
            assert "second" in Path(await (await download.value).path()).read_text()
            await tab.page.reload()
            await expect(tab.page.get_by_label("Account", exact=True)).to_have_value("terminal")


async def test_a_stop_by_button_is_no_message(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        turn = (await service.say(conversation, "[tokens=3000] count"))["turn"]
        async with opened(browser, service, f"{START}conversations/{conversation}", viewport=WIDE) as tab:
            items = tab.page.get_by_role("list", name="Transcript").locator("> li")
            await expect(items).to_contain_text(["count"])
            await tab.page.goto(f"{service.url}{START}turns/{turn}")
            await tab.page.get_by_role("button", name="Stop").click()
            await tab.page.goto(f"{service.url}{START}conversations/{conversation}")
            await expect(items).to_contain_text(["(stopped)", "Stopped"])
            await expect(tab.page.locator("#content")).not_to_contain_text("/stop")


@SIZES
async def test_a_schedule_is_created_after_a_preview(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with (
        world(tmp_path) as service,
        opened(browser, service, f"{START}schedules", viewport=size) as tab,
    ):
        tab.refused = (422,)
        await expect(tab.page.locator("#content")).to_contain_text("No schedules yet.")
        await tab.page.get_by_role("button", name="New schedule").click()
        await tab.dialog.get_by_role("combobox", name="Chat").click()
        await tab.page.get_by_role("option", name="New chat in the web console").click()
        await tab.dialog.get_by_label("Text").fill("what is new?")
        await tab.dialog.get_by_label("When").fill("every 7 minutes")
        await expect(tab.dialog.get_by_role("alert")).to_contain_text("don't divide an hour evenly")
        await choose(tab, "Time zone", "tokyo", "Asia/Tokyo")
        await tab.dialog.get_by_label("When").fill("weekdays 9:00")
        await tab.dialog.get_by_label("When").press("Enter")
        await expect(tab.dialog.locator(".preview li")).to_have_count(5)
        await expect(tab.dialog.locator(".preview li").first).to_contain_text("9:00")
        assert await stored(service) == []
        assert await serious(tab.page) == []
        assert await tab.fits()
        await tab.dialog.get_by_role("button", name="Save").click()
        await expect(tab.dialog).to_have_count(0)
        await expect(tab.page.get_by_role("table")).to_contain_text("weekdays 9:00 Asia/Tokyo")
        [one] = await stored(service)
        assert (one["rule"], one["zone"], one["kind"]) == ("0 9 * * 1-5", "Asia/Tokyo", "prompt")


async def test_a_schedule_is_moved_paused_run_and_deleted(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service)
        async with opened(browser, service, f"{START}schedules/{one['id']}", viewport=WIDE) as tab:
            panel = tab.page.locator(".panel")
            await panel.get_by_role("button", name="Edit").click()
            await expect(tab.dialog.locator(".preview li")).to_have_count(5)
            await tab.dialog.get_by_label("When").fill("daily 10:00")
            await expect(tab.dialog.locator(".preview li").first).to_contain_text("10:00")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(panel.locator(".next-runs li").first).to_contain_text("10:00")
            await menu(tab, "Pause")
            await expect(panel.locator(".badge")).to_have_text("Paused")
            await menu(tab, "Resume")
            await expect(panel.locator(".badge")).to_have_count(0)
            await menu(tab, "Run now")
            await tab.dialog.locator(".primary").click()
            await expect(tab.page.locator(".toast").last).to_have_text("Run started.")
            runs: list[dict[str, Any]] = []
            while not runs or not runs[0]["delivered"]:
                runs = (await service.http.get(f"/api/schedules/{one['id']}/runs")).json()["runs"]
            await tab.page.reload()
            await expect(panel.get_by_role("list", name="Past runs")).to_contain_text("Delivered")
            await menu(tab, "Delete")
            await tab.dialog.locator(".primary").click()
            await expect(tab.page.locator("#content")).to_contain_text("No schedules yet.")
            assert await stored(service) == []


async def test_the_calendar_shows_runs_in_the_zone_of_the_viewer(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await made(service, when="daily 23:00", text=ATTACK)
        await made(service, when="every 6 hours", text="often")
        now = datetime.now()
        later = f"{now.year + (now.month >= 11)}-{(now.month + 1) % 12 + 1:02}"
        path = f"{START}schedules/calendar?month={later}"
        async with opened(browser, service, path, timezone_id="Asia/Tokyo", viewport=WIDE) as tab:
            first = tab.page.locator(".cal-day:not(.away)").first
            await expect(first).to_contain_text("08:00")
            await expect(first.locator("summary")).to_have_text("2 more")
            await first.locator("summary").click()
            await expect(first.get_by_role("link")).to_have_count(5)
            await tab.page.get_by_role("link", name="Week", exact=True).click()
            await expect(tab.page.locator(".cal-day")).to_have_count(7)
            await tab.page.get_by_role("link", name="Today").click()
            await expect(tab.page.locator(".cal-day.today")).to_have_count(1)
            await tab.page.get_by_role("link", name="Next", exact=True).click()
            await expect(tab.page.locator(".cal-day.today")).to_have_count(0)
            await tab.page.get_by_role("link", name="often").first.click()
            await expect(tab.page.locator("#panel-title")).to_contain_text("often")
            assert await tab.page.evaluate("window.hit") is None
