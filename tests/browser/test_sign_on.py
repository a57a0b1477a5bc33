"""Sign-on at a provider of another site, in a real browser: its cookies must survive the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.component.server.test_sign_on import CALLBACK, oidc
from tests.harness.openid_provider import openid_provider
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


async def test_the_button_leads_to_the_console(browser: Browser, tmp_path: Path) -> None:
    async with openid_provider() as provider:
        # Another site than 127.0.0.1.
        provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
        async with world(tmp_path, server=oidc(provider)) as service:
            service.service.core.address = service.url
            provider.redirect_uri = f"{service.url}{CALLBACK}"
            page = await (await browser.new_context(locale="en-GB")).new_page()
            problems: list[str] = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            await page.goto(service.url)
            await page.get_by_role("link", name="Sign in with single sign-on").click()
            await expect(page.locator("#app")).to_have_attribute("data-role", "member")
            who = await page.evaluate("fetch('/api/session').then(answer => answer.json())")
            assert who["person"] == "oidc:u1"
            provider.answer |= {"error": "access_denied", "error_description": "not today"}
            await page.context.clear_cookies()
            await page.goto(service.url)
            await page.screenshot(path="/tmp/signin.png")
            await page.get_by_role("link", name="Sign in with single sign-on").click()
            await expect(page.get_by_text("access_denied: not today")).to_be_visible()
            await page.screenshot(path="/tmp/refused.png")
            await page.get_by_role("link", name="Back to the sign-in page").click()
            await expect(page.get_by_role("link", name="Sign in with single sign-on")).to_be_visible()
            assert problems == []
