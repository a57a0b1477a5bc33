"""Signing in to the console with a link from the chat, or with the token."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import CHAT, CONSOLE, DONE, Tab, opened
from tests.contract.store.inbound_messages import BEN
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TOKEN = "a-long-secret-token"


def at(code: str) -> str:
    return f"{CONSOLE}#code={code}"


async def is_signed_in(tab: Tab, name: str) -> None:
    await expect(tab.page.locator("#account")).to_contain_text(name)


async def said(tab: Tab, text: str) -> int:
    """Send a message in a new conversation and return its id."""
    await tab.page.click("#new")
    await expect(tab.page.locator("#welcome")).to_be_visible()
    await tab.send(text)
    await tab.answer()
    return int(tab.page.url.partition("?c=")[2])


async def test_members_and_admins_open_their_pages_and_chats(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        await give(service, "telegram:8", "admin")
        async with opened(browser, service, at(await code_for(service))) as ann:
            await is_signed_in(ann, "Ann")
            assert ann.page.url == f"{service.url}{CONSOLE}"
            assert "code" not in await ann.page.evaluate("JSON.stringify([location.href, document.referrer])")
            conversation = await said(ann, "between us")
            await expect(ann.page.locator("#conversations .conversation")).to_have_text(["between us"])
            async with opened(browser, service, at(await code_for(service, BEN))) as ben:
                await is_signed_in(ben, "Ben")
                await said(ben, "my own")
                await expect(ben.page.locator("#conversations .conversation")).to_have_text(["my own"])
                await ben.page.goto(f"{service.url}{CONSOLE}?c={conversation}")
                await expect(ben.page.locator(".bubble")).to_have_text("between us")
                await expect(ben.page.locator(".read-only")).to_be_visible()
                await expect(ben.page.locator("#text")).to_have_count(0)
            await ann.page.goto(f"{service.url}{CONSOLE}#/people")
            await expect(ann.page.locator("#section-title")).to_have_text("Page not found")
            await ann.page.click("#account")
            await ann.page.get_by_role("menuitem", name="Sign out").click()
            await expect(ann.page.locator("#sign-in")).to_be_visible()


async def test_a_link_works_once_and_a_revoked_role_signs_out(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        link = at(await code_for(service))
        async with opened(browser, service, link) as ann:
            await is_signed_in(ann, "Ann")
            async with opened(browser, service, link, refused=(401,)) as thief:
                await expect(thief.page.locator("#problem")).to_contain_text(
                    "has expired or was already used"
                )
                assert thief.page.url == f"{service.url}{CONSOLE}"
                await expect(thief.page.locator("#sign-in")).to_be_visible()
            ann.refused = (401,)
            await expect(ann.page.locator("#no-conversations")).to_be_visible()
            await give(service, "telegram:7", "blocked")
            await ann.send("hello?")
            await expect(ann.page.locator("#sign-in")).to_be_visible()


async def test_signing_in_as_someone_else_asks_first(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        async with opened(browser, service, CHAT) as tab:
            await is_signed_in(tab, "Owner")
            await expect(tab.page.locator("#no-conversations")).to_be_visible()
            for answer, who in (("Cancel", "Owner"), ("Sign in", "Ann")):
                code = await code_for(service)
                await tab.page.evaluate(f"location.hash = 'code={code}'")
                await expect(tab.dialog).to_contain_text("You are signed in as Owner")
                assert code not in tab.page.url
                await tab.dialog.get_by_role("button", name=answer).click()
                await is_signed_in(tab, who)


async def test_signing_in_with_the_token(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(service.url + CONSOLE)
        await page.fill("#token", "wrong")
        await page.keyboard.press("Enter")
        await expect(page.locator("#problem")).to_have_text("Wrong token. roebot token prints the right one.")
        await page.fill("#token", TOKEN)
        await page.keyboard.press("Enter")
        await page.click("#new")
        await page.fill("#text", "hello")
        await page.keyboard.press("Enter")
        await expect(page.locator(f"{DONE} .answer")).to_have_text("hello")
        await context.close()
