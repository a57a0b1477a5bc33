"""Questions and approvals are answered by buttons in the chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import serious
from tests.browser.tab import CHAT, CONSOLE, DONE, PHONE, opened
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
AT_END = """(({scrollHeight, scrollTop, clientHeight}) => scrollHeight - scrollTop - clientHeight < 5)(
    document.querySelector("#scroll"))"""
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}


@pytest.mark.parametrize("look", LOOKS)
async def test_an_approval_is_answered_by_a_button(browser: Browser, tmp_path: Path, look: str) -> None:
    async with (
        world(tmp_path, graph="approving") as service,
        opened(browser, service, CHAT, **LOOKS[look]) as tab,
    ):
        await tab.send("clean up")
        card = tab.page.locator(".asks.approval")
        group = card.get_by_role("group", name="Choices")
        await expect(group.get_by_role("button")).to_have_text(
            ["Approve", "Approve here", "Always approve", "Reject"]
        )
        await expect(card.locator(".asks-head")).to_have_text("Approval needed: delete")
        await expect(card.locator(".danger")).to_have_text("Reject")
        await expect(card).to_contain_text("Waits for you or an admin. Expires ")
        await expect(card).to_contain_text("“Approve here” also allows the tool for your own requests")
        await expect(card.locator("pre")).to_have_text("path: clean up")
        await expect(card).not_to_contain_text("/approve")
        assert await tab.fits()
        assert await serious(tab.page) == []
        await group.get_by_role("button", name="Reject", exact=True).click()
        await expect(group).to_have_count(0)
        await expect(tab.page.locator(f"{DONE} .answer").first).to_contain_text("✗ Rejected by the owner")
        await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("Decided: reject.")
        await expect(tab.page.locator("#scroll")).to_be_focused()


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_who_may_not_decide_is_told_who_may(browser: Browser, tmp_path: Path, language: str) -> None:
    sentence = {
        "en": "Waits for an admin other than you. Expires ",
        "zh": "等待审批，以下任意一人可以处理：管理员（你除外）。有效期至 ",
    }
    look = {"viewport": PHONE, "locale": {"en": "en-GB", "zh": "zh-CN"}[language]}
    rules = f"{CHATS}approvals: {{by: others}}\n"
    async with world(tmp_path, graph="approving", extra=rules) as service:
        await give(service, "telegram:7", "member")
        link = f"{CONSOLE}#code={await code_for(service)}"
        async with opened(browser, service, link, **look) as tab:
            await expect(tab.page.locator("#text")).to_be_visible()
            await tab.send("clean up")
            card = tab.page.locator(".asks.approval")
            await expect(card).to_contain_text(sentence[language])
            await expect(card.locator(".choices button")).to_have_count(0)
            assert await tab.fits()
            assert await serious(tab.page) == []
            # The first turn is the command that made the link.
            for place in ("overview", "turns/2"):
                await tab.page.goto("about:blank")
                await tab.page.goto(f"{service.url}{CONSOLE}#/{place}")
                await expect(tab.page.locator(".request-text")).to_contain_text("path: clean up")
                await expect(tab.page.locator("#content")).to_contain_text(sentence[language])
                await expect(tab.page.get_by_role("button", name="approve")).to_have_count(0)
                assert await tab.fits(), place
                assert await serious(tab.page) == [], place


async def test_choices_work_by_keyboard_and_update_both_tabs(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="interrupting") as service, opened(browser, service, CHAT) as tab:
        await tab.send("a colour")
        blue = tab.page.get_by_role("button", name="blue", exact=True)
        await expect(blue).to_be_visible()
        async with opened(browser, service, tab.page.url.removeprefix(service.url)) as second:
            other = second.page.get_by_role("button", name="red", exact=True)
            await expect(other).to_be_visible()
            await blue.focus()
            await tab.page.keyboard.press("Enter")
            await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("You chose blue.")
            await expect(other).to_have_count(0)
            await expect(second.page.locator(f"{DONE} .answer").first).to_contain_text(
                "✓ blue (answered by the owner)"
            )


async def test_what_comes_of_a_choice_is_followed(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="interrupting") as service, opened(browser, service, CHAT) as tab:
        await tab.send("a colour\n\n" * 40)
        blue = tab.page.get_by_role("button", name="blue", exact=True)
        await expect(blue).to_be_visible()
        await tab.page.locator("#scroll").hover()
        await tab.page.mouse.wheel(0, -500)
        await expect(tab.page.locator("#down")).to_be_visible()
        # Without scrolling to the button, as where it is one of many.
        await blue.evaluate("one => one.click()")
        await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("You chose blue.")
        await tab.page.wait_for_function(AT_END)
        await expect(tab.page.locator("#suggest")).to_be_in_viewport(ratio=1)


async def test_a_late_click_shows_an_error(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="interrupting") as service, opened(browser, service, CHAT) as tab:
        tab.refused = (409,)
        await tab.send("a colour")
        red = tab.page.get_by_role("button", name="red", exact=True)
        await expect(red).to_be_visible()
        late = {"detail": "This question is closed."}
        await tab.page.route("**/choice", lambda route: route.fulfill(status=409, json=late))
        await red.click()
        await expect(tab.page.locator(".turn > .problem")).to_have_text("This question is closed.")
        await expect(red).to_be_focused()
