"""Conversations and turns in the web console."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.domain import ProgressState, ToolStep
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from tests.browser.tab import DONE, PHONE, opened
from tests.platforms.web.serving import world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]


async def test_a_conversation_shows_its_turns_and_transcript(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        posted = await service.say(conversation, "hello **there**")
        await service.turn(posted["turn"])
        terminal = await service.open("terminal", "tty")
        await service.turn((await service.say(terminal, "from the terminal"))["turn"])
        async with opened(browser, service, "/#/conversations", viewport=PHONE) as tab:
            await tab.box.get_by_role("link", name="hello **there**").click()
            await tab.row(f"Turn {posted['turn']}", "done", "delivered")
            talk = tab.box.locator(".turn-list .words")
            await expect(talk).to_have_text("hello **there**")
            await expect(tab.box.locator(".turn-list .markdown strong")).to_have_text("there")
            assert await tab.fits()
            await tab.box.get_by_role("link", name="All conversations").click()
            await tab.box.get_by_label("Account").select_option("terminal")
            await tab.row("from the terminal", "tty")
            await expect(tab.page.locator("#section-title")).to_have_text("Conversations")
            await tab.page.reload()
            await expect(tab.box.get_by_label("Account")).to_have_value("terminal")


async def test_an_open_conversation_updates_live(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        await service.turn((await service.say(conversation, "first"))["turn"])
        async with opened(browser, service, f"/#/conversations/{conversation}") as tab:
            await expect(tab.box.locator(".turn-list > li")).to_have_count(1)
            await service.say(conversation, "second")
            await expect(tab.box.locator(".turn-list > li")).to_have_count(2)
            await expect(tab.box.locator(".turn-list > li").last.locator(".words, .markdown")).to_have_text(
                ["second", "second"]
            )


async def test_the_last_answer_is_retried(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        turn = (await service.turn((await service.say(conversation, "hello"))["turn"]))["id"]
        async with opened(browser, service, f"/#/conversations/{conversation}") as tab:
            await tab.press(f"Regenerate: turn {turn}", sure=True)
            await expect(tab.said).to_have_text("Answering again…")
            await tab.row(f"Turn {turn}", "done, replaced")
            await tab.box.get_by_role("link", name="Open in chat").click()
            await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("hello")


async def test_a_turn_is_retried_from_its_own_section(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open("terminal", "tty")
        old = (await service.turn((await service.say(conversation, "one"))["turn"]))["id"]
        turn = (await service.turn((await service.say(conversation, "two"))["turn"]))["id"]
        async with opened(browser, service, f"/#/turns/{old}", viewport=PHONE) as tab:
            await expect(tab.box.locator(".facts")).to_be_visible()
            await expect(tab.box.get_by_role("button", name=f"Regenerate: turn {old}")).to_have_count(0)
            await tab.page.goto(f"{service.url}/#/turns/{turn}")
            await tab.press(f"Regenerate: turn {turn}", sure=True)
            await expect(tab.said).to_have_text("Answering again…")
            await expect(tab.box.locator(".facts")).to_contain_text("done, replaced")
            assert await tab.fits()


async def test_turns_of_all_conversations_are_listed(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one, other = await service.open(), await service.open()
        good = await service.turn((await service.say(one, "all is well"))["turn"])
        bad = await service.turn((await service.say(other, "[fail=overloaded] hello"))["turn"])
        async with opened(browser, service, "/#/turns") as tab:
            await tab.row(f"Turn {good['id']}", "all is well", "done", "delivered")
            await tab.row(f"Turn {bad['id']}", "failed")
            for turn, conversation in ((good, one), (bad, other)):
                row = tab.box.locator("tr").filter(has_text=f"Turn {turn['id']}")
                link = row.get_by_role("link", name=f"Conversation {conversation}", exact=True)
                await expect(link).to_be_visible()
            await tab.box.get_by_role("link", name=f"Turn {bad['id']}", exact=True).click()
            await expect(tab.box.locator(".facts")).to_contain_text("failed")
            await expect(tab.box.locator(".turn-list .markdown").last).to_contain_text("/retry")


async def test_turns_are_paginated(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for number in range(51):
            await service.turn((await service.say(conversation, f"/status {number}"))["turn"])
        async with opened(browser, service, "/#/turns") as tab:
            await expect(tab.box.locator("tbody tr")).to_have_count(50)
            await tab.press("Show more")
            await expect(tab.box.locator("tbody tr")).to_have_count(51)
            await expect(tab.box.get_by_role("button", name="Show more")).to_have_count(0)
            await tab.page.click("#refresh")
            await expect(tab.box.locator("tbody tr")).to_have_count(51)


async def test_a_transcript_shows_tool_calls_and_tokens(browser: Browser, tmp_path: Path) -> None:
    steps = (
        ToolStep("read_file", "path: /a", ProgressState.DONE, "<b>figures</b>", 1.5),
        ToolStep("bash", "command: make", ProgressState.FAILED, "no such target"),
    )
    async with world(tmp_path) as service:
        conversation = await service.open()
        turn = (await service.turn((await service.say(conversation, "hello"))["turn"]))["id"]
        now, spent = service.service.clock.now(), TurnUsage("web:owner", 100, 20, 120)
        await service.service.db.transact(save_turn, turn, [], now, steps=steps, spent=spent)
        async with opened(browser, service, f"/#/conversations/{conversation}", viewport=PHONE) as tab:
            calls = tab.box.locator(f"#steps-{turn}")
            await expect(calls.locator("table")).to_be_hidden()
            await calls.get_by_text("Tool calls: 2").click()
            await expect(calls.locator("tbody tr").first).to_contain_text("path: /a")
            await expect(calls.locator("tbody tr").first).to_contain_text("done <b>figures</b>")
            await expect(calls.locator("tbody tr").first).to_contain_text("1.5 s")
            await expect(calls.locator("tbody tr").last).to_contain_text("failed no such target")
            await expect(tab.box.locator(".turn-list > li")).to_contain_text("Tokens: 100 in, 20 out")
            assert await tab.fits()
