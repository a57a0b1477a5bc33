"""Agent sections of the web console: memory, skills, MCP servers, models, agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from agent.config.extensions_file import FILE_NAME, PATH_VARIABLE
from tests.browser.tab import PHONE, opened
from tests.platforms.web.serving import MODELS, world
from tests.unit.agent.skills.skill_archives import archive, skill, text

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
OFF = {"command": "x", "env": {"TOKEN": "s3cret"}, "enabled": False, "description": "Does things"}


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps({"mcpServers": {"things": OFF}}))
    monkeypatch.setenv(PATH_VARIABLE, str(path))
    return path


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])
async def test_facts_are_added_edited_and_deleted(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/memory", viewport=size) as tab:
        tab.refused = (409,)
        save = tab.dialog.get_by_role("button", name="Save")
        await expect(tab.box).to_contain_text("person:web:web:owner")
        await tab.press("Add fact")
        await tab.dialog.get_by_label("Fact").fill("Likes tea.")
        await tab.dialog.get_by_label("Category").select_option("preference")
        await save.click()
        await expect(tab.said).to_have_text("Fact saved.")
        await tab.row("Likes tea.", "preference", "1")
        await tab.press("Add fact")
        await tab.dialog.get_by_label("Fact").fill("Likes tea.")
        await save.click()
        await expect(tab.dialog.get_by_role("alert")).to_have_text("This fact is already stored.")
        await tab.page.keyboard.press("Escape")
        await tab.press("Edit: Likes tea.")
        await tab.dialog.get_by_label("Fact").fill("Likes coffee.")
        await tab.dialog.get_by_label("Confidence").fill("0.5")
        await save.click()
        await tab.row("Likes coffee.", "0.5")
        assert await tab.fits()
        async with tab.page.expect_download() as download:
            await tab.box.get_by_role("link", name="Export").click()
        exported = json.loads((await (await download.value).path()).read_text())
        assert [fact["content"] for fact in exported["facts"]] == ["Likes coffee."]
        await tab.press("Delete: Likes coffee.", sure=True)
        await expect(tab.box).to_contain_text("No facts yet.")


async def test_group_memory_is_separate(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/memory") as tab:
        group = {"scope": "group:telegram:-100"}
        await service.http.post("/api/memory/facts", params=group, json={"content": "Meets on Monday."})
        await expect(tab.box).to_contain_text("No facts yet.")
        await tab.box.get_by_label("Owner").fill(group["scope"])
        await tab.press("Show")
        await tab.row("Meets on Monday.", "manual")
        await tab.press("Delete all", sure=True)
        await expect(tab.said).to_have_text("The memory is empty.")
        found = (await service.http.get("/api/memory", params=group)).json()
        assert found["facts"] == []


@pytest.mark.parametrize(
    ("wrong", "right_form"),
    [("nonsense", "group:ACCOUNT:CHAT"), ("person:telegram:1001", "person:ACCOUNT:PLATFORM:ID")],
)
async def test_an_invalid_memory_owner_can_be_corrected(
    browser: Browser, tmp_path: Path, wrong: str, right_form: str
) -> None:
    address = f"/#/memory?scope={wrong}"
    async with world(tmp_path) as service, opened(browser, service, address, viewport=PHONE) as tab:
        person = {"scope": "person:telegram:telegram:1001"}
        await service.http.post("/api/memory/facts", params=person, json={"content": "Likes tea."})
        await expect(tab.box.get_by_role("alert")).to_contain_text(right_form)
        await expect(tab.box.get_by_role("button", name="Delete all")).to_have_count(0)
        whose = tab.box.get_by_label("Owner")
        await expect(whose).to_have_value(wrong)
        await expect(tab.box.locator("small")).to_contain_text("person:ACCOUNT:PLATFORM:ID")
        inside = "hint => hint.getBoundingClientRect().right <= innerWidth && hint.clientHeight > 0"
        assert await tab.box.locator("small").evaluate(inside)
        assert await tab.fits()
        await whose.fill(person["scope"])
        await tab.press("Show")
        await tab.row("Likes tea.", "manual")
        await expect(tab.box.get_by_role("alert")).to_have_count(0)


async def test_a_rejected_memory_owner_shows_an_error(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, opened(browser, service) as tab:
        tab.refused = (503,)
        away = {"status": 503, "json": {"detail": "away"}}
        await tab.page.route("**/api/memory*scope=group**", lambda route: route.fulfill(**away))
        await tab.page.goto(f"{service.url}/#/memory?scope=group:telegram:-100")
        await expect(tab.box.get_by_role("alert")).to_contain_text("away")
        await tab.box.get_by_label("Owner").fill("")
        await tab.press("Show")
        await expect(tab.box).to_contain_text("person:web:web:owner")


async def test_skills_are_switched_and_installed(browser: Browser, tmp_path: Path, extensions: Path) -> None:
    skill(tmp_path / "skills" / "custom", "broken", content="x")
    files = {"x/a/SKILL.md": text("mine"), "x/a/run.sh": "echo hi", "x/b/SKILL.md": text("other")}
    made = archive(tmp_path / "mine.skill", files)
    async with world(tmp_path) as service, opened(browser, service, "/#/skills") as tab:
        tab.refused = (422, 400, 409)
        await tab.row("/mnt/skills/custom/broken/SKILL.md", "front matter")
        await tab.press("Install a skill")
        await tab.dialog.get_by_label("Archive").set_input_files(made)
        await tab.dialog.get_by_role("button", name="Check").click()
        await expect(tab.dialog.get_by_role("alert")).to_contain_text("there are skills in 2 folders: a, b.")
        await tab.dialog.get_by_label("Folder").fill("a")
        await tab.dialog.get_by_role("button", name="Check").click()
        await expect(tab.dialog).to_contain_text("run.sh")
        await expect(tab.dialog).to_contain_text("can be run as a program")
        await tab.dialog.get_by_role("button", name="Install").click()
        await expect(tab.said).to_contain_text("mine")
        await tab.row("mine", "Does things. Use it for things.", "custom", "on")
        await tab.press("Switch off: mine")
        await expect(tab.said).to_have_text("mine is off.")
        await tab.press("Switch on: mine")
        await expect(tab.said).to_have_text("mine is on.")
        assert json.loads(extensions.read_text())["skills"]["mine"]["enabled"] is True
        await tab.press("Remove: mine", sure=True)
        await expect(tab.said).to_have_text("mine is removed.")
        await expect(tab.box).not_to_contain_text("Does things. Use it for things.")


async def test_mcp_servers_are_edited_and_switched(
    browser: Browser, tmp_path: Path, extensions: Path
) -> None:
    async with world(tmp_path) as service, opened(browser, service, "/#/mcp") as tab:
        tab.refused = (422,)
        await tab.row("things", "Does things", "off")
        await tab.press("Edit configuration")
        area = tab.dialog.get_by_label("Servers by name, as JSON")
        save = tab.dialog.get_by_role("button", name="Save")
        shown = json.loads(await area.input_value())
        assert shown["things"]["env"] == {"TOKEN": "***"}
        await area.fill("{")
        await save.click()
        await expect(tab.dialog.get_by_role("alert")).to_contain_text("Invalid JSON")
        await area.fill(json.dumps({**shown, "web": {"url": "http://127.0.0.1:9/mcp", "enabled": False}}))
        await save.click()
        await expect(tab.said).to_have_text("MCP configuration saved.")
        await tab.row("web", "off")
        stored = json.loads(extensions.read_text())["mcpServers"]
        assert stored["things"]["env"] == {"TOKEN": "s3cret"}
        await tab.press("Switch on: web")
        await expect(tab.said).to_have_text("web is on.")
        assert json.loads(extensions.read_text())["mcpServers"]["web"]["enabled"] is True


async def test_models_and_agents(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "board"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("description: Knows the board\nmodel: nobody\n")
    async with world(tmp_path, extra=MODELS) as service:
        async with opened(browser, service, "/#/models", viewport=PHONE) as tab:
            await tab.row("Scripted model", "scripted", "config", "default")
            await tab.press("Test: Scripted model")
            await expect(tab.said).to_contain_text("scripted answered in")
            assert await tab.fits()
        async with opened(browser, service, "/#/agents", viewport=PHONE) as tab:
            await tab.row("board", "can't be used")
            assert await tab.fits()


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])
async def test_agents_are_created_edited_and_deleted(
    browser: Browser, tmp_path: Path, size: dict[str, int]
) -> None:
    async with (
        world(tmp_path, extra=MODELS) as service,
        opened(browser, service, "/#/agents", viewport=size) as tab,
    ):
        tab.refused = (422,)
        save = tab.dialog.get_by_role("button", name="Save")
        await expect(tab.box).to_contain_text("No custom agents yet.")
        await tab.press("New agent")
        await tab.dialog.get_by_label("Name", exact=True).fill("poet")
        await tab.dialog.get_by_label("Description").fill("Writes verse.")
        await tab.dialog.get_by_label("Model").select_option("scripted")
        await tab.dialog.get_by_label("Tool groups").fill("nope")
        await tab.dialog.get_by_label("Personality").fill("You rhyme.")
        await save.click()
        await expect(tab.dialog.get_by_role("alert")).to_contain_text("the tool group nope is not configured")
        await tab.dialog.get_by_label("Tool groups").fill("-")
        await save.click()
        await expect(tab.said).to_have_text("Agent saved.")
        await tab.row("poet", "Writes verse.", "scripted", "none", "ready")
        assert await tab.fits()
        await tab.press("Edit: poet")
        await expect(tab.dialog.get_by_label("Personality")).to_have_value("You rhyme.")
        await expect(tab.dialog.get_by_label("Tool groups")).to_have_value("-")
        await tab.dialog.get_by_label("Model").select_option("Default")
        await save.click()
        await tab.row("poet", "default")
        assert (tmp_path / "agents" / "poet" / "SOUL.md").read_text() == "You rhyme.\n"
        await tab.press("Delete: poet", sure=True)
        await expect(tab.said).to_have_text('The agent "poet" was deleted.')
        assert not (tmp_path / "agents" / "poet").exists()
