"""Erasing a person's data in the web console: the confirmation, the wait, the report and failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from bot.features.backup.copies import record_backup
from tests.browser.axe import serious
from tests.browser.furniture import LOOKS
from tests.browser.tab import PHONE, Tab, opened
from tests.platforms.web.people import CHATS, code_for, give, signed_in
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TWO_ACCOUNTS = """
channels:
  tg: {platform: telegram, enabled: false, bot_token: "1:x", access: {admins: ["telegram:7"]}}
  far: {platform: telegram, enabled: false, bot_token: "2:x"}
"""
"""Ann is an admin of `tg` alone, so that other people's data is out of her reach."""


async def writes(service: World, text: str) -> None:
    """Let Ann (telegram:7), a member, write in the console and get an answer."""
    async with signed_in(service) as ann:
        conversation = (await ann.post("/api/conversations", json={})).json()["id"]
        posted = await ann.post(f"/api/conversations/{conversation}/messages", json={"text": text})
        await service.turn(posted.json()["turn"])


async def stored(service: World) -> list[str]:
    """Return the texts of Ann's messages that are stored."""
    found = (await service.http.get("/api/people/telegram:7/data")).json()
    return [one["text"] for one in found["messages"]]


def confirm_button(tab: Tab) -> Locator:
    return tab.dialog.get_by_role("button", name="Erase data", exact=True)


async def confirm(tab: Tab, person: str) -> None:
    await tab.dialog.get_by_label("To confirm").fill(person)
    await confirm_button(tab).click()


def backup(service: World) -> str:
    """Record a backup that exists, and return its path."""
    archive = service.home / "backups-of-the-team" / "roebot-2026-03-01.tar.gz"
    archive.parent.mkdir()
    archive.write_text("")
    record_backup(service.home, archive, 5.0)
    return str(archive)


@pytest.mark.parametrize("look", LOOKS)
async def test_an_owner_erases_a_person_and_sees_the_report(
    browser: Browser, tmp_path: Path, look: str
) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        archive = backup(service)
        async with opened(browser, service, "/#/people", **options) as tab:
            await tab.press("Erase data…: telegram:7")
            for sentence in (
                "This can't be undone.",
                "The agent starts over there",
                "Backups are not changed",
            ):
                await expect(tab.dialog).to_contain_text(sentence)
            await expect(confirm_button(tab)).to_be_disabled()
            await tab.dialog.get_by_label("To confirm").fill("telegram:8")
            await expect(confirm_button(tab)).to_be_disabled()
            await tab.page.keyboard.press("Enter")
            assert await serious(tab.page) == []
            assert "my secret" in await stored(service)
            await confirm(tab, " telegram:7 ")
            await expect(tab.dialog.get_by_role("heading")).to_have_text("Data erased: telegram:7.")
            await expect(tab.dialog.get_by_role("row", name="Messages and their answers")).to_be_visible()
            await expect(tab.dialog).to_contain_text(archive)
            assert await serious(tab.page) == []
            assert await tab.fits()
            assert "my secret" not in await stored(service)
            await tab.dialog.get_by_role("button", name="Close").click()
            await expect(tab.said).to_have_text("Data erased: telegram:7.")
            await tab.page.goto(f"{service.url}/#/privacy?person=telegram:7")
            await tab.row("Messages and their answers")
            await expect(tab.box).to_contain_text("Finished")
            await expect(tab.box).to_contain_text(archive)
            assert await tab.fits()


async def test_members_erase_their_own_data_and_are_signed_out(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        archive = backup(service)
        link = f"/#code={await code_for(service)}"
        async with opened(browser, service, link, viewport=PHONE) as ann:
            await expect(ann.page.locator("#current-user")).to_have_text("Ann · member")
            await ann.page.goto(f"{service.url}/#/privacy")
            await expect(ann.box).to_contain_text("Your data (telegram:7)")
            await expect(ann.box).to_contain_text("No erasure has been requested.")
            await expect(ann.box.get_by_label("Person")).to_have_count(0)
            await ann.press("Erase data…")
            await expect(ann.dialog).to_contain_text("You are signed out of the web console.")
            # The session ends with the erasure, but the report stays until it is closed.
            ann.refused = (401,)
            await confirm(ann, "telegram:7")
            await expect(ann.dialog.get_by_role("heading")).to_have_text("Data erased: telegram:7.")
            await expect(ann.dialog.get_by_role("listitem")).to_have_text([Path(archive).name])
            await ann.page.evaluate("fetch('/api/conversations')")
            await expect(ann.dialog).to_be_visible()
            await ann.dialog.get_by_role("button", name="Sign in again").click()
            await expect(ann.page.locator("#sign-in")).to_be_visible()
            assert "my secret" not in await stored(service)


async def test_an_erasure_in_progress_can_be_left_and_a_lost_request_repeated(
    browser: Browser, tmp_path: Path
) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        requests, let_go = list[str](), asyncio.Event()

        async def hold(route: Route) -> None:
            """Lose the first request, and delay the second one."""
            requests.append(route.request.method)
            if requests.count("DELETE") == 1 and route.request.method == "DELETE":
                await route.abort()
                return
            if route.request.method == "DELETE":
                await let_go.wait()
            await route.continue_()

        async with opened(browser, service, "/#/privacy?person=telegram:7") as tab:
            await tab.page.route("**/api/people/**", hold)
            await tab.press("Erase data…")
            await confirm(tab, "telegram:7")
            alert = tab.dialog.get_by_role("alert")
            await expect(alert).to_contain_text("Can't reach the service. If the request arrived,")
            assert "my secret" in await stored(service)
            await confirm(tab, "telegram:7")
            await expect(tab.dialog.get_by_role("progressbar")).to_be_visible()
            await expect(tab.dialog).to_contain_text("You can close this dialog: the erasure continues")
            await tab.dialog.get_by_role("button", name="Close").click()
            let_go.set()
            await expect(tab.said).to_have_text("Data erased: telegram:7.")
            await tab.row("Messages and their answers")
            assert "my secret" not in await stored(service)
            [lost] = tab.bad
            assert "net::ERR_FAILED" in lost
            tab.bad.clear()


async def test_an_unfinished_erasure_says_what_is_left(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        service.runtime.should_exit = True
        async with opened(browser, service, "/#/privacy?person=telegram:7") as tab:
            tab.refused = (502, 503, 504)
            await tab.press("Erase data…")
            await confirm(tab, "telegram:7")
            heading = tab.dialog.get_by_role("heading")
            await expect(heading).to_have_text("Erasure not finished yet: telegram:7.", timeout=60_000)
            await expect(tab.dialog).to_contain_text("The agent runtime is busy or not responding.")
            await tab.dialog.get_by_role("button", name="Close").click()
            await expect(tab.box.locator(".badge")).to_have_text("in progress")
            await expect(tab.box).to_contain_text("The service continues by itself")


async def test_who_may_not_erase_is_told_whom_to_ask(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=TWO_ACCOUNTS) as service:
        await give(service, "tg:30", "member")
        async with opened(browser, service, f"/#code={await code_for(service)}") as ann:
            ann.refused = (403,)
            await expect(ann.page.locator("#current-user")).to_have_text("Ann · admin")
            await ann.page.goto(f"{service.url}/#/people")
            await ann.row("tg:30", "member")
            await expect(ann.box.get_by_role("button", name="Revoke: tg:30")).to_be_visible()
            await expect(ann.box.get_by_role("button", name="Erase data…: tg:30")).to_have_count(0)
            await ann.page.goto(f"{service.url}/#/privacy")
            await ann.box.get_by_label("Person").fill("telegram:30")
            await ann.press("Show")
            await expect(ann.box.get_by_role("alert")).to_contain_text(
                "Ask an owner, or an admin of every account on this platform."
            )
            await expect(ann.box.get_by_role("button", name="Erase data…")).to_have_count(0)
