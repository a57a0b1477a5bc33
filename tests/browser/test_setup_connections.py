"""Connecting models, accounts and MCP servers in the web console."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from playwright.async_api import Browser, expect

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.bot.features.settings.test_checks import REFUSED_KEY, host
from tests.browser.axe import serious
from tests.browser.steps import Steps
from tests.browser.tab import PHONE, opened
from tests.browser.test_setup_pages import START, choose, entry, extensions, said
from tests.harness.mcp import our_server
from tests.platforms.web.serving import MODELS, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
__all__ = ["extensions"]
SERVER = f"{sys.executable} -m tests.harness.mcp_server stdio"
KEY = "sk-planted-secret-of-the-provider"


async def test_a_model_is_connected_tested_and_removed(
    browser: Browser, tmp_path: Path, llmock: LLMock
) -> None:
    llmock.reply("ready")
    async with (
        world(tmp_path, extra=MODELS) as service,
        opened(browser, service, f"{START}models", viewport=PHONE, refused=(422,)) as tab,
    ):
        page, dialog = tab.page, tab.dialog
        await expect(entry(tab, "Scripted model")).to_contain_text("Default")
        await page.get_by_role("button", name="Test Scripted model").click()
        await expect(entry(tab, "Scripted model").get_by_role("status")).to_contain_text("Answered in")
        await page.goto(f"{service.url}{START}models/connect")
        await page.get_by_label("Provider").select_option("Another server (OpenAI-compatible)")
        await page.get_by_role("button", name="Test and save").click()
        await expect(page.get_by_label("Base URL")).to_be_focused()
        await expect(page.locator(".field").filter(has_text="Base URL")).to_contain_text("This is required.")
        await page.get_by_label("Base URL").fill(llmock.base_url())
        await page.locator("input[name=api_key]").fill(KEY)
        await page.get_by_label("Model", exact=True).fill("big")
        await expect(page.get_by_label("Use it as the default model")).not_to_be_checked()
        await page.get_by_label("Use it as the default model").check()
        assert await serious(page) == []
        assert await tab.fits()
        await page.get_by_role("button", name="Test and save").click()
        await expect(dialog).to_contain_text("$BIG_API_KEY")
        await dialog.get_by_role("button", name="Save").click()
        await expect(entry(tab, "big")).to_contain_text("Default")
        assert KEY not in (tmp_path / "config.yaml").read_text()
        assert KEY in (tmp_path / "secrets.env").read_text()
        assert KEY not in await page.content()
        await choose(tab, "Scripted model", "Make default")
        await dialog.get_by_role("button", name="Save").click()
        await expect(entry(tab, "Scripted model")).to_contain_text("Default")
        await choose(tab, "big", "Remove")
        await dialog.get_by_role("button", name="Save").click()
        await expect(entry(tab, "big")).to_have_count(0)


async def test_a_key_that_the_provider_refuses_is_saved_only_on_request(
    browser: Browser, tmp_path: Path
) -> None:
    async with (
        host(REFUSED_KEY) as url,
        world(tmp_path, extra=MODELS) as service,
        opened(browser, service, f"{START}models/connect") as tab,
    ):
        page, dialog = tab.page, tab.dialog
        await page.get_by_label("Provider").select_option("Another server (OpenAI-compatible)")
        below_key = page.locator(".field").filter(has=page.locator("input[name=api_key]")).locator(".problem")
        base = page.get_by_label("Base URL")
        await base.fill(url)
        await page.locator("input[name=api_key]").fill(KEY)
        await expect(below_key).to_contain_text("refused the key; copy it again")
        await page.locator("input[name=api_key]").fill(f"{KEY}-2")
        await expect(below_key).to_have_count(0)
        await base.fill(f"{url}/v1")
        await expect(below_key).to_contain_text("refused the key; copy it again")
        await page.get_by_label("Model", exact=True).fill("big")
        await page.get_by_role("button", name="Test and save").click()
        await expect(below_key).to_contain_text("rejected the API key")
        await page.get_by_role("button", name="Save without a test").click()
        await dialog.get_by_role("button", name="Save").click()
        await expect(entry(tab, "big")).to_be_visible()
        secrets = (tmp_path / "secrets.env").read_text()
        # Once the provider has refused it, the overview leads to the dialog.
        await entry(tab, "big").get_by_role("button", name="Test").click()
        await expect(entry(tab, "big")).to_contain_text("rejected the API key. Replace the key.")
        overview = page.locator(".side a[href='#/overview']")
        await expect(overview.locator(".count")).to_have_text("1")
        await overview.click()
        problem = page.locator(".thing").filter(has_text="The provider of the model big refuses its key.")
        await problem.get_by_role("link", name="Replace the key").click()
        await expect(dialog.locator("h2")).to_contain_text("big")
        await expect(dialog.locator("input")).to_be_focused()
        await page.keyboard.type(f"{KEY}-3")
        await page.keyboard.press("Enter")
        await expect(dialog.locator(".problem")).to_contain_text("rejected the API key")
        await expect(dialog.locator("input")).to_be_focused()
        assert (tmp_path / "secrets.env").read_text() == secrets
        assert await serious(page) == []
        await dialog.get_by_role("button", name="Save anyway").click()
        await expect(tab.dialog).to_have_count(0)
        assert f"{KEY}-3" in (tmp_path / "secrets.env").read_text()
        await expect(overview.locator(".count")).to_have_count(0)


async def test_an_account_goes_live_and_its_owner_is_found(browser: Browser, tmp_path: Path) -> None:
    async with (
        TelegramEmulator.serve() as emulator,
        world(tmp_path) as service,
        opened(browser, service, f"{START}accounts") as tab,
    ):
        page, dialog = tab.page, tab.dialog
        await page.get_by_role("link", name="Connect an account").click()
        await page.get_by_role("link", name="Telegram").click()
        await expect(page.locator("h1")).to_have_text("Connect Telegram")
        await page.get_by_role("button", name="Use another API address").click()
        await page.get_by_label("API address").fill(emulator.url)
        token = page.get_by_label("The token from @BotFather", exact=True)
        await token.fill("123456789:AA-wrong-token-wrong-token-wrong-to")
        await expect(page.locator(".field .problem")).to_contain_text("Telegram")
        assert await serious(page) == []
        await token.fill(emulator.token)
        await expect(page.locator(".field .accepted")).to_contain_text("Accepted:")
        await page.get_by_role("button", name="Connect", exact=True).click()
        await expect(dialog).to_contain_text("channels:")
        await expect(dialog).not_to_contain_text(emulator.token)
        await dialog.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Live as")).to_be_visible()
        await expect(page.get_by_text("Waiting for your first message…")).to_be_visible()
        emulator.people.says("hello", user=7)
        await page.get_by_role("button", name="Yes, this is me").click()
        await expect(page.get_by_text("Telegram is connected.")).to_be_visible()
        given = (await service.http.get("/api/access")).json()["given"]
        assert [(one["entry"], one["role"]) for one in given] == [("telegram:7", "owner")]
        assert emulator.token not in (tmp_path / "config.yaml").read_text()
        assert emulator.token not in await page.content()


async def test_a_refused_token_is_replaced_and_an_account_restarted(browser: Browser, tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        broken = f'channels: {{telegram: {{bot_token: "123456789:AAwrong", base_url: "{emulator.url}"}}}}\n'
        async with (
            world(tmp_path, extra=broken) as service,
            opened(browser, service, f"{START}accounts", viewport=PHONE) as tab,
        ):
            row = entry(tab, "telegram")
            await expect(row).to_contain_text("Failed")
            await choose(tab, "telegram", "Restart")
            await tab.dialog.locator(".primary").click()
            await expect(said(tab, "Restarting telegram…")).to_be_visible()
            assert await tab.fits()
            await row.get_by_role("button", name="Replace the token").click()
            await expect(tab.dialog.locator("input")).to_be_focused()
            await tab.page.keyboard.type(emulator.token)
            await expect(tab.dialog.locator(".accepted")).to_contain_text("Accepted:")
            assert await serious(tab.page) == []
            await tab.page.keyboard.press("Enter")
            await expect(said(tab, "Saved and applied.")).to_be_visible()
            await expect(row).to_contain_text("Live")


async def test_an_mcp_server_is_added_beside_another(
    browser: Browser, tmp_path: Path, extensions: Path
) -> None:
    off = {"command": "x", "env": {"TOKEN": "s3cret"}, "enabled": False, "description": "Does things"}
    extensions.write_text(json.dumps({"mcpServers": {"things": off}}))
    async with (
        world(tmp_path) as service,
        opened(browser, service, f"{START}mcp", viewport=PHONE, refused=(422,)) as tab,
    ):
        page, dialog = tab.page, tab.dialog
        await expect(entry(tab, "things")).to_contain_text("Does things")
        await page.get_by_role("link", name="Add a server").click()
        await page.get_by_label("Type").select_option("Command on this machine")
        await page.get_by_label("Command", exact=True).fill(SERVER)
        name = page.get_by_label("Name", exact=True)
        await expect(name).to_have_value("tests-harness-mcp_server")
        await name.fill("things")
        await expect(page.locator("roe-form")).to_contain_text("Another server already has this name.")
        await page.get_by_role("button", name="Connect and list tools").click()
        await expect(name).to_be_focused()
        await name.fill("mine")
        await page.get_by_role("button", name="Connect and list tools").click()
        await expect(page.locator("#found")).to_be_focused()
        tools = await page.locator(".check strong").all_inner_texts()
        assert len(tools) > 1
        await expect(page.locator(".check input:checked")).to_have_count(0)
        await page.get_by_role("button", name="Add the server").click()
        await expect(page.get_by_role("alert")).to_have_text("Choose at least one tool, or all of them.")
        everything = page.get_by_role("switch", name="All tools")
        await everything.check()
        await expect(page.get_by_role("alert")).to_have_count(0)
        await expect(page.locator(".check input:checked:disabled")).to_have_count(len(tools))
        await everything.uncheck()
        await page.locator(".check input").first.check()
        assert await serious(page) == []
        assert await tab.fits()
        await page.get_by_role("button", name="Add the server").click()
        await expect(said(tab, "mine was added.")).to_be_visible()
        stored = json.loads(extensions.read_text())["mcpServers"]
        assert (stored["things"], stored["mine"]["tools"]) == (off, tools[:1])
        await entry(tab, "mine").locator("summary").click()
        switch = page.get_by_role("switch", name=tools[1], exact=True)
        await switch.check()
        await expect(said(tab, f"{tools[1]} is on.")).to_be_visible()
        assert json.loads(extensions.read_text())["mcpServers"]["mine"]["tools"] == tools[:2]
        await choose(tab, "things", "Edit")
        area = dialog.get_by_label("Configuration, as JSON")
        shown = json.loads(await area.input_value())
        assert shown["env"] == {"TOKEN": "***"}
        await area.fill("{")
        await dialog.get_by_role("button", name="Save").click()
        await expect(dialog.get_by_role("alert")).to_contain_text("Invalid JSON")
        await area.fill(json.dumps({**shown, "description": "Does more"}))
        await dialog.get_by_role("button", name="Save").click()
        await expect(entry(tab, "things")).to_contain_text("Does more")
        assert json.loads(extensions.read_text())["mcpServers"]["things"]["env"] == {"TOKEN": "s3cret"}
        await choose(tab, "mine", "Remove")
        await dialog.locator(".primary").click()
        await expect(said(tab, "mine was removed.")).to_be_visible()
        assert list(json.loads(extensions.read_text())["mcpServers"]) == ["things"]


async def test_an_mcp_server_is_added_with_one_tool_in_six_steps(
    browser: Browser, tmp_path: Path, extensions: Path
) -> None:
    extensions.write_text(json.dumps({"mcpServers": {"local": {"command": "x", "enabled": False}}}))
    async with (
        our_server("http") as (port, _),
        world(tmp_path) as service,
        opened(browser, service) as tab,
    ):
        page, steps = tab.page, Steps(tab.page)
        checks = list[str]()
        page.on("request", lambda request: checks.extend(re.findall("servers/check$", request.url)))
        await steps.opens("MCP servers")
        await steps.clicks(page.get_by_role("link", name="Add a server"))
        await steps.fills(page.get_by_label("URL", exact=True), f"http://127.0.0.1:{port}/mcp")
        await expect(page.get_by_label("Name", exact=True)).to_have_value("local-2")
        await steps.clicks(page.get_by_role("checkbox", name="add", exact=False).first)
        await steps.clicks(page.get_by_role("button", name="Add the server"))
        await expect(said(tab, "local-2 was added.")).to_be_visible()
        assert steps.count <= 6
        assert json.loads(extensions.read_text())["mcpServers"]["local-2"]["tools"] == ["add"]
        await page.get_by_role("link", name="Add a server").click()
        await page.get_by_label("URL", exact=True).fill("http://127.0.0.1:9/mcp")
        await expect(page.locator("#found")).to_have_text("The server can't be used")
        assert len(checks) == 2
        await page.get_by_label("Type").select_option("Command on this machine")
        await expect(page.locator("#found")).to_have_count(0)
        await page.get_by_label("Command", exact=True).fill("npx -y @example/server-of-tickets")
        await expect(page.get_by_label("Name", exact=True)).to_have_value("of-tickets")
        await page.get_by_label("Type").select_option("Remote server (URL)")
        await page.get_by_role("button", name="Connect and list tools").click()
        await page.get_by_role("button", name="Add it anyway").click()
        await expect(entry(tab, "local-3")).to_contain_text("The last check failed")
        assert len(checks) == 3


async def test_documentation_is_searched_and_read(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, f"{START}docs", viewport=PHONE) as tab:
        await tab.page.get_by_role("searchbox").fill("connect slack")
        await tab.page.get_by_role("link", name="Connect Slack").first.click()
        await expect(tab.page.locator("h1")).to_have_text("Connect Slack")
        await expect(tab.page.locator(".docs-page h2").first).to_be_visible()
        assert await tab.fits()
        assert await serious(tab.page) == []
