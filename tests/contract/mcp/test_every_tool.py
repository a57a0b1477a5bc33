"""Every tool of a browser's server and of one that breaks the protocol, from the embedded client.

The provider is as strict as the real one, and the thread answers afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.harness.mcp import served
from tests.harness.mcp_browser import REQUESTS
from tests.harness.mcp_contents import all_results
from tests.harness.mcp_talk import StrictTalk, Use, talking

pytestmark = pytest.mark.may_block
LONG = pytest.mark.long
AT_ONCE = 8
WAYS = [
    ("anthropic", "stdio"),
    pytest.param("anthropic", "http", marks=LONG),
    pytest.param("openai", "stdio", marks=LONG),
    pytest.param("openai", "http", marks=LONG),
]
SHOWN = (
    r"\[image/png, [\d,]+ bytes, stored in /mnt/user-data/outputs/\S+\.png; you see it in your next step\]"
)
BUTTON = {"element": "Buy", "ref": "e3"}
BROWSER = [
    [
        Use(
            "browser_navigate",
            {"url": "https://shop.example"},
            r"Page URL: https://shop\.example.*button \"Buy\"",
        )
    ],
    [
        Use("browser_snapshot", {}, "textbox"),
        Use("browser_take_screenshot", {"type": "png"}, rf"Screenshot of viewport.*{SHOWN}$"),
        Use("browser_console_messages", {}, "red"),
        Use("browser_network_requests", {}, r"characters in 2,001 lines.*characters are omitted here"),
    ],
    [
        Use("browser_click", {**BUTTON, "doubleClick": True}, "click"),
        Use("browser_type", {"element": "Name", "ref": "e4", "text": "Anna"}, "fill"),
        Use("browser_fill_form", {"fields": [{"name": "Name"}]}, "getByLabel"),
        Use("browser_evaluate", {"function": "() => {}"}, "undefined"),
        Use("browser_wait_for", {"time": 1}, "setTimeout"),
    ],
    [
        Use("browser_pdf_save", {}, r"\[application/pdf, 8 bytes, stored in \S+/page-\w+\.pdf\]$"),
        Use("browser_handle_dialog", {"accept": True}, "No dialog visible", failed=True),
        Use("browser_tabs", {"action": "list"}, "current"),
        Use("browser_navigate_back", {}, "goBack"),
    ],
    [Use("browser_close", {}, "No open tabs")],
]


@asynccontextmanager
async def talk_to(module: str, provider: str, transport: str, home: Path) -> AsyncIterator[StrictTalk]:
    async with served(module, transport) as entry, talking(provider, "own", entry, home) as talk:
        yield talk


@pytest.mark.parametrize(("provider", "transport"), WAYS)
async def test_every_tool_of_a_browser(tmp_path: Path, provider: str, transport: str) -> None:
    async with talk_to("mcp_browser", provider, transport, tmp_path) as talk:
        tools = await talk.find_tools()
        for uses in BROWSER:
            results = await talk.use(*uses)
            assert all(len(result) < 21_000 for result in results)
        assert talk.used == tools
        [page] = await talk.use(Use("browser_take_screenshot", {"fullPage": True}, "full page"))
        assert "you can't see it, because it has 1,280 × 9,000 pixels" in page
        [log] = await talk.use(Use("browser_network_requests"))
        assert f"item/{REQUESTS - 1}" in log, "the end is there"
        assert await talk.answers()


@LONG
@pytest.mark.parametrize(("provider", "transport"), WAYS)
async def test_every_malformed_or_oversized_result(tmp_path: Path, provider: str, transport: str) -> None:
    async with talk_to("mcp_contents", provider, transport, tmp_path) as talk:
        tools = await talk.find_tools()
        await talk.use(
            Use("typed", {}, "as I like it"),
            Use("arguments", {"config": 1, "self": 2}, "config=1 self=2"),
            Use("alternatives", {"url": "x"}, "url=x"),
        )
        uses = [Use("give", {"kind": kind}, ".", failed=kind.startswith("error")) for kind in all_results()]
        for at in range(0, len(uses), AT_ONCE):
            results = await talk.use(*uses[at : at + AT_ONCE])
            assert all(len(result) < 21_000 for result in results)
        assert talk.used == tools
        assert await talk.answers()
