"""Signing in to the web console with a link from the chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import Tab, opened
from tests.contract.store.inbound_messages import BEN
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TOKEN = "a-long-secret-token"
NAMES = ["Schedules", "Conversations", "Turns", "Usage", "Memory", "Privacy", "Models"]


async def said(tab: Tab, text: str) -> int:
    """Send a message in a new conversation and return its id."""
    await expect(tab.page.locator("#no-conversations")).to_be_visible()
    await tab.send(text)
    await tab.answer()
    return int(tab.page.url.partition("?c=")[2])


async def section_names(tab: Tab) -> list[str]:
    await tab.page.locator("#manage summary").click()
    return await tab.page.locator("#sections a").all_inner_texts()


async def test_members_see_their_own_and_admins_everything_with_audit(
    browser: Browser, tmp_path: Path
) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        await give(service, "telegram:8", "admin")
        link = f"/#code={await code_for(service)}"
        async with opened(browser, service, link) as ann:
            await expect(ann.page.locator("#current-user")).to_have_text("Ann · member")
            assert ann.page.url == f"{service.url}/"
            assert "code" not in await ann.page.evaluate("JSON.stringify([location.href, document.referrer])")
            conversation = await said(ann, "between us")
            assert await section_names(ann) == NAMES
            await expect(ann.page.locator("#accounts")).to_have_count(0)
            async with opened(browser, service, f"/#code={await code_for(service, BEN)}") as ben:
                await expect(ben.page.locator("#current-user")).to_have_text("Ben · admin")
                await said(ben, "my own")
                assert {"People", "Audit log", "Accounts", *NAMES} < set(await section_names(ben))
                await ben.page.goto(f"{service.url}/#/conversations/{conversation}")
                await expect(ben.box).to_contain_text("between us")
                await expect(ben.box).to_contain_text("telegram:7")
                await expect(ben.box.get_by_role("button", name="Regenerate")).to_have_count(1)
                await ben.page.goto(f"{service.url}/#/audit")
                await ben.row("Ben (telegram:8)", "read", f"conversation {conversation}")
            await ann.page.goto(f"{service.url}/#/conversations")
            await ann.row("between us", "telegram:7")
            await expect(ann.box.locator("tbody tr")).to_have_count(1)
            await expect(ann.page.locator("#conversations .conversation")).to_have_text(["between us"])
            for name in NAMES:
                await ann.page.goto(f"{service.url}/#/{name.lower()}")
                await expect(ann.page.locator("#section-title")).to_have_text(name)
                await expect(ann.box).not_to_contain_text("Loading…")
                await expect(ann.page.locator("#section-problem")).to_be_hidden()
            await ann.page.goto(f"{service.url}/#/people")
            await expect(ann.page.locator("#chat")).to_be_visible()
            await ann.page.click("#sign-out")
            await expect(ann.page.locator("#sign-in")).to_be_visible()


async def test_a_link_works_once_and_a_revoked_role_signs_out(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        link = f"/#code={await code_for(service)}"
        async with opened(browser, service, link) as ann:
            await expect(ann.page.locator("#current-user")).to_have_text("Ann · member")
            async with opened(browser, service, link) as thief:
                thief.refused = (401,)
                await expect(thief.page.locator("#problem")).to_contain_text(
                    "has expired or was already used"
                )
                assert thief.page.url == f"{service.url}/"
                await expect(thief.page.locator("#sign-in")).to_be_visible()
            ann.refused = (401,)
            await expect(ann.page.locator("#no-conversations")).to_be_visible()
            await give(service, "telegram:7", "blocked")
            await ann.send("hello?")
            await expect(ann.page.locator("#sign-in")).to_be_visible()


async def test_signing_in_as_someone_else_asks_first(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        async with opened(browser, service) as tab:
            await expect(tab.page.locator("#current-user")).to_have_text("owner")
            await expect(tab.page.locator("#no-conversations")).to_be_visible()
            for answer, who in (("Cancel", "owner"), ("Sign in", "Ann · member")):
                code = await code_for(service)
                await tab.page.evaluate(f"location.hash = 'code={code}'")
                await expect(tab.dialog).to_contain_text("You are signed in as owner")
                assert code not in tab.page.url
                await tab.dialog.get_by_role("button", name=answer).click()
                await expect(tab.page.locator("#current-user")).to_have_text(who)
            tab.refused = (401,)
            await give(service, "telegram:7", "blocked")
            await tab.page.reload()
            await expect(tab.page.locator("#sign-in")).to_contain_text("roebot link")
            await tab.page.fill("#token", service.token)
            await tab.page.get_by_role("button", name="Sign in").click()
            await expect(tab.page.locator("#current-user")).to_have_text("owner")
