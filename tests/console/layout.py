"""What a page does wrong: sideways scrolling, cut or covered content, raw ids, accessibility."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.browser.axe import AXE

FOUND = Path(__file__).with_name("layout.js").read_text()
COMMENT = re.compile(r"<!--.*?-->")
BAD = {"moderate", "serious", "critical"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of a page in one look."""

    page: str
    look: str
    text: str


async def problems(page: Page) -> list[str]:
    """Return what is wrong with the page as it is."""
    found: list[str] = await page.evaluate(FOUND)
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    report: Any = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    found += [
        f"axe {one['impact']} {one['id']}: {COMMENT.sub('', one['nodes'][0]['html'])[:120]}"
        for one in report["violations"]
        if one["impact"] in BAD
    ]
    return found
