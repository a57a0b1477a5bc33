"""How fast the console is: figures beside their limits.

Run `python -m tests.console.speed [SECONDS [MINUTES]]`: how long an answer streams, and for how many minutes
the memory is watched while answers stream one after the other.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, async_playwright, expect

from bot.domain import ChatKind, ReplyAddress
from bot.store import schema
from bot.store.connection import Connection, encode_address
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.tab import sign_in
from tests.console.__main__ import START
from tests.console.rig import fill, insert, make_messages, make_parts
from tests.platforms.web.serving import MODELS, World, world

MESSAGES, TOKENS_PER_SECOND = 1_000, 100
LONG = 3000
WATCH = """() => {
  const seen = window.frames_ = {last: performance.now(), long: 0, all: 0, most: 0};
  const next = (now) => {
    const took = now - seen.last;
    seen.last = now;
    seen.all += 1;
    seen.long += took > 50;
    seen.most = Math.max(seen.most, took);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""

FILTER = """name => new Promise((done) => {
  const link = [...document.querySelectorAll('.tabs a')].find((one) => one.textContent.trim() === name);
  const first = () => document.querySelector('tbody')?.textContent;
  const before = first(), began = performance.now();
  const look = () => (first() !== before && !document.querySelector('[aria-busy=true]')
    ? done(performance.now() - began) : requestAnimationFrame(look));
  link.click();
  requestAnimationFrame(look);
})"""


def _fill(connection: Connection, now: float) -> None:
    """Insert a conversation of a thousand messages."""
    chat = {
        "id": LONG,
        "account": "web",
        "platform": "web",
        "chat": "long",
        "chat_kind": "private",
        "thread_id": "00000000-0000-4000-a000-000000000000",
        "owner": "web:owner",
        "title": "A long conversation",
        "created_at": now - MESSAGES * 60,
        "active_at": now,
    }
    turns: list[dict[str, Any]] = [
        {
            "id": 30_000 + number,
            "conversation_id": LONG,
            "kind": "chat",
            "state": "done",
            "address": encode_address(ReplyAddress("web", "long", ChatKind.PRIVATE)),
            "platform": "web",
            "thread_id": chat["thread_id"],
            "size": 1,
            "created_at": now - (MESSAGES - number) * 60,
            "finished_at": now - (MESSAGES - number) * 60 + 5,
            "person": "web:owner",
        }
        for number in range(MESSAGES // 2)
    ]
    insert(connection, schema.conversations, [chat])
    insert(connection, schema.turns, turns)
    insert(connection, schema.inbound, list(make_messages(turns, {"owner": "Owner"})))
    insert(connection, schema.parts, list(make_parts(turns)))


async def _first_view(browser: Browser, service: World) -> None:
    """Print what loads before the first answer, and when the page is painted and takes input."""
    context = await browser.new_context()
    await sign_in(context, service.url, service.token)
    page = await context.new_page()
    cdp = await context.new_cdp_session(page)
    sizes = await _traffic(cdp)
    began = time.perf_counter()
    await page.goto(f"{service.url}{START}#chat")
    await page.locator("#text").wait_for()
    await page.fill("#text", "x")
    ready = time.perf_counter() - began
    await page.wait_for_load_state("networkidle")
    paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    _show("first view, KB compressed", sizes[0] / 1000, 250)
    _show("first paint, s", paint / 1000, 0.6)
    _show("takes input, s", ready, 1.0)
    await context.close()


async def _traffic(cdp: CDPSession) -> list[int]:
    """Count the bytes that arrive from now on."""
    total = [0]

    def arrived(event: dict[str, Any]) -> None:
        total[0] += event["encodedDataLength"]

    await cdp.send("Network.enable")
    cdp.on("Network.dataReceived", arrived)
    return total


async def _stream(browser: Browser, service: World, seconds: int) -> None:
    """Print how a long answer streams into a long conversation."""
    context = await browser.new_context()
    await sign_in(context, service.url, service.token)
    page = await context.new_page()
    began = time.perf_counter()
    await page.goto(f"{service.url}{START}?c={LONG}")
    await page.locator(".turn").last.wait_for()
    _show(f"opens among {MESSAGES} messages, s", time.perf_counter() - began, 1.0)
    await _scroll_to_all(page)
    cdp = await context.new_cdp_session(page)
    sizes = await _traffic(cdp)
    cdp.on("Network.eventSourceMessageReceived", lambda event: sizes.append(len(event["data"].encode())))
    await page.evaluate(WATCH)
    tokens = seconds * TOKENS_PER_SECOND
    before = await page.evaluate("performance.memory?.usedJSHeapSize ?? 0")
    await page.fill("#text", f"[tokens={tokens}] [every={1 / TOKENS_PER_SECOND}] hello")
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn").last).to_contain_text(
        f"word{tokens}", timeout=(seconds * 3 + 60) * 1000
    )
    seen = await page.evaluate("window.frames_")
    text = await page.locator(".turn").last.inner_text()
    after = await page.evaluate("performance.memory?.usedJSHeapSize ?? 0")
    _show("frames over 50 ms, %", 100 * seen["long"] / seen["all"], 1)
    _show("longest frame, ms", seen["most"], 0)
    _show("traffic for the text, times", sum(sizes) / len(text.encode()), 4)
    _show("memory, times", after / max(before, 1), 0)
    await context.close()


async def _filter(browser: Browser, service: World) -> None:
    """Print how long the list of 5,000 turns takes to show others, from the click."""
    context = await browser.new_context()
    await sign_in(context, service.url, service.token)
    page = await context.new_page()
    await page.goto(f"{service.url}{START}#/turns")
    await page.locator(".row-link").first.wait_for()
    took = [await page.evaluate(FILTER, name) for name in ("Failed", "All") * 3]
    _show("filters 5,000 turns, ms", max(took[1:]), 100)
    await context.close()


async def _watch_memory(browser: Browser, service: World, minutes: int) -> None:
    """Print what the page holds after a minute of streaming, and how much more after all of them."""
    context = await browser.new_context()
    await sign_in(context, service.url, service.token)
    page = await context.new_page()
    await page.goto(f"{service.url}{START}?c={LONG}")
    await page.locator(".turn").last.wait_for()
    cdp = await context.new_cdp_session(page)
    held = []
    for minute in range(minutes):
        tokens = 55 * TOKENS_PER_SECOND + minute
        await page.fill("#text", f"[tokens={tokens}] [every={1 / TOKENS_PER_SECOND}] hello")
        await page.keyboard.press("Enter")
        await expect(page.locator(".turn").last).to_contain_text(f"word{tokens}", timeout=300_000)
        await cdp.send("HeapProfiler.collectGarbage")
        usage = await cdp.send("Runtime.getHeapUsage")
        held.append(usage["usedSize"] / 1e6)
        _show(f"memory after {minute + 1} min, MB", held[-1], 0)
    if minutes > 1:
        _show("memory per minute, MB", (held[-1] - held[0]) / (minutes - 1), 0)
    await context.close()


async def _scroll_to_all(page: Page) -> None:
    """Load all earlier messages, as someone who scrolls up does."""
    for _ in range(MESSAGES // 50):
        count = await page.locator(".turn").count()
        if count >= MESSAGES // 2:
            return
        await page.locator("#earlier").click(timeout=5_000)
        await page.wait_for_function("count => document.querySelectorAll('.turn').length > count", arg=count)


def _show(what: str, value: float, limit: float) -> None:
    told = f"limit {limit:g}" if limit else ""
    print(f"{what:36} {value:10.2f}   {told}  {'MISSED' if limit and value > limit else ''}", flush=True)


async def main(seconds: int, minutes: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        async with (
            world(Path(folder), graph="slow", extra=MODELS) as service,
            async_playwright() as playwright,
        ):
            await service.service.db.transact(_fill, time.time())
            await service.service.db.transact(fill, time.time())
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            await _first_view(browser, service)
            await _filter(browser, service)
            await _stream(browser, service, seconds)
            await _watch_memory(browser, service, minutes)
            await browser.close()


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    asyncio.run(main(*(given + [60, 0][len(given) :])))
