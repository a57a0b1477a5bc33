"""A browser tab on the web console that fails on script errors and policy violations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.platforms.web.serving import World

DONE = '.turn[data-kind="chat"][data-state="done"]'
PHONE = {"width": 390, "height": 780}
CONSOLE = "/"
# An admin's first page is the overview.
CHAT = f"{CONSOLE}#chat"


class Tab:
    """A page that records script errors and violations of the content security policy.

    The browser also notes each answer of the service that refuses something; `refused` are those that a test
    asks for. `offline` is set by a test that takes the service away.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.bad: list[str] = []
        self.refused: tuple[int, ...] = ()
        self.offline = False
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.bad.append(str(error)))

    def _said(self, line: ConsoleMessage) -> None:
        asked_for = any(f"status of {status} " in line.text for status in self.refused)
        asked_for = asked_for or (self.offline and "ERR_FAILED" in line.text)
        if line.type == "error" and not asked_for:
            self.bad.append(line.text)

    @property
    def box(self) -> Locator:
        """The content of the open section."""
        return self.page.locator("#section-content")

    @property
    def said(self) -> Locator:
        """The status line of the section."""
        return self.page.locator("#section-status")

    @property
    def dialog(self) -> Locator:
        """The open dialog."""
        return self.page.get_by_role("dialog")

    async def press(self, name: str, *, sure: bool = False) -> None:
        """Press a button of the section, and confirm its dialog if `sure`."""
        await self.box.get_by_role("button", name=name, exact=True).click()
        if sure:
            await self.dialog.locator(".primary").click()

    async def row(self, *cells: str) -> None:
        """Wait for a table row with these texts."""
        found = self.box.locator("tr")
        for cell in cells:
            found = found.filter(has_text=cell)
        await expect(found.first).to_be_visible()

    async def send(self, text: str) -> None:
        await self.page.fill("#text", text)
        await self.page.keyboard.press("Enter")

    async def answer(self, place: int = -1) -> str:
        """Wait for a finished answer and return its text."""
        box = self.page.locator(f"{DONE} .answer").nth(place)
        await expect(box).to_be_visible()
        return await box.inner_text()

    async def fits(self) -> bool:
        """Return True if the page does not scroll horizontally."""
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        return bool(await self.page.evaluate(wide))


async def sign_in(context: BrowserContext, url: str, token: str) -> None:
    """Sign in the owner of the service in a browser."""
    answer = await context.request.post(f"{url}/api/session", data={"token": token})
    assert answer.ok, await answer.text()


@asynccontextmanager
async def opened(
    browser: Browser, service: World, path: str = "/", *, refused: tuple[int, ...] = (), **options: Any
) -> AsyncIterator[Tab]:
    """Open the console as the owner, or as the person of a sign-in link."""
    context = await browser.new_context(**options)
    if "#code=" not in path:
        await sign_in(context, service.url, service.token)
    tab = Tab(await context.new_page(), service.url)
    tab.refused = refused
    await tab.page.goto(service.url + path)
    yield tab
    assert tab.bad == [], tab.bad
    await context.close()
