"""The guide in the web console: real HTTP, bus, store, dispatcher, runtime and agent, without any key."""

from __future__ import annotations

import shutil
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.messages import HumanMessage, SystemMessage

from agent.errors import ModelUnavailable
from agent.guide.model import GuideChatModel
from agent.guide.wording import load_wording
from agent.models.providers import PROVIDERS
from agent.sandbox.bubblewrap import PYTHON_FOLDER
from agent.shared.install_hints import SETUP_SANDBOX
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block
EN, ZH = load_wording()["en"], load_wording()["zh"]


@pytest_asyncio.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    for variable in ("ROEBOT_MODEL", *(name for one in PROVIDERS for name in one.variables)):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    # The tests' own environment has what the sandbox's has.
    python = tmp_path / PYTHON_FOLDER
    python.parent.mkdir(parents=True, exist_ok=True)
    python.symlink_to(sys.prefix)
    async with world(tmp_path, graph="lead_agent") as found:
        yield found


async def ask(service: World, conversation: int, text: str) -> dict[str, Any]:
    return await service.turn((await service.say(conversation, text))["turn"])


async def press(service: World, turn: dict[str, Any], choice: str) -> dict[str, Any]:
    """Press a button of a turn's last part; the turn that follows."""
    part = len(turn["parts"]) - 1
    path = f"/api/turns/{turn['id']}/parts/{part}/choice"
    answer = await service.http.post(path, json={"choice": choice})
    assert answer.status_code == 202, answer.text
    return await service.turn(answer.json()["turn"])


@pytest.mark.bubblewrap
async def test_its_buttons_lead_to_an_approval_and_back(service: World) -> None:
    conversation = await service.open()
    shown = await ask(service, conversation, "What can you do for my team?")
    assert EN["intro"] in shown["parts"][0]["text"]
    assert EN["suggest_chart"] in shown["parts"][-1]["choices"]
    asked = await press(service, shown, EN["suggest_chart"])
    assert "chart.py" in asked["parts"][-1]["text"]
    assert "reject" in asked["parts"][-1]["choices"]
    rejected = await press(service, asked, "reject")
    assert rejected["parts"][-1]["text"] == EN["rejected"]
    again = await press(service, await ask(service, conversation, "Who founded Roebot?"), EN["suggest_model"])
    assert "(#/models/connect)" in again["parts"][-1]["text"]


@pytest.mark.bubblewrap
async def test_a_chart_that_can_not_be_drawn_needs_no_approval(service: World) -> None:
    python = service.home / PYTHON_FOLDER
    python.unlink()
    venv.create(python)
    conversation = await service.open()
    shown = await ask(service, conversation, "What can you do for my team?")
    assert EN["suggest_chart"] not in shown["parts"][-1]["choices"]
    assert EN["suggest_sum"] in shown["parts"][-1]["choices"]
    for wording in (EN, ZH):
        refused = await ask(service, conversation, wording["suggest_chart"])
        assert refused["parts"][-1]["text"] == wording["no_packages"].format(command=SETUP_SANDBOX)
    # The service needs no restart.
    shutil.rmtree(python)
    python.symlink_to(sys.prefix)
    asked = await ask(service, conversation, EN["suggest_chart"])
    assert "chart.py" in asked["parts"][-1]["text"]


@pytest.mark.bubblewrap
async def test_a_chinese_chart_has_chinese_labels(service: World) -> None:
    asked = await ask(service, await service.open(), ZH["suggest_chart"])
    assert "chart.py" in asked["parts"][-1]["text"]
    drawn = await press(service, asked, asked["parts"][-1]["choices"][0])
    assert any(ZH["drawn_sample"] in part["text"] for part in drawn["parts"])
    assert any(part["image"] for part in drawn["parts"])


@pytest.mark.bubblewrap
async def test_who_rejects_a_call_with_other_words_gets_an_answer_to_them(service: World) -> None:
    conversation = await service.open()
    await ask(service, conversation, "用示例数据画一张图表")
    answered = await ask(service, conversation, "计算 12 + 30")
    assert answered["parts"][-1]["text"] == "12 + 30 = **42**"


@pytest.mark.parametrize(
    ("question", "words", "rule"),
    [
        ("Remind me every weekday at 9 …", EN["proposed"], "0 9 * * 1-5"),
        ("Remind me to post the daily report every weekday at 9:00.", EN["proposed"], "0 9 * * 1-5"),
        ("每个工作日早上9点提醒我查看告警", ZH["proposed"], "0 9 * * 1-5"),
    ],
)
async def test_a_reminder_is_proposed_and_confirmed(
    service: World, question: str, words: str, rule: str
) -> None:
    proposed = await ask(service, await service.open(), question)
    assert words in proposed["parts"][0]["text"]
    assert (await service.http.get("/api/schedules")).json()["schedules"] == []
    await press(service, proposed, proposed["parts"][-1]["choices"][0])
    [saved] = (await service.http.get("/api/schedules")).json()["schedules"]
    assert rule in str(saved)


async def test_an_unclear_time_is_asked_for_and_none_is_said(service: World) -> None:
    conversation = await service.open()
    unclear = await ask(service, conversation, "Remind me every day at 5 to rest")
    assert EN["refused"] in unclear["parts"][0]["text"]
    assert "17:00" in unclear["parts"][0]["text"]
    missing = await ask(service, conversation, "Remind me to drink water")
    assert EN["refused"] in missing["parts"][0]["text"]
    assert (await service.http.get("/api/schedules")).json()["schedules"] == []


async def test_the_picker_tells_what_each_model_is(service: World) -> None:
    guide, toy = (await service.http.get("/api/models")).json()["models"]
    assert (guide["name"], guide["default"]) == ("guide", True)
    assert (toy["name"], toy["default"]) == ("local", False)
    assert "invents" in toy["display_name"]
    assert "install-toy-model" in toy["note"]


async def test_the_documentation_is_searched_and_read(service: World) -> None:
    get = service.http.get
    listed = (await get("/api/docs", params={"limit": 100})).json()["hits"]
    assert {"howto/connect-slack", "tutorial/get-started", "reference/models"} <= {
        one["page"] for one in listed
    }
    found = (await get("/api/docs", params={"q": "备份", "language": "zh"})).json()["hits"]
    assert (found[0]["page"], found[0]["title"]) == ("howto/back-up-and-restore", "备份与恢复")
    page = (await get("/api/docs/howto/connect-slack")).json()
    assert page["title"] == "Connect Slack"
    assert "](#/docs/" in page["text"]
    assert ".md)" not in page["text"]
    for missing in ("howto/none", "decisions/README", "../README", "..%2f..%2fREADME", "howto"):
        assert (await get(f"/api/docs/{missing}")).status_code == 404, missing
    assert (await get("/api/docs", params={"q": "x" * 201})).status_code == 422
    assert (await get("/api/docs", params={"q": '" OR * NEAR( '})).status_code == 200


async def test_it_writes_no_summaries_and_no_suggestions(service: World) -> None:
    body = {"messages": [{"role": "user", "content": "What is a skill?"}]}
    suggested = await service.http.post("/api/threads/t1/suggestions", json=body)
    assert (suggested.status_code, suggested.json()) == (200, {"suggestions": []})
    with pytest.raises(ModelUnavailable, match="connect a model"):
        await GuideChatModel().ainvoke([SystemMessage("Summarize this."), HumanMessage("…")])
    assert (await GuideChatModel().ainvoke([HumanMessage("Reply with the word OK.")])).text
