"""Accessibility checks with axe."""

from __future__ import annotations

from importlib.resources import files

from playwright.async_api import Page

AXE = files("axe_playwright_python") / "axe.min.js"
BAD = {"serious", "critical"}


async def serious(page: Page) -> list[str]:
    """Return the violated rules, each with its first element."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"] if one["impact"] in BAD]
