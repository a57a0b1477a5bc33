"""Agents of one's own over real HTTP: made, changed, removed; nothing is lost on bad input."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.config.custom_agents import MAX_PERSONALITY_BYTES, read_custom_agent
from agent.core.schemas import ErrorBody
from agent.shared.schemas import AgentInfo, OperationResult

CONFIG = """
tool_groups: [{name: web}]
models:
  - {name: gpt, use: "roebot_testing.agent:ScriptedChatModel"}
  - {name: small, use: "roebot_testing.agent:ScriptedChatModel"}
"""
CODER = {
    "description": "Writes code: all of it.",
    "model": "small",
    "tool_groups": ["web"],
    "skills": ["notes"],
    "personality": "You are terse.\n\n# Style\n图",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture
def agents(folder: Path) -> Path:
    return folder / "home" / "agents"


async def make(http: httpx.AsyncClient, name: str = "coder", **parts: Any) -> AgentInfo:
    response = await http.post("/api/agents", json={"name": name, **parts})
    assert response.status_code == 201, response.text
    return AgentInfo.model_validate_json(response.content)


async def change(http: httpx.AsyncClient, **parts: Any) -> AgentInfo:
    response = await http.put("/api/agents/coder", json=parts)
    assert response.status_code == 200, response.text
    return AgentInfo.model_validate_json(response.content)


def detail(response: httpx.Response) -> str:
    return ErrorBody.model_validate_json(response.content).detail


def files(agents: Path) -> dict[str, str]:
    """Every file below the agents, by its path."""
    found = sorted(path for path in agents.rglob("*") if path.is_file())
    return {str(path.relative_to(agents)): path.read_text() for path in found}


async def test_one_is_made_as_it_was_meant(http: httpx.AsyncClient, agents: Path) -> None:
    made = await make(http, "Coder", **CODER)
    assert made == AgentInfo.model_validate({"name": "coder", **CODER})
    assert AgentInfo.model_validate_json((await http.get("/api/agents/coder")).content) == made
    (listed,) = (await http.get("/api/agents")).json()["agents"]
    assert (listed["name"], listed["personality"], listed["skills"]) == ("coder", None, ["notes"])
    profile = await asyncio.to_thread(read_custom_agent, agents.parent, "coder", {})
    assert (profile.model, profile.personality) == ("small", CODER["personality"])
    assert stat.S_IMODE((agents / "coder").stat().st_mode) == 0o700
    assert sorted(path.name for path in agents.iterdir()) == ["coder"]


async def test_one_without_any_part_is_the_usual_one_under_a_name(
    http: httpx.AsyncClient, agents: Path
) -> None:
    assert await make(http, "poet") == AgentInfo(name="poet", personality="")
    assert list((agents / "poet").iterdir()) == []


@pytest.mark.parametrize(
    "text", ["$HOME", "$$HOME", "off", "3", "0o17", "a: b # c", '"quoted"', "[x]", "{", "- a", "é\t图"]
)
async def test_text_is_read_as_it_was_written(http: httpx.AsyncClient, agents: Path, text: str) -> None:
    made = await make(http, description=text)
    assert made.description == " ".join(text.split())


async def test_what_is_absent_stays_and_null_is_the_usual_again(
    http: httpx.AsyncClient, agents: Path
) -> None:
    await make(http, **CODER)
    changed = await change(http, model="gpt")
    assert changed == AgentInfo.model_validate({"name": "coder", **CODER, "model": "gpt"})
    changed = await change(http, model=None, tool_groups=[], personality="")
    assert (changed.model, changed.tool_groups, changed.personality) == (None, [], "")
    assert (changed.description, changed.skills) == (CODER["description"], CODER["skills"])
    assert not (agents / "coder" / "SOUL.md").exists()


async def test_variables_and_comments_stay_where_nothing_of_them_is_changed(
    http: httpx.AsyncClient, agents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODER_MODEL", "small")
    (agents / "coder").mkdir(parents=True)
    path = agents / "coder" / "config.yaml"
    path.write_text("# mine\nmodel: $CODER_MODEL\n")
    await change(http, personality="Be kind.")
    assert path.read_text() == "# mine\nmodel: $CODER_MODEL\n"
    assert (await change(http, description="Codes.")).model == "small"
    assert '"$CODER_MODEL"' in path.read_text()


BAD: dict[str, dict[str, Any]] = {
    "there is no model named": {"model": "gone"},
    "the tool group nope is not configured": {"tool_groups": ["nope"]},
    "personality: is larger than": {"personality": "x" * (MAX_PERSONALITY_BYTES + 1)},
    "description: ": {"description": 3},
    "colour: ": {"colour": "red"},
    "tool_groups": {"tool_groups": [""]},
}


@pytest.mark.parametrize("told", BAD)
async def test_bad_input_changes_nothing(http: httpx.AsyncClient, agents: Path, told: str) -> None:
    await make(http, **CODER)
    before = files(agents)
    for answer in (
        await http.put("/api/agents/coder", json={"description": "new", **BAD[told]}),
        await http.post("/api/agents", json={"name": "other", **BAD[told]}),
    ):
        assert answer.status_code == 422
        assert told in detail(answer)
        assert str(agents) not in answer.text
    assert files(agents) == before


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b", "a b", "-a", ".a", "ä", "default", "Default", "x" * 65]
)
async def test_names_outside_the_grammar_are_refused(
    http: httpx.AsyncClient, agents: Path, name: str
) -> None:
    answer = await http.post("/api/agents", json={"name": name})
    assert answer.status_code == 422
    assert detail(answer).startswith("name: ")
    assert not agents.exists()


async def test_a_name_that_is_taken_is_refused(http: httpx.AsyncClient, agents: Path) -> None:
    await make(http, **CODER)
    before = files(agents)
    answer = await http.post("/api/agents", json={"name": "CODER"})
    assert (answer.status_code, detail(answer)) == (409, 'An agent named "coder" already exists.')
    (agents / "file").touch()
    assert (await http.post("/api/agents", json={"name": "file"})).status_code == 409
    assert files(agents) == {**before, "file": ""}


async def test_a_broken_one_is_written_anew_only_as_a_whole(http: httpx.AsyncClient, agents: Path) -> None:
    (agents / "coder").mkdir(parents=True)
    (agents / "coder" / "config.yaml").write_text("modle: gpt\n")
    answer = await http.put("/api/agents/coder", json={"model": "gpt"})
    assert answer.status_code == 409
    assert "did you mean model?" in detail(answer)
    assert files(agents) == {"coder/config.yaml": "modle: gpt\n"}
    assert (await change(http, **CODER)).problem is None


async def test_one_is_removed_with_its_folder(http: httpx.AsyncClient, agents: Path, tmp_path: Path) -> None:
    await make(http, **CODER)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "SOUL.md").write_text("Kept.")
    (agents / "linked").symlink_to(elsewhere)
    for name in ("coder", "linked"):
        done = OperationResult.model_validate_json((await http.delete(f"/api/agents/{name}")).content)
        assert done.message == f'The agent "{name}" was deleted.'
        assert (await http.delete(f"/api/agents/{name}")).status_code == 404
    assert list(agents.iterdir()) == []
    assert (elsewhere / "SOUL.md").read_text() == "Kept."


@pytest.mark.parametrize("name", ["gone", "..", "%2e%2e", "Not%20a%20name"])
async def test_there_is_nothing_to_change_where_there_is_none(http: httpx.AsyncClient, name: str) -> None:
    assert (await http.put(f"/api/agents/{name}", json={})).status_code == 404
    assert (await http.delete(f"/api/agents/{name}")).status_code == 404


async def test_what_can_be_read_of_a_broken_one_is_told(http: httpx.AsyncClient, agents: Path) -> None:
    for name, text in (("coder", "modle: gpt"), ("lame", "model: gone\ndescription: Limps.")):
        (agents / name).mkdir(parents=True)
        (agents / name / "config.yaml").write_text(text)
        (agents / name / "SOUL.md").write_text("Be kind.")
    unread = AgentInfo.model_validate_json((await http.get("/api/agents/coder")).content)
    assert (unread.description, unread.personality, bool(unread.problem)) == ("", "Be kind.", True)
    unmet = AgentInfo.model_validate_json((await http.get("/api/agents/lame")).content)
    assert (unmet.description, unmet.model, bool(unmet.problem)) == ("Limps.", "gone", True)
