"""The owner of a new service who sets it up in the web console. What they answer is counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Error, Locator, Request, expect

from tests.browser.tab import Tab
from tests.harness.terminal import Terminal, terminal
from tests.harness.waiters import until

KEYS: Mapping[str, Sequence[str]] = {
    "telegram": ["bot_token"],
    "slack": ["bot_token", "app_token"],
    "feishu": ["app_id", "app_secret"],
    "discord": ["bot_token"],
}
"""What a person copies from each platform."""
MODEL_KEY = "sk-Planted{:03}aB9cD8eF7gH6iJ5kL4"
_SHAPES = {
    "telegram.bot_token": "7000000{:03}:AAPlanted-aB9cD8eF7gH6iJ5kL4mN3",
    "slack.bot_token": "xoxb-7000000{:03}-Planted-aB9cD8eF7gH6",
    "slack.app_token": "xapp-1-A7000{:03}-Planted-aB9cD8eF7gH6",
    "feishu.app_secret": "Planted{:03}aB9cD8eF7gH6iJ5kL4mN3oP2",
    "discord.bot_token": "MTIzNDU2Nzg5MDEyMzQ1{:03}.Planted.aB9cD8eF7gH6iJ5kL4mN3",
    "matrix.access_token": "syt_planted_aB9cD8eF7gH6iJ5kL4mN3oP{:03}_1",
    "model": MODEL_KEY,
}


PATIENCE = 90_000.0
"""Milliseconds for what starts processes on a busy machine, such as the test of a model."""


class Planted:
    """Secrets that look like those of a platform, each given once; all of them are looked for afterwards."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers = count(100)

    def make(self, kind: str) -> str:
        """Return a new secret of a kind, such as "slack.app_token"."""
        self.all.append(_SHAPES[kind].format(next(self._numbers)))
        return self.all[-1]

    def seen_in(self, text: str) -> list[str]:
        """Return those that a text has."""
        return [secret for secret in self.all if secret in text]


@dataclass
class Owner:
    """A tab of the console in which the owner is signed in; `inputs` counts what they enter and decide."""

    tab: Tab
    context: BrowserContext
    inputs: int = 0
    responses: list[str] = field(default_factory=list)

    @property
    def form(self) -> Locator:
        return self.tab.page.locator("roe-form")

    def input(self, key: str) -> Locator:
        """The field of a key."""
        return self.form.locator(f"[name={key}]")

    def about(self, key: str) -> Locator:
        """What stands below the field of a key."""
        return self.form.locator(".field").filter(has=self.tab.page.locator(f"[name={key}]")).locator("small")

    async def enters(self, key: str, value: str) -> None:
        """Enter a value, and press Enter."""
        await self.input(key).fill(value)
        await self.input(key).press("Enter")
        self.inputs += 1

    async def chooses(self, key: str, value: str) -> None:
        await self.input(key).select_option(value)
        self.inputs += 1

    async def presses(self, button: Locator) -> None:
        await button.click()
        self.inputs += 1

    async def opens(self, name: str) -> None:
        """Open a page by the sidebar."""
        link = self.tab.page.locator(f'a.nav-item[href="#/{name}"]')
        if not await link.is_visible():
            await self.tab.page.locator("details.nav-group").filter(has=link).locator("summary").click()
        await link.click()

    async def goes(self, address: str) -> None:
        """Open a page of the console by its address."""
        await self.tab.page.goto(f"{self.tab.url}/#/{address}")

    async def uses_emulator(self, url: str) -> None:
        """Enter an emulator's address. It counts as no input: for `roebot init` it is an option."""
        await self.tab.page.locator("roe-connect-account .text-button").click()
        await self.input("base_url").fill(url)

    async def another(self) -> Owner:
        """A second tab of the same person."""
        page = await self.context.new_page()
        return Owner(Tab(page, self.tab.url), self.context, responses=self.responses)

    async def begins(self, platform: str, url: str) -> None:
        """Open the empty form of a platform, whose address is another one."""
        await self.goes("accounts")
        await expect(self.tab.page.locator("#connect")).to_be_visible()
        await self.goes(f"accounts/connect/{platform}")
        await self.uses_emulator(url)

    async def reads(self, key: str, kind: str = ".problem") -> str:
        """Wait for what is said of a field; its text."""
        said = self.about(key).locator(kind)
        await expect(said).to_be_visible(timeout=PATIENCE)
        return await said.inner_text()

    def step(self, number: int) -> Locator:
        """A step of connecting an account, from 1 on."""
        return self.tab.page.locator(f"li.step:nth-child({number})")


@asynccontextmanager
async def new_service(folder: Path, **env: str) -> AsyncIterator[tuple[Terminal, str]]:
    """`roebot run` in an empty folder, and the sign-in link that it prints."""
    folder.mkdir(exist_ok=True)
    async with terminal(folder, "run", "--port", "0", env=env) as service:
        await until(lambda: "#code=" in service.text, 60.0, lambda: service.text)
        [link] = re.findall(r"http\S+#code=\S+", service.text)
        yield service, link


@asynccontextmanager
async def owner_at(browser: Browser, link: str, locale: str = "en-GB") -> AsyncIterator[Owner]:
    """The owner opens the sign-in link. All that the service answers is kept."""
    context = await browser.new_context(locale=locale)
    context.set_default_timeout(PATIENCE)
    async with _tab_of(context, link) as owner:
        yield owner
    await context.close()


@asynccontextmanager
async def _tab_of(context: BrowserContext, link: str) -> AsyncIterator[Owner]:
    owner = Owner(Tab(await context.new_page(), link.partition("/#")[0]), context)
    reading: set[asyncio.Task[None]] = set()

    async def keep(request: Request) -> None:
        with suppress(Error):  # the page was left meanwhile
            answer = await request.response()
            owner.responses.append(f"{await answer.text()}{answer.headers}" if answer else "")

    context.on("requestfinished", lambda request: reading.add(asyncio.ensure_future(keep(request))))
    await owner.tab.page.goto(link)
    await expect(owner.tab.page.locator("#app")).to_have_attribute("data-role", "owner")
    yield owner
    await asyncio.gather(*reading)


async def connect_model(owner: Owner, url: str, key: str) -> None:
    """Connect a model of a server that is compatible with OpenAI's API, found in its list."""
    page = owner.tab.page
    await owner.opens("models")
    await page.locator("#connect").click()
    await owner.input("provider").select_option("other")
    await owner.input("base_url").fill(url)
    await owner.input("api_key").fill(key)
    await owner.reads("api_key", ".accepted")
    offered = await owner.form.locator("datalist option").evaluate_all("all => all.map(one => one.value)")
    assert offered
    await owner.input("model").fill(offered[0])
    await owner.input("model").press("Enter")
    await owner.tab.dialog.locator(".primary").click()
    row = page.locator(".entry").filter(has_text=offered[0])
    await expect(row.locator(".badge.good")).to_be_visible()


PAGES = (
    *("overview", "turns", "conversations", "schedules", "people", "memory", "privacy", "accounts", "models"),
    *("agents", "skills", "mcp", "settings/access", "settings/limits", "settings/approvals"),
    *("settings/events", "settings/versions", "usage", "audit", "docs"),
)
"""The pages of the console."""
SECRETS = "secrets.env"


async def look_everywhere(owner: Owner, service: Terminal, folder: Path, planted: Planted) -> None:
    """Look for the secrets on each page, in each answer, in all that was printed and in all files but one."""
    shown = {}
    for name in PAGES:
        await owner.goes(name)
        await expect(owner.tab.page.locator("main .page").first).to_be_visible()
        await expect(owner.tab.page.locator("main .empty[role=status]")).to_have_count(0)
        shown[name] = await owner.tab.page.content()
    for name, text in [*shown.items(), ("responses", "".join(owner.responses)), ("terminal", service.text)]:
        assert text
        assert planted.seen_in(text) == [], name
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != SECRETS]
    assert any(path.suffix == ".log" for path in files)
    for path in files:
        assert planted.seen_in(path.read_bytes().decode(errors="replace")) == [], path
