"""Setup pages of the web console: skills and agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from agent.config.extensions_file import FILE_NAME, PATH_VARIABLE
from tests.browser.axe import serious
from tests.browser.tab import PHONE, Tab, opened
from tests.platforms.web.serving import MODELS, world
from tests.unit.agent.skills.skill_archives import archive, skill, text

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
START = "/#/"
SIZES = pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / FILE_NAME
    path.write_text("{}")
    monkeypatch.setenv(PATH_VARIABLE, str(path))
    return path


def entry(tab: Tab, name: str) -> Locator:
    """An entry of a list by its name."""
    exactly = tab.page.locator("strong").get_by_text(name, exact=True)
    return tab.page.locator(".entry").filter(has=exactly)


async def choose(tab: Tab, name: str, action: str) -> None:
    """Choose an action of an entry's menu."""
    await entry(tab, name).get_by_role("button", name=f"Actions for {name}").click()
    await tab.page.get_by_role("menuitem", name=action, exact=True).click()


def said(tab: Tab, text: str) -> Locator:
    """A message at the bottom with this text."""
    return tab.page.locator(".toast").filter(has_text=text)


async def test_skills_are_switched_installed_and_restored(
    browser: Browser, tmp_path: Path, extensions: Path
) -> None:
    skill(tmp_path / "skills" / "custom", "broken", content="x")
    files = {"x/a/SKILL.md": text("mine"), "x/a/run.sh": "echo hi", "x/b/SKILL.md": text("other")}
    made = archive(tmp_path / "mine.skill", files)
    async with world(tmp_path) as service, opened(browser, service, f"{START}skills") as tab:
        tab.refused = (422, 400, 409)
        page, dialog = tab.page, tab.dialog
        await expect(page.locator(".banner")).to_contain_text("/mnt/skills/custom/broken/SKILL.md")
        for again in (False, True):
            await page.get_by_role("button", name="Install a skill").click()
            await dialog.get_by_label("Archive").set_input_files(made)
            if not again:
                await dialog.get_by_role("button", name="Check").click()
                await expect(dialog.get_by_role("alert")).to_contain_text("in 2 folders: a, b.")
                await expect(dialog.get_by_role("alert")).to_be_focused()
            await dialog.get_by_label("Folder").fill("a")
            await page.keyboard.press("Enter")
            await expect(dialog).to_contain_text("can be run as a program")
            assert await serious(page) == []
            await dialog.get_by_role("button", name="Replace" if again else "Install", exact=True).click()
            await expect(said(tab, "mine").first).to_be_visible()
            await expect(entry(tab, "mine")).to_contain_text("Does things. Use it for things.")
        switch = page.get_by_role("switch", name="mine")
        await switch.click()
        await expect(said(tab, "mine is off.")).to_be_visible()
        await expect(switch).not_to_be_checked()
        await expect(switch).to_be_focused()
        await switch.press("Space")
        await expect(said(tab, "mine is on.")).to_be_visible()
        assert json.loads(extensions.read_text())["skills"]["mine"]["enabled"] is True
        await choose(tab, "mine", "Versions")
        await dialog.get_by_role("button", name="Restore version 1").click()
        await expect(said(tab, "Version 1 of mine was restored.")).to_be_visible()
        await choose(tab, "mine", "Remove")
        await dialog.locator(".primary").click()
        await expect(said(tab, "mine was removed.")).to_be_visible()
        await expect(entry(tab, "mine")).to_have_count(0)
        assert await serious(page) == []


@SIZES
async def test_agents_are_created_edited_and_deleted(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    broken = tmp_path / "agents" / "board"
    broken.mkdir(parents=True)
    (broken / "config.yaml").write_text("description: Knows the board\nmodel: nobody\n")
    async with (
        world(tmp_path, extra=MODELS) as service,
        opened(browser, service, f"{START}agents", viewport=size) as tab,
    ):
        tab.refused = (422,)
        page, dialog = tab.page, tab.dialog
        save = dialog.get_by_role("button", name="Save")
        await expect(entry(tab, "board")).to_contain_text("can't be used")
        await page.get_by_role("button", name="New agent").click()
        await expect(dialog.get_by_label("Name")).to_be_focused()
        await save.click()
        await expect(dialog).to_contain_text("This is required.")
        await dialog.get_by_label("Name").fill("poet")
        await dialog.get_by_label("Description").fill("Writes verse.")
        await dialog.get_by_label("Model").select_option("scripted")
        await dialog.get_by_label("Tool groups").fill("nope")
        await dialog.get_by_label("Personality").fill("You rhyme.")
        await save.click()
        await expect(dialog.get_by_role("alert")).to_contain_text("the tool group nope is not configured")
        await dialog.get_by_label("Tool groups").fill("-")
        assert await serious(page) == []
        await save.click()
        await expect(said(tab, "Agent saved.")).to_be_visible()
        await expect(entry(tab, "poet")).to_contain_text("Model: scripted · Tool groups: None")
        assert await tab.fits()
        await page.get_by_role("button", name="Edit poet").click()
        await expect(dialog.get_by_label("Personality")).to_have_value("You rhyme.")
        await expect(dialog.get_by_label("Tool groups")).to_have_value("-")
        await dialog.get_by_label("Model").select_option("Default")
        await save.click()
        await expect(entry(tab, "poet")).to_contain_text("Model: Default")
        assert (tmp_path / "agents" / "poet" / "SOUL.md").read_text() == "You rhyme.\n"
        await choose(tab, "poet", "Delete")
        await dialog.locator(".primary").click()
        await expect(said(tab, 'The agent "poet" was deleted.')).to_be_visible()
        assert not (tmp_path / "agents" / "poet").exists()
