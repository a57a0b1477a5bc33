"""What a page does wrong: sideways scrolling, cut or covered content, raw ids, accessibility."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.browser.axe import AXE

FOUND = Path(__file__).with_name("layout.js").read_text()
PAGES = (
    "/",
    "/?c=2001",
    "#/overview",
    "#/turns",
    "#/turns/10003",
    "#/turns?state=failed",
    "#/conversations",
    "#/conversations/1001",
    "#/schedules",
    "#/schedules/1",
    "#/schedules/calendar",
    "#/people",
    "#/people/telegram:1000000000",
    "#/memory",
    "#/privacy",
    "#/accounts",
    "#/accounts/connect/slack",
    "#/models",
    "#/models/connect",
    "#/agents",
    "#/skills",
    "#/mcp",
    "#/mcp/add",
    "#/settings",
    "#/settings/limits",
    "#/settings/approvals",
    "#/settings/events",
    "#/settings/events/add",
    "#/settings/versions",
    "#/usage",
    "#/audit",
    "#/docs",
    "#/docs/howto/connect-slack",
    "#/nowhere",
)
"""Addresses of the pages that are measured."""
COMMENT = re.compile(r"<!--.*?-->")
BAD = {"moderate", "serious", "critical"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of a page in one look."""

    page: str
    look: str
    text: str


async def problems(page: Page, *, axe: bool = True, colours: bool = False) -> list[str]:
    """Return what is wrong with the page, or with the dialog or menu that is open; or only its colours."""
    found: list[str] = await page.evaluate(FOUND)
    if not axe:
        return found
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text())
    rules = ", runOnly: ['color-contrast']" if colours else ""
    report: Any = await page.evaluate(f"axe.run(window.measured, {{resultTypes: ['violations']{rules}}})")
    found = [] if colours else found
    return found + [
        f"axe {one['impact']} {one['id']}: {COMMENT.sub('', one['nodes'][0]['html'])[:120]}"
        for one in report["violations"]
        if one["impact"] in BAD
    ]
