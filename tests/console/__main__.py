"""Open every page of the console, and what opens within it, in every look, and print what is wrong.

Run `python -m tests.console [--size 390] [--language zh] [--no-axe] [--pictures FOLDER] [WORD…]`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from playwright.async_api import Browser, Error, Page, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.tab import sign_in
from tests.console.layout import PAGES, Problem, problems
from tests.console.openings import ASKS, OPENINGS, opened, settle
from tests.console.rig import CONFIG, equip, furnish
from tests.platforms.web.serving import World, world

SIZES = {390: 844, 768: 1024, 1360: 850, 1920: 1080}
SCHEMES = ("light", "dark")
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
START = "/"
REFUSED = re.compile(r"status of (404|409|422) ")


class Look:
    """A size and language. Both colour schemes are measured on the same page, since they change no size.

    `axe` takes two thirds of the time; without it only the layout is measured, and that once.
    """

    def __init__(self, page: Page, service: World, name: str, *, axe: bool, pictures: Path | None) -> None:
        self.page, self.service, self.name, self.axe, self.pictures = page, service, name, axe, pictures
        self.found: list[Problem] = []
        self.views = 0
        self._said: list[str] = []
        page.on("console", lambda line: self._said_by(line.type, line.text))
        page.on("pageerror", lambda error: self._said.append(str(error)))
        page.on("request", lambda one: self._asked(one.url))

    def _said_by(self, kind: str, text: str) -> None:
        # A form that is refused is no fault of the console.
        if kind == "error" and not REFUSED.search(text):
            self._said.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.service.url, "blob:", "data:")):
            self._said.append(f"foreign request: {url}")

    async def measure(self, view: str) -> None:
        """Note what is wrong with what is open now."""
        self.views += 1
        for scheme in SCHEMES if self.axe else SCHEMES[:1]:
            await self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            for text in await problems(self.page, axe=self.axe, colours=scheme == "dark"):
                self.found.append(Problem(view, f"{self.name} {scheme}", text))
            if self.pictures and (not self.axe or scheme == SCHEMES[self.views % 2]):
                name = re.sub(r"\W+", "-", f"{self.name} {view}")[:150]
                await self.page.screenshot(path=self.pictures / f"{name}.png")
        self.found += [Problem(view, self.name, f"console: {text[:200]}") for text in self._said]
        self._said.clear()

    async def measure_all(self, views: AsyncIterator[str]) -> None:
        """Note what is wrong with each of some views, which open one after the other."""
        async for view in views:
            await self.measure(view)

    async def load(self, address: str) -> None:
        """Load a page of the console."""
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.service.url}{START}{address.removeprefix('/')}")
        await self.page.wait_for_load_state("networkidle")

    async def visit(self, address: str) -> None:
        """Load and measure a page."""
        await self.load(address)
        await settle(self.page)
        await self.measure(address)


@asynccontextmanager
async def _looking(
    browser: Browser, service: World, width: int, language: str, *, axe: bool, pictures: Path | None
) -> AsyncIterator[Look]:
    context = await browser.new_context(
        viewport={"width": width, "height": SIZES[width]}, locale=LOCALES[language], has_touch=width < 500
    )
    context.set_default_timeout(15_000)
    await context.add_init_script(ASKS)
    look = Look(await context.new_page(), service, f"{width} {language}", axe=axe, pictures=pictures)
    await look.page.goto(service.url)
    await look.measure("sign-in")
    await sign_in(context, service.url, service.token)
    yield look
    await context.close()


async def _measure(look: Look, words: list[str], folder: Path) -> None:
    for address in PAGES:
        if not words or any(word in address for word in words):
            await _try(look, address, look.visit(address))
    for opening in OPENINGS:
        name = " ".join(opening)
        if not words or any(word in name for word in words):
            await _try(look, name, look.measure_all(opened(look.page, opening, folder)))
    print(f"{look.name}: {look.views} views, problems: {len(look.found)}", flush=True)


async def _try(look: Look, view: str, work: Coroutine[Any, Any, None]) -> None:
    """Note it if a view does not open, and go on."""
    try:
        await work
    except Error as error:
        look.found.append(Problem(view, look.name, f"does not open: {error.message[:150]}"))
        await look.load("#/nowhere")


def _tell(found: list[Problem], looks: list[str], views: int) -> None:
    """Print the problems by view, and their number in each look."""
    seen: dict[tuple[str, str], list[str]] = {}
    for one in found:
        seen.setdefault((one.page, one.text), []).append(one.look)
    for (page, text), where in sorted(seen.items()):
        print(f"{page}\n    {len(where)}x  {text}   [{', '.join(where[:3])}]")
    counts = Counter(one.look for one in found)
    print("\nProblems by look:")
    for look in looks:
        print(
            f"  {look:10}"
            + "".join(f"{scheme:>8} {counts[f'{look} {scheme}']:4}" for scheme in SCHEMES)
            + f"  console {counts[look]:4}"
        )
    print(f"{views} views in {len(looks) * len(SCHEMES)} looks, problems: {len(found)}", flush=True)


async def main(
    words: list[str], widths: list[int], languages: list[str], *, axe: bool, pictures: Path | None
) -> int:
    """Print the problems of all pages and of what opens within them; return their number."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    found: list[Problem] = []
    looks: list[str] = []
    views = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with (
            world(folder, graph="approving", extra=CONFIG) as service,
            async_playwright() as playwright,
        ):
            await furnish(service)
            await equip(service)
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for width in widths:
                for language in languages:
                    async with _looking(
                        browser, service, width, language, axe=axe, pictures=pictures
                    ) as look:
                        await _measure(look, words, folder)
                        found += look.found
                        looks.append(look.name)
                        views += look.views
            await browser.close()
    _tell(found, looks, views)
    return len(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.console")
    parser.add_argument("--size", type=int, action="append", choices=SIZES, help="width; all by default")
    parser.add_argument("--language", action="append", choices=LOCALES, help="all by default")
    parser.add_argument("--no-axe", action="store_true", help="measure only the layout")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each view")
    parser.add_argument("word", nargs="*", help="part of an address or step; all by default")
    wanted = parser.parse_args()
    sizes, languages = wanted.size or list(SIZES), wanted.language or list(LOCALES)
    sys.exit(
        min(
            1,
            asyncio.run(main(wanted.word, sizes, languages, axe=not wanted.no_axe, pictures=wanted.pictures)),
        )
    )
