"""Take the screenshots of the web console for the docs: `python -m scripts.pictures` (needs Chromium)."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright, expect

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import ARGUMENTS, CHROMIUM  # noqa: E402
from tests.browser.tab import PHONE, opened, sign_in  # noqa: E402
from tests.console.rig import CHANNELS, furnish  # noqa: E402
from tests.harness.credentials import SERVICE_TOKEN  # noqa: E402
from tests.harness.picture_agent import QUESTIONS  # noqa: E402
from tests.harness.service import ServiceProcess  # noqa: E402
from tests.platforms.web.serving import MODELS, World, world  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDE = {"width": 1360, "height": 760}
CONVERSATION = """config_version: 1
models: [{name: claude, display_name: Claude, use: "tests.harness.picture_agent:PictureModel"}]
title: {enabled: false}
memory: {enabled: false}
server: {port: 0}
"""
SHOTS = (
    ("overview", "overview", {"viewport": WIDE}),
    ("activity", "turns", {"viewport": WIDE}),
    ("turn", "turns/14996", {"viewport": WIDE}),
    ("calendar", "schedules/calendar", {"viewport": WIDE}),
    ("people", "people", {"viewport": WIDE}),
    ("usage", "usage", {"viewport": WIDE}),
    ("models", "models", {"viewport": WIDE}),
    ("dark", "turns?state=failed", {"viewport": WIDE, "color_scheme": "dark"}),
    ("phone", "overview", {"viewport": PHONE}),
)
"""Screenshots: name, address, browser options."""


async def shot(browser: Browser, service: World, name: str, address: str, options: dict[str, Any]) -> None:
    """Take one screenshot once its data is loaded."""
    async with opened(browser, service, f"/#/{address}", **options) as tab:
        await tab.page.wait_for_load_state("networkidle")
        await expect(tab.page.locator("#content")).not_to_contain_text("Loading…")
        await tab.page.evaluate("document.activeElement?.blur()")
        path = IMAGES / f"console-{name}.png"
        await tab.page.screenshot(path=path, animations="disabled")
        print(f"wrote {path.relative_to(ROOT)}")


async def conversation_shot(browser: Browser, home: Path) -> None:
    """Take the picture of the README: a conversation whose second answer is in progress."""
    service = ServiceProcess(home, CONVERSATION)
    service.start()
    try:
        found = await service.ready()
        context = await browser.new_context(viewport={"width": 1_200, "height": 760})
        page = await context.new_page()
        await sign_in(context, found.url, SERVICE_TOKEN)
        await page.goto(found.url)
        for question, shown in QUESTIONS:
            await page.fill("#text", question)
            await page.keyboard.press("Enter")
            await expect(page.locator(".turn").last).to_contain_text(shown, timeout=20_000)
        await page.evaluate("document.activeElement?.blur()")
        await page.screenshot(path=IMAGES / "console.png", animations="disabled")
        print("wrote docs/images/console.png")
        await context.close()
    finally:
        service.stop()


def _company(home: Path) -> AbstractAsyncContextManager[World]:
    return world(home, graph="approving", extra=MODELS + CHANNELS)


async def main() -> None:
    """Take all screenshots."""
    with tempfile.TemporaryDirectory() as home:
        async with async_playwright() as playwright, _company(Path(home)) as service:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            await furnish(service)
            for name, address, more in SHOTS:
                await shot(browser, service, name, address, dict(more))
            await conversation_shot(browser, Path(home, "conversation"))
            await browser.close()


if __name__ == "__main__":
    if not shutil.which(CHROMIUM):
        sys.exit("Chromium is needed (Debian: apt install chromium)")
    asyncio.run(main())
