"""Run the React hooks of LangGraph's SDKs in Chromium, against the agent runtime, from another origin.

`python -m tests.clients [HOOK …]` prints a table, and exits with 1 if a scenario fails. It needs `make
install-clients` and Chromium. `--agent-chat-ui FOLDER` and `--deep-agents-ui FOLDER` run these applications
instead, from a checkout that has its packages and a production build; the first one straight and through its
passthrough. `--reference` puts LangGraph's development server in the runtime's place.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import httpx
from playwright.async_api import Browser, Page, async_playwright, expect
from playwright.async_api import Error as PlaywrightError

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.clients import applications
from tests.docs.blocks import blocks
from tests.harness.free_ports import free_port
from tests.oracle.server import project_server

ROOT = Path(__file__).parents[2]
INSTALLED = Path(sys.prefix) / "clients"
HOOKS = ("current", "classic")
TOKEN = "token-of-the-clients-tests"
PAGE = '<!doctype html><meta charset="utf-8"><div id="root"></div><script src="{hook}.js"></script>'
SECONDS = 90.0
ANSWERS = {"left?": "L", "right?": "R"}
GRAPHS = ("chat", "one", "two", "failing", "review")
APPLICATIONS = ("agent-chat-ui", "deep-agents-ui")


def guide_component(api: str) -> str:
    """Return the React component of the guide to hosting graphs, for this server and its graph `chat`."""
    (block,) = blocks("jsx file=Chat.jsx")
    return block.body.replace("http://127.0.0.1:2024", api).replace('"shout"', '"chat"')


@dataclass(frozen=True)
class Bench:
    """A runtime, pages of both hooks, and a browser."""

    api: str
    origin: str
    browser: Browser
    hook: str

    @asynccontextmanager
    async def open_page(
        self, graph: str, *, thread: str = "", origin: str = "", api: str = ""
    ) -> AsyncIterator[Page]:
        """Open a page for a graph, with the token."""
        query = {"api": api or self.api, "key": TOKEN, "graph": graph} | (
            {"thread": thread} if thread else {}
        )
        context = await self.browser.new_context()
        page = await context.new_page()
        try:
            await page.goto(f"{origin or self.origin}/{self.hook}.html?{urlencode(query)}")
            yield page
        finally:
            await context.close()


async def send(page: Page, text: str) -> None:
    """Write a message and send it."""
    await page.fill("#text", text)
    await page.click("#send")


async def see_last(page: Page, text: str) -> None:
    """Wait until this is the last message and no run is active."""
    await expect(page.locator("li").last).to_have_text(text)
    await expect(page.locator("main")).to_have_attribute("data-loading", "false")


async def send_two_turns(bench: Bench) -> None:
    """A message and a second one."""
    async with bench.open_page("chat") as page:
        await send(page, "hi")
        await see_last(page, "1: w0 w1 w2")
        await send(page, "again")
        await see_last(page, "2: w0 w1 w2")
        assert await page.locator("li").all_inner_texts() == ["hi", "1: w0 w1 w2", "again", "2: w0 w1 w2"]


async def see_tokens(bench: Bench) -> None:
    """An answer that grows."""
    async with bench.open_page("chat") as page:
        await send(page, "slow")
        lengths = set()
        async with asyncio.timeout(SECONDS):
            while not any(text.endswith("w29") for text in await page.locator("li").all_inner_texts()):
                lengths.add(len("".join(await page.locator("li").all_inner_texts())))
        assert len(lengths) > 8, lengths


async def answer_questions(bench: Bench, graph: str, questions: tuple[str, ...]) -> None:
    """Interrupts, answered together."""
    async with bench.open_page(graph) as page:
        await send(page, "hi")
        await expect(page.locator("label")).to_have_count(len(questions))
        for question in questions:
            await page.get_by_label(question).fill(ANSWERS[question])
        await page.click("#answer")
        for question in questions:
            answer = f"{question.removesuffix('?')} {ANSWERS[question]}"
            await expect(page.locator("li").filter(has_text=answer)).to_have_count(1)
        await expect(page.locator("label")).to_have_count(0)


async def stop_run(bench: Bench) -> None:
    """A run that is stopped."""
    async with bench.open_page("chat") as page:
        await send(page, "slow")
        await expect(page.locator("li").last).to_contain_text("w3")
        await page.click("#stop")
        await expect(page.locator("main")).to_have_attribute("data-loading", "false")
        thread = await find_thread(page)
    async with httpx.AsyncClient(base_url=bench.api, headers={"x-api-key": TOKEN}) as http:
        async with asyncio.timeout(SECONDS):
            while (runs := (await http.get(f"/threads/{thread}/runs")).json())[0]["status"] == "running":
                await asyncio.sleep(0.1)
        assert [run["status"] for run in runs] == ["interrupted"], runs


async def see_error(bench: Bench) -> None:
    """A graph that raises."""
    async with bench.open_page("failing") as page:
        await send(page, "hi")
        await expect(page.locator("#error")).to_contain_text("it broke")
        await expect(page.locator("main")).to_have_attribute("data-loading", "false")


async def reload_during_run(bench: Bench) -> None:
    """A page that is reloaded while its run continues."""
    async with bench.open_page("chat") as page:
        await send(page, "slow")
        await expect(page.locator("li").last).to_contain_text("w3")
        await page.reload()
        await expect(page.locator("li").last).to_contain_text("w29")
        assert await page.locator("li").count() == 2


async def open_old_thread(bench: Bench) -> None:
    """A thread whose runs have ended."""
    async with bench.open_page("chat") as page:
        await send(page, "hi")
        await see_last(page, "1: w0 w1 w2")
        thread = await find_thread(page)
    async with bench.open_page("chat", thread=thread) as page:
        await see_last(page, "1: w0 w1 w2")
        await send(page, "again")
        await see_last(page, "2: w0 w1 w2")


async def refuse_other_origin(bench: Bench) -> None:
    """A page of an origin that is not allowed."""
    other = bench.origin.replace("localhost", "127.0.0.1")
    async with bench.open_page("chat", origin=other) as page:
        await send(page, "hi")
        await expect(page.locator("#error")).to_be_visible(timeout=SECONDS * 1000)


async def find_thread(page: Page) -> str:
    """Return the thread in the page's address."""
    return str(await page.evaluate("new URLSearchParams(location.search).get('thread')"))


async def follow_guide(bench: Bench) -> None:
    """The page of the guide: two messages."""
    async with bench.open_page("chat") as page:
        for turn in (1, 2):
            await page.get_by_role("button", name="Send").click()
            await expect(page.locator("p").last).to_have_text(f"{turn}: w0 w1 w2")
            await expect(page.get_by_role("button", name="Send")).to_be_enabled()


Scenarios = dict[str, Callable[[Bench], Awaitable[None]]]
SCENARIOS: Scenarios = {
    "two turns": send_two_turns,
    "tokens": see_tokens,
    "one interrupt": partial(answer_questions, graph="one", questions=("left?",)),
    "two interrupts": partial(answer_questions, graph="two", questions=("left?", "right?")),
    "stop": stop_run,
    "error": see_error,
    "reload during a run": reload_during_run,
    "old thread": open_old_thread,
    "origin not named": refuse_other_origin,
}
OF_HOOK: dict[str, Scenarios] = {
    **dict.fromkeys(HOOKS, SCENARIOS),
    "guide": {"page of the guide": follow_guide},
}


@asynccontextmanager
async def serve_runtime(home: Path) -> AsyncIterator[str]:
    """Run the runtime for pages of `localhost`, and yield its address."""
    graphs = {name: f"tests.clients.graphs:{name}" for name in GRAPHS}
    cors = {"allow_origins": ["http://localhost:*"]}
    (home / "langgraph.json").write_text(json.dumps({"graphs": graphs, "http": {"cors": cors}}))
    port, ready = free_port(), home / "port"
    command = [sys.executable, "-m", "agent.serve", "--port", str(port), "--home", str(home / "home")]
    command += ["--graphs", str(home / "langgraph.json"), "--port-file", str(ready)]
    environment = {**os.environ, "ROEBOT_RUNTIME_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
    with (home / "runtime.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stderr=log)
    try:
        async with asyncio.timeout(SECONDS):
            while not ready.exists():
                assert process.returncode is None, (home / "runtime.log").read_text()
                await asyncio.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def serve_reference(home: Path) -> AsyncIterator[str]:
    """Run LangGraph's development server with the same graphs, and yield its address."""
    (home / "reference").mkdir()
    shutil.copy(Path(__file__).with_name("graphs.py"), home / "reference")
    graphs = {name: f"./graphs.py:{name}" for name in GRAPHS}
    (home / "reference" / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    async with project_server(home / "reference", "--n-jobs-per-worker", "8") as url:
        yield url


@asynccontextmanager
async def serve_pages(folder: Path, api: str) -> AsyncIterator[str]:
    """Bundle the pages, serve them from `localhost`, and yield their origin."""
    (folder / "guide").mkdir()
    (folder / "guide" / "Chat.jsx").write_text(guide_component(api))
    pages = [str(Path(__file__).parent / "pages" / f"{hook}.jsx") for hook in OF_HOOK]
    options = ["--bundle", "--jsx=automatic", '--define:process.env.NODE_ENV="production"']
    bundler = INSTALLED / "node_modules" / ".bin" / "esbuild"
    environment = {**os.environ, "NODE_PATH": f"{INSTALLED / 'node_modules'}:{folder}"}
    command = [str(bundler), *pages, *options, "--log-level=error", f"--outdir={folder}"]
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    assert await process.wait() == 0, "the pages can't be bundled; run make install-clients"
    for hook in OF_HOOK:
        (folder / f"{hook}.html").write_text(PAGE.format(hook=hook))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


async def run_scenario(group: str, name: str, scenario: Awaitable[None]) -> bool:
    """Run a scenario and print its row."""
    begin, problem = time.monotonic(), ""
    try:
        await scenario
    except (AssertionError, TimeoutError, PlaywrightError, httpx.HTTPError) as error:
        problem = " ".join(str(error).split())[:300] or type(error).__name__
    seconds = time.monotonic() - begin
    print(f"{group:26}  {name:20}  {'FAIL' if problem else 'ok':4}  {seconds:5.1f} s  {problem}", flush=True)
    return not problem


async def run_hooks(hooks: list[str], home: Path, api: str, browser: Browser) -> list[bool]:
    """Run all scenarios of these hooks, and return whether each passed."""
    async with serve_pages(home, api) as origin:
        benches = [Bench(api, origin, browser, hook) for hook in hooks]
        return [
            await run_scenario(bench.hook, name, scenario(bench))
            for bench in benches
            for name, scenario in OF_HOOK[bench.hook].items()
        ]


async def run_application(name: str, checkout: Path, api: str, browser: Browser) -> list[bool]:
    """Run all scenarios of this application in each of its modes, and return whether each passed."""
    passed = []
    async with applications.serve_application(checkout, api, TOKEN) as origin:
        for passthrough in (False, True) if name == "agent-chat-ui" else (False,):
            app = applications.Application(name, origin, api, TOKEN, browser, passthrough)
            group = f"{name}{', passthrough' if passthrough else ''}"
            for row, scenario in applications.SCENARIOS.items():
                passed.append(await run_scenario(group, row, scenario(app)))
    return passed


async def run_clients(options: argparse.Namespace) -> int:
    """Run what the command line names, and return the number of failures."""
    checkouts = {name: path for name in APPLICATIONS if (path := getattr(options, name.replace("-", "_")))}
    serve = serve_reference if options.reference else serve_runtime
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with serve(home) as api, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            try:
                passed: list[bool] = []
                if options.hooks or not checkouts:
                    passed += await run_hooks(options.hooks or list(OF_HOOK), home, api, browser)
                for name, checkout in checkouts.items():
                    passed += await run_application(name, checkout, api, browser)
            finally:
                await browser.close()
    return passed.count(False)


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients")
    parser.add_argument("hooks", nargs="*", metavar="HOOK", help=f"of {', '.join(OF_HOOK)}; all by default")
    for name in APPLICATIONS:
        parser.add_argument(
            f"--{name}", type=Path, metavar="FOLDER", help="a checkout with a production build"
        )
    parser.add_argument("--reference", action="store_true", help="run LangGraph's development server instead")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(min(1, asyncio.run(run_clients(parse_options()))))
