"""The model that is played by hand, answered by a program over files and over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from agent.shared.tls import tls_context
from tests.harness.strict_providers.server import listen
from tests.played.answers import UnreadableAnswer, parse_answer
from tests.played.desk import Desk
from tests.played.model import PlayedModel
from tests.played.requests import Purpose
from tests.played.stage import open_stage

pytestmark = pytest.mark.may_block

PLAIN = "title: {enabled: false}\nmemory: {enabled: false}"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
KEY = {"Authorization": "Bearer k"}


@pytest.mark.bubblewrap
@pytest.mark.long
async def test_a_round_with_a_tool(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "desk")
    model = PlayedModel(desk.ask, alive_seconds=0.05)
    async with open_stage(tmp_path / "home", "telegram", model, desk, settings=PLAIN) as stage:
        await stage.say("How many bytes has the word heron?")
        async with asyncio.timeout(60):
            first = await desk.next()
        (desk.folder / "0001.answer").write_text("Let me count.\n=== bash\ncommand: printf heron | wc -c\n")
        settings = {"base_url": stage.address, "timeout": 60, "trust_env": False}
        async with httpx.AsyncClient(verify=tls_context(), **settings) as http:
            while (shown := await http.get("/played/next")).headers["X-Number"] != "2":
                await asyncio.sleep(0.05)
            assert (await http.post("/played/requests/2", content="=== no name\n")).status_code == 400
            assert (await http.post("/played/requests/9", content="x")).status_code == 404
            assert (await http.post("/played/requests/2", content="It has 5.")).status_code == 204
        await stage.wait()
        assert [one.text for one in await stage.room.read()][-1].endswith("It has 5.")
    assert (first.purpose, model.rejections) == (Purpose.LEAD, [])
    assert "## System prompt" in first.render()
    assert "### bash" in first.render()
    assert "## System prompt" not in shown.text
    assert shown.text.rstrip().endswith("5")
    assert json.loads((desk.folder / "0002-lead.json").read_text())["stream"] is True


async def test_a_request_that_nobody_answers_fails(tmp_path: Path) -> None:
    model = PlayedModel(Desk(tmp_path, patience=0.2).ask, alive_seconds=0.05)
    async with listen(model) as address, httpx.AsyncClient(verify=tls_context(), trust_env=False) as http:
        for stream in (False, True):
            body = {**BODY, "stream": stream}
            told = await http.post(f"{address}/v1/chat/completions", json=body, headers=KEY)
            assert "Nobody answered request" in told.text
    assert told.text.count("chat.completion.chunk") > 1, "no sign of life"


async def test_a_request_that_was_given_up_is_marked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, patience=30.0)
    model = PlayedModel(desk.ask, alive_seconds=0.05)
    async with listen(model) as address, httpx.AsyncClient(verify=tls_context(), trust_env=False) as http:
        asking = asyncio.create_task(http.post(f"{address}/v1/chat/completions", json=BODY, headers=KEY))
        asked = await desk.next()
        asking.cancel()
        async with asyncio.timeout(10):
            while not (marks := list(tmp_path.glob("*.cancelled"))):
                await asyncio.sleep(0.02)
    assert [one.name for one in marks] == [f"0001-{asked.purpose}.cancelled"]
    assert desk.waiting == {}


async def test_an_answer_that_can_not_be_read_waits_for_a_better_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, patience=30.0)
    model = PlayedModel(desk.ask)
    async with listen(model) as address, httpx.AsyncClient(verify=tls_context(), trust_env=False) as http:
        asking = asyncio.create_task(http.post(f"{address}/v1/chat/completions", json=BODY, headers=KEY))
        await desk.next()
        path = tmp_path / "0001.answer"
        path.write_text("=== bash\n[1, 2]\n")
        while not path.with_suffix(".problem").exists():
            await asyncio.sleep(0.02)
        path.write_text("=== bash\ncommand: ls\n")
        [call] = (await asking).json()["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": "ls"}


def test_the_format_of_answers() -> None:
    several = parse_answer('Both.\n=== bash\ncommand: |\n  a\n  b\n=== read_file\n{"path": "x"}\n')
    assert several.text == "Both."
    assert several.calls == (("bash", {"command": "a\nb\n"}), ("read_file", {"path": "x"}))
    assert parse_answer("=== read_chat\nsince: 2026-11-26\n").calls == (
        ("read_chat", {"since": "2026-11-26"}),
    )
    assert parse_answer("=== nothing\n").text == ""
    for wrong in ("", "  \n", "=== bash\n- 1\n", "=== bash\n: : {\n", "=== two words\n"):
        with pytest.raises(UnreadableAnswer):
            parse_answer(wrong)
