"""The chat of the web console in a browser. Tests wait for elements, never for time."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.tab import CHAT, DONE, opened
from tests.platforms.web.serving import MODELS, world

AT_END = """(({scrollHeight, scrollTop, clientHeight}) => scrollHeight - scrollTop - clientHeight < 5)(
    document.querySelector("#scroll"))"""
DROP = """() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["x"], "dropped.txt", {type: "text/plain"}));
    for (const type of ["dragover", "drop"])
        document.querySelector("#chat").dispatchEvent(new DragEvent(type, {dataTransfer, bubbles: true}));
}"""
pytestmark = [pytest.mark.browser, pytest.mark.may_block]
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301"
    "0100c9fe92ef0000000049454e44ae426082"
)


async def test_an_answer_streams_and_is_announced(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await tab.send("[tokens=60] hello")
        growing = tab.page.locator(".answer.growing")
        await expect(growing).to_contain_text("word1")
        await expect(tab.page.locator("#stop")).to_be_visible()
        first = await growing.inner_text()
        assert "word60" not in first
        answer = await tab.answer()
        assert answer.startswith(first.strip())
        assert answer.split()[-1] == "word60"
        await expect(tab.page.locator("#stop")).to_have_count(0)
        await expect(tab.page.locator(".answer.growing")).to_have_count(0)
        await expect(tab.page.locator("#conversations [aria-current=page]")).to_have_text("[tokens=60] hello")
        await expect(tab.page.locator("#announce")).to_contain_text("word1")
        await expect(tab.page).to_have_title("[tokens=60] hello · Roebot")
        assert "?c=" in tab.page.url


async def test_the_transcript_follows_what_the_reader_says(browser: Browser, tmp_path: Path) -> None:
    """Also where something below shrinks; the reader alone goes up."""
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        page = tab.page
        for number in range(4):
            await tab.send("\n".join([f"[tokens=150] [every=0.001] {number}"] * 8))
            await expect(page.locator(".turn")).to_have_count(number + 1)
            await tab.answer()
            await page.wait_for_function(AT_END)
            await expect(page.locator("#down")).to_be_hidden()
        await page.mouse.move(600, 300)
        await page.mouse.wheel(0, -500)
        await expect(page.locator("#down")).to_be_visible()


async def test_what_the_reader_unfolds_stays_in_view(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        lines = "\n\n".join(f"Line {number}" for number in range(60))
        await tab.send(f"Hello\n\n<details><summary>More</summary>\n\n{lines}\n\n</details>")
        summary, down = tab.page.locator(".answer summary"), tab.page.locator("#down")
        await summary.click()
        await expect(down).to_be_visible()
        await expect(summary).to_be_in_viewport()
        await summary.click()
        await expect(down).to_be_hidden()
        assert await tab.page.evaluate(AT_END)


async def test_a_reload_and_a_second_tab_show_the_same_stream(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        await tab.send("[tokens=120] hello")
        await expect(tab.page.locator(".answer.growing")).to_contain_text("word5 ")
        await tab.page.reload()
        growing = tab.page.locator(".answer.growing")
        await expect(growing).to_contain_text("word5 ")
        assert "word120" not in await growing.inner_text()
        path = tab.page.url.removeprefix(service.url)
        async with opened(browser, service, path) as second:
            await expect(second.page.locator(".answer.growing")).to_contain_text("word5 ")
            await expect(second.page.locator(".bubble")).to_have_text("[tokens=120] hello")
            answers = [await tab.answer(), await second.answer()]
            assert answers[0] == answers[1]
            assert answers[0].split() == [f"word{number}" for number in range(1, 121)]
            assert await second.page.locator(".turn").count() == 1
            await second.send("[tokens=2] two")
            await expect(tab.page.locator(".bubble")).to_have_text(["[tokens=120] hello", "[tokens=2] two"])
            await expect(tab.page.locator(f"{DONE} .answer").last).to_have_text("word1 word2")


async def test_an_answer_is_stopped_by_button_and_by_key(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        stopped = tab.page.locator('.turn[data-state="cancelled"]')
        for number in (1, 2):
            await tab.send("[tokens=3000] count")
            await expect(tab.page.locator(".answer.growing")).to_contain_text("word2 ")
            if number == 1:
                await tab.page.click("#stop")
            else:
                await tab.page.keyboard.press("Escape")
            await expect(stopped).to_have_count(number)
            await expect(stopped.last.locator(".answer")).to_contain_text("(stopped)")
            await expect(tab.page.locator("#stop")).to_have_count(0)


async def test_messages_wait_while_an_answer_runs(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        await tab.send("[tokens=40] first")
        await expect(tab.page.locator(".answer.growing")).to_be_visible()
        await tab.send("[tokens=3] second")
        await expect(tab.page.locator('.turn[data-state="accepted"] .marks')).to_have_text("Waiting")
        await expect(tab.page.locator(DONE)).to_have_count(2)
        assert (await tab.answer(0)).split()[-1] == "word40"
        assert (await tab.answer(1)).split()[-1] == "word3"


async def test_a_long_answer_is_followed_until_the_reader_scrolls_up(
    browser: Browser, tmp_path: Path
) -> None:
    async with world(tmp_path, graph="slow") as service, opened(browser, service, CHAT) as tab:
        await tab.page.set_viewport_size({"width": 700, "height": 420})
        await tab.send("[tokens=4000] [every=0.005] long")
        await expect(tab.page.locator(".answer.growing")).to_contain_text("word400 ")
        assert await tab.page.evaluate(AT_END)
        await tab.page.hover("#scroll")
        await tab.page.mouse.wheel(0, -300)
        await expect(tab.page.locator("#down")).to_be_visible()
        seen = await tab.page.locator(".answer.growing").inner_text()
        await expect(tab.page.locator(".answer.growing")).not_to_have_text(seen)
        assert not await tab.page.evaluate(AT_END)
        await tab.page.click("#down")
        await expect(tab.page.locator("#down")).to_be_hidden()
        assert await tab.page.evaluate(AT_END)
        await tab.page.click("#stop")
        await expect(tab.page.locator("#stop")).to_have_count(0)


async def test_a_slash_suggests_commands_and_their_words(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=MODELS) as service, opened(browser, service, CHAT) as tab:
        hints, text = tab.page.locator("#hints li"), tab.page.locator("#text")
        await tab.page.wait_for_load_state("networkidle")
        await text.fill("/")
        await expect(hints.first).to_contain_text("/help")
        await text.fill("/mod")
        await expect(hints.locator("code")).to_have_text(["/models", "/model [NAME]"])
        await tab.page.keyboard.press("ArrowDown")
        await expect(hints.nth(1)).to_have_attribute("aria-selected", "true")
        await expect(text).to_have_attribute("aria-activedescendant", "hint-1")
        await tab.page.keyboard.press("Tab")
        await expect(text).to_have_value("/model ")
        await expect(hints.locator("code")).to_have_text(["scripted"])
        await text.fill("/busy ")
        await expect(hints.locator("code")).to_have_text(["queue", "interrupt", "steer", "reject", "default"])
        await tab.page.keyboard.press("Escape")
        await expect(hints).to_have_count(0)
        await text.fill("/stat")
        await expect(hints).to_have_count(1)
        await tab.page.keyboard.press("Enter")
        await expect(text).to_have_value("/status")
        await tab.page.keyboard.press("Enter")
        command = tab.page.locator('.turn[data-kind="command"][data-state="done"]')
        await expect(command.locator(".answer")).to_contain_text("Nothing is running.")


async def test_files_are_attached_and_downloaded(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, graph="artifact") as service, opened(browser, service, CHAT) as tab:
        note = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"my notes"}
        picture = {"name": "dot.png", "mimeType": "image/png", "buffer": PICTURE}
        await tab.page.set_input_files("#file", [note, picture])  # type: ignore[arg-type]
        await expect(tab.page.locator("#files li")).to_have_text(["notes.txt", "dot.png"])
        await expect(tab.page.locator("#files img")).to_have_js_property("naturalWidth", 1)
        await tab.page.get_by_role("button", name="Remove dot.png").click()
        await expect(tab.page.locator("#text")).to_be_focused()
        await tab.send("please [file=answer.txt]")
        await expect(tab.page.locator(".tags .tag")).to_have_text("notes.txt")
        link = tab.page.locator("a.file")
        await expect(link).to_contain_text("answer.txt")
        async with tab.page.expect_download() as download:
            await link.click()
        path = await (await download.value).path()
        assert "please" in path.read_text()
        big = {"name": "big.bin", "mimeType": "application/octet-stream", "buffer": b"x" * 20_000_001}
        await tab.page.set_input_files("#file", [big])  # type: ignore[arg-type]
        await expect(tab.page.locator("#problem")).to_have_text("big.bin is too large. The limit is 20 MB.")
        await expect(tab.page.locator("#files li")).to_have_count(0)
        await tab.page.evaluate(DROP)
        await expect(tab.page.locator("#files li")).to_have_text("dropped.txt")


async def test_an_unreachable_service_loses_no_message(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        await tab.send("hello")
        await expect(tab.page.locator(f"{DONE} .answer")).to_have_text("hello")
        tab.offline = True
        await tab.page.route("**/api/**", lambda route: route.abort())
        await tab.send("are you there?")
        await expect(tab.page.locator(".offline")).to_be_visible()
        await expect(tab.page.locator("#problem")).to_contain_text(
            "Your message is still in the message field."
        )
        await expect(tab.page.locator("#text")).to_have_value("are you there?")
        await tab.page.unroute("**/api/**")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator(f"{DONE} .answer")).to_have_text(["hello", "are you there?"])
        await expect(tab.page.locator(".offline")).to_be_hidden()


async def test_drafts_stay_with_their_chats(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        text = tab.page.locator("#text")
        note = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"my notes"}
        await tab.send("first talk")
        await tab.answer()
        await text.fill("for the first")
        await tab.page.set_input_files("#file", [note])  # type: ignore[arg-type]
        await tab.page.click("#new")
        await expect(tab.page.locator("#welcome")).to_be_visible()
        await expect(tab.page.locator(".turn")).to_have_count(0)
        await expect(text).to_have_value("")
        await expect(text).to_be_focused()
        await tab.page.locator(".starter").first.click()
        await expect(text).to_have_value("What can you do for my team?")
        await tab.page.keyboard.press("Enter")
        await tab.answer()
        await expect(tab.page.locator("#conversations .conversation")).to_have_count(2)
        await tab.page.click("#conversations .conversation >> text=first talk")
        await expect(tab.page.locator(".bubble")).to_have_text("first talk")
        await expect(tab.page.locator("#section-title")).to_have_text("first talk")
        await expect(text).to_have_value("for the first")
        await expect(tab.page.locator("#files li")).to_have_text("notes.txt")
        await tab.page.evaluate("location.hash = '#/privacy'")
        await expect(tab.page.locator("#section-title")).to_have_text("Privacy")
        await tab.page.go_back()
        await expect(text).to_have_value("for the first")
        await expect(tab.page.locator("#files li")).to_have_text("notes.txt")
        await tab.page.go_back()
        await expect(tab.page.locator(".bubble")).to_have_text("What can you do for my team?")


async def test_the_model_is_chosen_in_the_header(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, CHAT) as tab:
        shown = (await service.http.get("/api/models")).json()
        default = next((model for model in shown["models"] if model["name"] == shown["default"]), None)
        name = default["display_name"] if default else "No model"
        await expect(tab.page.locator("#model")).to_contain_text(name)
        await tab.page.click("#model")
        await expect(tab.page.get_by_role("menuitemradio").first).to_be_focused()
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.locator("#model")).to_be_focused()
