"""Open every page of the console in every look and print what is wrong.

Run `python -m tests.console [--size 390] [NAME…]`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.tab import sign_in
from tests.console.layout import PAGES, Problem, problems
from tests.console.rig import CHANNELS, furnish
from tests.platforms.web.serving import MODELS, World, world

SIZES = ((390, 844), (768, 1024), (1360, 850), (1920, 1080))
START = "/"
QUIET = "() => !document.querySelector('[aria-busy=true]') && !document.body.innerText.includes('Loading…')"


async def _look(
    browser: Browser, service: World, size: tuple[int, int], scheme: str, language: str, names: list[str]
) -> list[Problem]:
    look = f"{size[0]} {scheme} {language}"
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        locale="zh-CN" if language == "zh" else "en-GB",
    )
    await sign_in(context, service.url, service.token)
    page = await context.new_page()
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request",
        lambda one: None if one.url.startswith((service.url, "blob:", "data:")) else said.append(one.url),
    )
    found = []
    for name in [one for one in PAGES if not names or one in names]:
        said.clear()
        await page.goto("about:blank")
        await page.goto(
            service.url + (f"{START}{name}" if name.startswith("#") else name.replace("/", START, 1))
        )
        await page.wait_for_load_state("networkidle")
        await page.wait_for_function(QUIET)
        found += [Problem(name, look, text) for text in await problems(page)]
        found += [Problem(name, look, f"console: {text[:200]}") for text in said]
    await context.close()
    return found


async def main(names: list[str], widths: list[int]) -> int:
    """Print the problems of all pages by page; return their number."""
    found: list[Problem] = []
    with tempfile.TemporaryDirectory() as folder:
        async with (
            world(Path(folder), graph="approving", extra=MODELS + CHANNELS) as service,
            async_playwright() as playwright,
        ):
            await furnish(service)
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for size in [one for one in SIZES if not widths or one[0] in widths]:
                for scheme in ("light", "dark"):
                    for language in ("en", "zh"):
                        found += await _look(browser, service, size, scheme, language, names)
            await browser.close()
    looks: dict[tuple[str, str], list[str]] = {}
    for one in found:
        looks.setdefault((one.page, one.text), []).append(one.look)
    for (page, text), seen in sorted(looks.items()):
        print(f"{page:28} {len(seen):3}x  {text}   [{', '.join(seen[:3])}]")
    totals = Counter(one.page for one in found)
    pages, looks_of_each = len(names or PAGES), len(widths or SIZES) * 4
    print(f"\n{pages} pages in {looks_of_each} looks, problems: {sum(totals.values())}")
    return sum(totals.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.console")
    parser.add_argument("--size", type=int, action="append", default=[], help="width; all by default")
    parser.add_argument("page", nargs="*", help="address as in tests/console/layout.py; all by default")
    wanted = parser.parse_args()
    sys.exit(min(1, asyncio.run(main(wanted.page, wanted.size))))
