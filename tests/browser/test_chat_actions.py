"""What can be done with an answer and with a whole chat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import CHAT, DONE, PHONE, opened
from tests.platforms.web.serving import MODELS, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
MARKDOWN = "**bold**  \n\n- a\n- b"


async def test_an_answer_is_copied_rated_and_explained(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.send(MARKDOWN)
        await tab.answer()
        answer = tab.page.locator(DONE)
        await expect(answer.locator(".answer strong")).to_have_text("bold")
        await answer.get_by_role("button", name="Copy as Markdown").click()
        await expect(tab.page.locator(".toast")).to_have_text("Copied")
        await expect(tab.page.locator(".toast")).to_have_css("pointer-events", "none")
        turn = (await service.http.get("/api/turns?limit=1")).json()["turns"][0]
        copied = await tab.page.evaluate("navigator.clipboard.readText()")
        assert copied == turn["parts"][0]["text"]
        up = answer.get_by_role("button", name="Good answer")
        await up.click()
        await expect(up).to_have_attribute("aria-pressed", "true")
        await answer.get_by_role("button", name="Bad answer").click()
        await expect(up).to_have_attribute("aria-pressed", "false")
        found = (await service.http.get(f"/api/turns/{turn['id']}")).json()
        assert found["rating"] == -1
        await answer.get_by_role("button", name="Details").click()
        await expect(tab.dialog).to_contain_text("Duration")
        await tab.dialog.get_by_role("link", name="Open the trace").click()
        await expect(tab.dialog).to_have_count(0)
        assert tab.page.url.endswith(f"#/turns/{turn['id']}")


async def test_answers_are_replaced_by_regenerating_and_editing(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        await tab.send("[fail=overloaded] hello")
        failed = tab.page.locator('.turn[data-state="failed"]')
        await expect(failed.locator(".failure")).to_contain_text("The answer failed")
        await expect(failed.locator(".failure")).not_to_contain_text("/retry")
        await failed.get_by_role("button", name="Try again").click()
        await expect(tab.page.locator(".turn.replaced .marks")).to_contain_text("Replaced by a later answer")
        again = tab.page.locator(".turn.last")
        await expect(again.locator(".marks")).to_contain_text("Regenerated")
        await expect(again.locator(".failure")).to_be_visible()
        left = tab.page.locator(".turn.replaced :is(.acts:not(.end), .failure .row:not(.fail-head)) .button")
        await expect(left.filter(visible=True)).to_have_count(1)
        await expect(left.filter(visible=True)).to_have_attribute("aria-label", "Copy as Markdown")
        await tab.page.focus("#text")
        await tab.page.keyboard.press("ArrowUp")
        field = tab.page.get_by_role("textbox", name="Edit message")
        await expect(field).to_have_value("[fail=overloaded] hello")
        await field.fill("something else")
        await tab.page.keyboard.press("Escape")
        await expect(field).to_have_count(0)
        await expect(tab.page.locator("#text")).to_be_focused()
        await tab.page.keyboard.press("ArrowUp")
        await field.fill("better")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator(f"{DONE} .answer")).to_have_text("better")
        await expect(tab.page.locator(".old-answer > summary")).to_have_text(
            ["Show the replaced message", "Show the replaced message"]
        )
        regenerate = tab.page.get_by_role("button", name="Regenerate")
        await tab.page.hover(".turn.last")
        await regenerate.click()
        await expect(tab.page.locator(f"{DONE}.last .marks")).to_contain_text("Regenerated")
        await expect(tab.page.locator(".turn.last .answer")).to_have_text("better")


async def test_a_refused_key_is_replaced_from_the_failure(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=MODELS) as service, opened(browser, service, CHAT) as tab:
        await tab.send("[fail=auth] hello")
        await tab.page.get_by_role("link", name="Replace the key").click()
        await expect(tab.dialog).to_contain_text("Replace the key of Scripted model")
        await expect(tab.dialog.locator("input")).to_be_focused()
        assert tab.page.url.endswith("#/models")
        await tab.page.keyboard.type("sk-another")
        await tab.page.keyboard.press("Enter")
        await tab.dialog.get_by_role("button", name="Save anyway").click()
        await tab.page.get_by_role("button", name="Back to the answer").click(timeout=9000)
        await expect(tab.page.locator(".failure")).to_contain_text("Replace the key")


async def test_steps_stay_in_the_answer(browser: Browser, tmp_path: Path) -> None:
    extra = f"{MODELS}memory: {{enabled: false}}\ntitle: {{enabled: false}}\n"
    async with (
        world(tmp_path, graph="lead_agent", extra=extra) as service,
        opened(browser, service, CHAT) as tab,
    ):
        await tab.send('[tool=ls {"path": "/mnt/user-data/workspace"}] [tokens=80] [every=0.05] look')
        summary = tab.page.locator(".work-steps > summary")
        await expect(summary).to_contain_text("Used 1 tool")
        await summary.click()
        await expect(tab.page.locator(".work-steps .calls")).to_contain_text("/mnt/user-data/workspace")
        await tab.answer()
        await expect(summary).to_contain_text(" · ")
        await expect(tab.page.locator(".work-steps .calls")).to_be_visible()


async def test_chats_are_found_renamed_exported_and_deleted(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        for text in ("renew the certificate", "周报：本周完成的工作"):
            await tab.page.click("#new")
            await tab.send(text)
            await tab.answer()
        chats = tab.page.locator("#conversations .conversation")
        await expect(chats).to_have_count(2)
        await tab.page.keyboard.press("Control+k")
        await expect(tab.dialog.get_by_role("option")).not_to_have_count(0)
        await tab.page.keyboard.type("完成的")
        await expect(tab.dialog.locator("mark").first).to_have_text("完成的")
        await tab.dialog.get_by_role("combobox").fill("certif")
        await expect(tab.dialog.get_by_role("option").first).to_contain_text("renew the certificate")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator(".bubble")).to_have_text("renew the certificate")
        await tab.page.keyboard.press("Control+k")
        await tab.dialog.get_by_role("combobox").fill("周报")
        await tab.dialog.get_by_role("option", name="周报").last.click()
        await expect(tab.page.locator(".turn.revealed .bubble")).to_have_text("周报：本周完成的工作")
        await chats.filter(has_text="renew").click()
        await expect(tab.page.locator(".bubble")).to_have_text("renew the certificate")
        await tab.page.hover(".chat-item:has([aria-current=page])")
        await tab.page.get_by_role("button", name="Actions for renew the certificate").click()
        await tab.page.get_by_role("menuitem", name="Rename").click()
        await tab.page.locator(".rename").fill("Certificates")
        await tab.page.keyboard.press("Enter")
        await expect(chats.filter(has_text="Certificates")).to_be_focused()
        await expect(tab.page.locator("#section-title")).to_have_text("Certificates")
        await tab.page.get_by_role("button", name="Chat actions").click()
        async with tab.page.expect_download() as download:
            await tab.page.get_by_role("menuitem", name="Export as JSON").click()
        path = await (await download.value).path()
        assert "renew the certificate" in json.dumps(json.loads(path.read_text()))
        await tab.page.get_by_role("button", name="Chat actions").click()
        await tab.page.get_by_role("menuitem", name="Delete chat").click()
        await expect(tab.dialog).to_contain_text("It can't be undone")
        await tab.dialog.get_by_role("button", name="Delete").click()
        await expect(chats).to_have_text(["周报：本周完成的工作"])
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await tab.page.keyboard.press("Escape")
        await tab.page.locator("#section-title").focus()
        await tab.page.keyboard.press("?")
        await expect(tab.dialog).to_contain_text("Edit your last message")


async def test_a_phone_does_everything_with_taps(browser: Browser, tmp_path: Path) -> None:
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    async with (
        world(tmp_path, graph="slow") as service,
        opened(browser, service, CHAT, **options) as tab,
    ):
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await tab.page.fill("#text", "[tokens=3000] count")
        await tab.page.tap("#send")
        await expect(tab.page.locator(".answer.growing")).to_contain_text("word2 ")
        await tab.page.tap("#stop")
        stopped = tab.page.locator('.turn[data-state="cancelled"]')
        await expect(stopped.get_by_role("button", name="Regenerate")).to_be_visible()
        await expect(tab.page.locator('.turn[data-kind="command"] .answer')).to_have_text("Stopped.")
        await expect(tab.page.locator(".bubble")).to_have_text(["[tokens=3000] count"])
        await stopped.get_by_role("button", name="Edit message").tap()
        await tab.page.get_by_role("textbox", name="Edit message").fill("[tokens=3] again")
        await tab.page.get_by_role("button", name="Send again").tap()
        await expect(tab.page.locator(f"{DONE} .answer")).to_have_text("word1 word2 word3")
        assert await tab.fits()
        small = "[...document.querySelectorAll('button, a')].filter(e => e.checkVisibility() && "
        small += "e.getBoundingClientRect().width && e.getBoundingClientRect().height < 39.5 && "
        small += "e.closest('.main')).map(e => e.outerHTML.slice(0, 90))"
        assert await tab.page.evaluate(small) == []
        await tab.page.tap(".open-side")
        await expect(tab.page.locator("#conversations .conversation")).to_be_visible()
        await tab.page.locator(".chat-item .button").tap()
        await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_visible()
