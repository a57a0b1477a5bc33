"""Ten tasks by the keyboard alone, and on a phone by taps alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pytest
from llmock.pytest_plugin import LLMock
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.tab import CONSOLE, DONE, PHONE, opened
from tests.contract.store.inbound_messages import ANN
from tests.platforms.web.people import CHATS, knock
from tests.platforms.web.serving import MODELS, World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
TARGET = 40
"""Smallest height of what is tapped (px)."""
HEIGHT = "one => (one.matches('.row-link') ? one.closest('tr') : one).getBoundingClientRect().height"
"""A row is tapped as a whole."""


class Hands(Protocol):
    """A way to use the page."""

    page: Page

    async def press(self, target: Locator) -> None:
        """Press a button or follow a link."""

    async def write(self, field: Locator, text: str) -> None:
        """Replace the text of a field."""

    async def choose(self, field: Locator, option: str) -> None:
        """Choose an option of a list by its text."""

    async def send(self, field: Locator, text: str, button: Locator) -> None:
        """Write a message and send it."""

    async def stop(self) -> None:
        """Stop the answer of the open chat."""

    async def go(self, group: str, name: str) -> None:
        """Open a page by the sidebar."""


class Keyboard:
    """Tab, Enter, arrow keys and text."""

    def __init__(self, page: Page) -> None:
        self.page, self.keys = page, page.keyboard

    async def _reach(self, target: Locator) -> None:
        await expect(target).to_be_visible()
        for _ in range(250):
            if await target.evaluate("one => one === document.activeElement"):
                break
            inside = await self.page.evaluate("Boolean(document.activeElement.closest('.menu'))")
            await self.keys.press("ArrowDown" if inside else "Tab")
        await expect(target).to_be_focused()
        await expect(target).to_be_in_viewport()
        assert await target.evaluate("one => one.matches(':focus-visible')")

    async def press(self, target: Locator) -> None:
        await self._reach(target)
        await self.keys.press("Enter")

    async def write(self, field: Locator, text: str) -> None:
        await self._reach(field)
        await self.keys.press("Control+a")
        await self.keys.type(text)

    async def choose(self, field: Locator, option: str) -> None:
        await self._reach(field)
        await self.keys.type(option)

    async def send(self, field: Locator, text: str, button: Locator) -> None:
        await self.write(field, text)
        await self.keys.press("Enter")

    async def stop(self) -> None:
        await self.keys.press("Escape")

    async def go(self, group: str, name: str) -> None:
        link = self.page.get_by_role("complementary").get_by_role("link", name=name)
        if group and not await link.is_visible():
            await self.press(self.page.locator(".nav-group > summary").filter(has_text=group))
        await self.press(link)


class Fingers:
    """Taps; a touched field shows a keyboard, a touched list its options."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, target: Locator) -> None:
        await target.tap(trial=True)
        height = await target.evaluate(HEIGHT)
        assert height >= TARGET, (await target.inner_text(), height)
        await target.tap()

    async def write(self, field: Locator, text: str) -> None:
        await field.tap()
        await field.fill(text)

    async def choose(self, field: Locator, option: str) -> None:
        await field.tap()
        await field.select_option(label=option)

    async def send(self, field: Locator, text: str, button: Locator) -> None:
        await self.write(field, text)
        await self.press(button)

    async def stop(self) -> None:
        await self.press(self.page.get_by_role("button", name="Stop"))

    async def go(self, group: str, name: str) -> None:
        await self.press(self.page.get_by_role("button", name="Open sidebar"))
        link = self.page.get_by_role("complementary").get_by_role("link", name=name)
        if group and not await link.is_visible():
            await self.press(self.page.locator(".nav-group > summary").filter(has_text=group))
        await self.press(link)


async def chat(hands: Hands) -> None:
    """Send a message, regenerate its answer, stop one, and edit a message."""
    page = hands.page
    text, send = page.locator("#text"), page.locator("#send")
    await hands.go("", "New chat")
    await hands.send(text, "[tokens=3] [every=0] first", send)
    last = page.locator(".turn.last")
    await hands.press(page.locator(DONE).get_by_role("button", name="Regenerate"))
    await expect(last.locator(".marks")).to_contain_text("Regenerated")
    await expect(page.locator(f"{DONE}.last .answer")).to_have_text("word1 word2 word3")
    await hands.send(text, "[tokens=3000] count", send)
    await expect(page.locator(".answer.growing")).to_contain_text("word2 ")
    await hands.stop()
    stopped = page.locator('.turn.last[data-state="cancelled"]')
    await hands.press(stopped.get_by_role("button", name="Edit message"))
    edited = page.get_by_role("textbox", name="Edit message")
    await hands.send(edited, "[tokens=2] again", page.get_by_role("button", name="Send again"))
    await expect(page.locator(f"{DONE}.last .answer")).to_have_text("word1 word2")


async def overview(hands: Hands, service: World) -> None:
    """Stop a run in another chat, let a person in, and find out why an answer failed."""
    page = hands.page
    running = await service.say(await service.open("terminal"), "[tokens=3000] count")
    failed = await service.say(await service.open(chat="failed"), "[fail=overloaded] [every=0] why?")
    await service.turn(failed["turn"])
    await knock(service, "tg", ANN, "SECR-ETSS")
    await hands.go("", "Overview")
    await hands.press(page.get_by_role("button", name="Stop: "))
    assert (await service.turn(running["turn"]))["state"] == "cancelled"
    await hands.press(page.get_by_role("button", name="Approve: Ann"))
    await expect(page.get_by_text("Access requests", exact=False)).to_have_count(0)
    [given] = (await service.http.get("/api/access")).json()["given"]
    assert given["role"] == "member"
    await hands.press(page.locator(".figure[href*=failed]"))
    await hands.press(page.locator(".row-link").filter(has_text="why?"))
    await expect(page.locator(".panel .banner.bad")).to_contain_text("overloaded")


async def schedules(hands: Hands, service: World) -> None:
    """Move a schedule."""
    page, dialog = hands.page, hands.page.get_by_role("dialog")
    body = {"conversation": await service.open(), "when": "daily 9:00", "text": "what is new?", "zone": "UTC"}
    assert (await service.http.post("/api/schedules", json=body)).status_code == 201
    await hands.go("Work", "Schedules")
    await hands.press(page.locator(".row-link"))
    await hands.press(page.locator(".panel").get_by_role("button", name="Edit"))
    await hands.write(dialog.get_by_label("When"), "daily 10:00")
    await expect(dialog.locator(".preview li").first).to_contain_text("10:00")
    await hands.press(dialog.get_by_role("button", name="Save"))
    await expect(page.locator(".next-runs li").first).to_contain_text("10:00")


async def models(hands: Hands, url: str) -> None:
    """Add a model."""
    page, dialog = hands.page, hands.page.get_by_role("dialog")
    await hands.go("Setup", "Models")
    # The page has no button for it, since the runtime of the tests is another server.
    await page.evaluate("location.hash = '#/models/connect'")
    await hands.choose(page.get_by_label("Provider"), "Another server (OpenAI-compatible)")
    await hands.write(page.get_by_label("Base URL"), url)
    await hands.write(page.locator("input[name=api_key]"), "sk-test")
    await hands.write(page.get_by_label("Model", exact=True), "big")
    await hands.press(page.get_by_role("button", name="Test and save"))
    await hands.press(dialog.get_by_role("button", name="Save"))
    await expect(page.locator(".entry").filter(has_text="big")).to_be_visible()


async def approvals(hands: Hands, service: World) -> None:
    """Decide an approval in another chat."""
    page = hands.page
    await service.say(await service.open(), "clean up")
    await hands.go("", "Overview")
    waiting = page.get_by_role("list", name="Approvals waiting").get_by_role("listitem")
    await hands.press(waiting.get_by_role("button", name="Approve", exact=True))
    await expect(waiting).to_contain_text("You chose “Approve”.")


@pytest.mark.parametrize("kind", [Keyboard, Fingers])
async def test_ten_tasks(
    browser: Browser, tmp_path: Path, llmock: LLMock, kind: type[Keyboard] | type[Fingers]
) -> None:
    llmock.reply("ready")
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    options: dict[str, Any] = phone if kind is Fingers else {"viewport": {"width": 1360, "height": 850}}
    async with (
        world(tmp_path / "slow", graph="slow", extra=MODELS + CHATS) as service,
        opened(browser, service, f"{CONSOLE}#/usage", **options) as tab,
    ):
        hands = kind(tab.page)
        await chat(hands)
        await overview(hands, service)
        await schedules(hands, service)
        await models(hands, llmock.base_url())
        assert await tab.fits()
    async with (
        world(tmp_path / "approving", graph="approving") as service,
        opened(browser, service, f"{CONSOLE}#/usage", **options) as tab,
    ):
        await approvals(kind(tab.page), service)
