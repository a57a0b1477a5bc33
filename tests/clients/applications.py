"""Scenarios of agent-chat-ui and deep-agents-ui, which this machine serves from a checkout with a build."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from playwright.async_api import Browser, Page, expect

from tests.harness.free_ports import free_port

SECONDS = 30.0
LONG_ANSWER = re.compile("^1: .* w29$")


@dataclass(frozen=True)
class Application:
    """A served application; through its passthrough, which adds the token, or straight at the runtime."""

    name: str
    origin: str
    runtime: str
    token: str
    browser: Browser
    passthrough: bool = False

    @property
    def chat(self) -> bool:
        """Whether it is agent-chat-ui."""
        return self.name == "agent-chat-ui"

    @property
    def api(self) -> str:
        """The address that the page talks to."""
        return f"{self.origin}/api" if self.passthrough else self.runtime

    @asynccontextmanager
    async def open_page(self, graph: str) -> AsyncIterator[Page]:
        """Open the application with an empty profile and fill in its settings."""
        context = await self.browser.new_context(viewport={"width": 1400, "height": 900})
        page = await context.new_page()
        try:
            await page.goto(self.origin)
            await page.locator("#apiUrl" if self.chat else "#deploymentUrl").fill(self.api)
            await page.locator("#assistantId").fill(graph)
            key = page.locator("#apiKey" if self.chat else "#langsmithApiKey")
            await key.fill("" if self.passthrough else self.token)
            await page.get_by_role("button", name="Continue" if self.chat else "Save").click()
            yield page
        finally:
            await context.close()

    async def await_runs(self, page: Page, *statuses: str) -> None:
        """Wait until the runs of the page's thread, the newest first, have these statuses."""
        (thread,) = parse_qs(urlsplit(page.url).query)["threadId"]
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(base_url=self.runtime, headers={"x-api-key": self.token}) as http,
        ):
            while tuple(r["status"] for r in (await http.get(f"/threads/{thread}/runs")).json()) != statuses:
                await asyncio.sleep(0.1)


async def send(page: Page, text: str) -> None:
    """Write a message and send it."""
    await page.locator("textarea[placeholder]").last.fill(text)
    await page.get_by_role("button", name="Send", exact=True).click()


async def see(page: Page, text: str | re.Pattern[str]) -> None:
    """Wait until this text is shown; in the conversation, which follows the list of threads."""
    await expect(page.get_by_text(text, exact=True).last).to_be_visible()


async def send_two_turns(app: Application) -> None:
    """A message, whose answer grows, and a second one."""
    async with app.open_page("chat") as page:
        await send(page, "slow")
        seen: set[str] = set()
        async with asyncio.timeout(SECONDS):
            while not any(text.endswith(" w29") for text in seen):
                seen.update(re.findall(r"1:(?: w\d+)*", await page.locator("body").inner_text()))
        assert len(seen) > 8, seen
        await send(page, "again")
        await see(page, "2: w0 w1 w2")
        await app.await_runs(page, "success", "success")


async def decide(app: Application, decision: str, answer: str) -> None:
    """A question of an agent, and its answer."""
    async with app.open_page("review") as page:
        await send(page, "hi")
        await see(page, "May I send this?")
        await app.await_runs(page, "success")
        box = page.get_by_role("button", name="send_mail")
        if not app.chat and not await page.get_by_role("button", name="Approve", exact=True).is_visible():
            await box.click()
        if decision == "reject" and not app.chat:
            await page.get_by_role("button", name="Reject", exact=True).click()
        if decision == "reject":
            await page.get_by_placeholder(re.compile("^(Share feedback|Explain why)")).fill("no")
        button = "Approve" if decision == "approve" else "Submit rejection" if app.chat else "Confirm Reject"
        await page.get_by_role("button", name=button, exact=True).click()
        await see(page, answer)
        await app.await_runs(page, "success", "success")


async def stop_run(app: Application) -> None:
    """A run that is stopped; agent-chat-ui only stops to listen, since its runs are resumable."""
    async with app.open_page("chat") as page:
        await send(page, "slow")
        await expect(page.get_by_text("1: w0 w1")).to_be_visible()
        await page.get_by_role("button", name="Cancel" if app.chat else "Stop").click()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        await app.await_runs(page, "success" if app.chat else "interrupted")
        await send(page, "again")
        await see(page, "2: w0 w1 w2")


async def see_error(app: Application) -> None:
    """A graph that raises: a note in agent-chat-ui, a red dot in the list of deep-agents-ui."""
    async with app.open_page("failing") as page:
        await send(page, "hi")
        if app.chat:
            await expect(page.get_by_text("it broke")).to_be_visible()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        await app.await_runs(page, "error")
        if not app.chat:
            await page.get_by_role("button", name="Threads").click()
            await expect(page.locator("[aria-current=true] .bg-red-600")).to_be_visible()


async def reload_page(app: Application) -> None:
    """A page that is loaded again during its run, which only deep-agents-ui joins again, and after it."""
    async with app.open_page("chat") as page:
        await send(page, "slow")
        await expect(page.get_by_text("1: w0 w1")).to_be_visible()
        await page.reload()
        await see(page, "slow")
        if not app.chat:
            await expect(page.get_by_role("button", name="Stop")).to_be_visible()
            await see(page, LONG_ANSWER)
        await app.await_runs(page, "success")
        await page.reload()
        await see(page, LONG_ANSWER)
        await send(page, "again")
        await see(page, "2: w0 w1 w2")


async def open_old_thread(app: Application) -> None:
    """The list of threads, from which an old one is opened and goes on."""
    async with app.open_page("chat") as page:
        await send(page, f"{app.name} at {app.api}")
        await see(page, "1: w0 w1 w2")
        await app.await_runs(page, "success")
        query = {"apiUrl": app.api, "assistantId": "chat", "chatHistoryOpen": "true", "sidebar": "1"}
        await page.goto(f"{app.origin}/?{urlencode(query)}")
        await page.get_by_role("button", name=f"{app.name} at {app.api}").click()
        await see(page, "1: w0 w1 w2")
        await send(page, "again")
        await see(page, "2: w0 w1 w2")


SCENARIOS: dict[str, Callable[[Application], Awaitable[None]]] = {
    "two turns, tokens": send_two_turns,
    "approval": partial(decide, decision="approve", answer="approve: ann"),
    "rejection": partial(decide, decision="reject", answer="reject: no"),
    "stop": stop_run,
    "error": see_error,
    "reload": reload_page,
    "list of threads": open_old_thread,
}


@asynccontextmanager
async def serve_application(checkout: Path, api: str, token: str) -> AsyncIterator[str]:
    """Serve the build in a checkout with a passthrough to this API, and yield its origin."""
    port = free_port()
    command = (str(checkout / "node_modules/.bin/next"), "start", "-H", "127.0.0.1", "-p", str(port))
    settings = {"LANGGRAPH_API_URL": api, "LANGSMITH_API_KEY": token, "NEXT_TELEMETRY_DISABLED": "1"}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=checkout, env={**os.environ, **settings}, stdout=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(SECONDS):
            while not await _is_open(port):
                assert process.returncode is None, f"no build is served from {checkout}"
                await asyncio.sleep(0.1)
        yield f"http://localhost:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
