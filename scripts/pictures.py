"""Take the screenshots of the web console for the docs: `python -m scripts.pictures` (needs Chromium)."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright, expect

from bot.store.turns import save_turn

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bot.server.console.page import SECTIONS  # noqa: E402
from bot.store.usage import TurnUsage  # noqa: E402
from tests.browser.conftest import ARGUMENTS, CHROMIUM  # noqa: E402
from tests.browser.tab import PHONE, opened, sign_in  # noqa: E402
from tests.harness.credentials import SERVICE_TOKEN  # noqa: E402
from tests.harness.picture_agent import QUESTIONS  # noqa: E402
from tests.harness.service import ServiceProcess  # noqa: E402
from tests.platforms.web.serving import MODELS, World, world  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDE = {"width": 1360, "height": 760}
TALK = (
    "Who is on call this week?",
    "Summarize what support said about the invoices.",
    "Draft the release note for 2.4, three sentences.",
)
SCHEDULES = (
    ("weekdays 9:00", "What's new with the open incidents?", "prompt"),
    ("every monday at 10:00", "Stand-up in ten minutes", "message"),
    ("monthly on the 1st 8:30", "Which invoices are older than 30 days?", "prompt"),
)
FACTS = ("Prefers answers in three sentences at most.", "Works on the invoices of the Nordic team.")
PEOPLE = (("telegram:1001", "admin"), ("slack:U0ANN", "member"), ("slack:team:T0ACME", "member"))
TOKENS = (1200, 5400, 2600)
AGENTS = (("poet", "Writes the toast for whoever leaves."), ("release", "Knows how we write release notes."))
MCP = {"tickets": {"enabled": False, "type": "http", "url": "http://127.0.0.1:9/mcp"}}
CONVERSATION = """config_version: 1
models: [{name: claude, display_name: Claude, use: "tests.harness.picture_agent:PictureModel"}]
title: {enabled: false}
memory: {enabled: false}
server: {port: 0}
"""
SHOTS = (
    ("schedules-calendar", "schedules/calendar", {"viewport": WIDE}),
    ("turn", "turns/1", {"viewport": WIDE}),
    ("dark", "turns", {"viewport": WIDE, "color_scheme": "dark"}),
    ("phone", "schedules", {"viewport": PHONE}),
)
"""Screenshots in addition to one per section: name, URL, browser options."""


async def furnish(service: World) -> None:
    """Create the data of a small team."""
    conversations = [await service.open() for _ in TALK]
    db, now = service.service.db, service.service.clock.now()
    people = ("web:owner", *(entry for entry, _ in PEOPLE))
    for conversation, text, person, tokens in zip(conversations, TALK, people, TOKENS, strict=False):
        turn = (await service.turn((await service.say(conversation, text))["turn"]))["id"]
        await db.transact(
            save_turn, turn, [], now, spent=TurnUsage(person, tokens, tokens // 8, tokens + tokens // 8)
        )
    for when, text, kind in SCHEDULES:
        body = {"conversation": conversations[0], "when": when, "text": text, "kind": kind}
        await _done(service, "POST", "/api/schedules", body)
    for fact in FACTS:
        await _done(service, "POST", "/api/memory/facts", {"content": fact})
    for entry, role in PEOPLE:
        await _done(service, "PUT", f"/api/access/{entry}", {"role": role})
    for name, description in AGENTS:
        await _done(service, "POST", "/api/agents", {"name": name, "description": description})
    await _done(service, "PUT", "/api/mcp/config", {"mcp_servers": MCP})


async def _done(service: World, method: str, path: str, body: dict[str, Any]) -> None:
    answer = await service.http.request(method, path, json=body)
    answer.raise_for_status()


async def shot(browser: Browser, service: World, name: str, address: str, options: dict[str, Any]) -> None:
    """Take one screenshot once its data is loaded."""
    async with opened(browser, service, f"/#/{address}", **options) as tab:
        await expect(tab.box).not_to_contain_text("Loading…")
        await expect(tab.box.locator("table:visible, .none:visible, dl:visible").first).to_be_visible()
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
            await expect(page.locator(".answer").last).to_contain_text(shown, timeout=20_000)
        await page.evaluate("document.activeElement?.blur()")
        await page.screenshot(path=IMAGES / "console.png", animations="disabled")
        print("wrote docs/images/console.png")
        await context.close()
    finally:
        service.stop()


async def main() -> None:
    """Take all screenshots."""
    options: dict[str, Any] = {"viewport": WIDE}
    shots = [*((name, name, options) for name, _, _ in SECTIONS), *SHOTS]
    with tempfile.TemporaryDirectory() as home:
        async with async_playwright() as playwright, world(Path(home), extra=MODELS) as service:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            await furnish(service)
            for name, address, more in shots:
                await shot(browser, service, name, address, dict(more))
            await conversation_shot(browser, Path(home, "conversation"))
            await browser.close()


if __name__ == "__main__":
    if not shutil.which(CHROMIUM):
        sys.exit("Chromium is needed (Debian: apt install chromium)")
    asyncio.run(main())
