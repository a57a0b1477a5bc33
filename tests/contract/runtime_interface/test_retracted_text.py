"""What an agent said and took back is gone from the transcript of the run, and nothing else is."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from langchain_core.tools import tool

from agent.factory import create_agent_graph
from agent.middleware.repair import CallRepairMiddleware
from agent.models.calls import ModelCalls
from agent.models.retry import ModelRetry
from bot.dispatch.run.transcript import RunTranscript
from bot.runtime.client import LangGraphRuntime
from bot.runtime.interface import RunRequest
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import calls, says, scripted
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime.serving import serve

pytestmark = pytest.mark.may_block

EARLY = "I look into it right now."
BROKEN_OFF = Script(reply=EARLY, fail="overloaded", after=3)
UNREADABLE = Script(reply=EARLY, tools=(ToolUse("look", "where: there", "x"),))
SAYING = Script(reply="One moment.", tools=(ToolUse("look", {"where": "there"}, "c1"),))
DONE = says("Nothing is there.")


@tool
async def look(where: str) -> str:
    """Look."""
    return f"nothing is {where}"


async def no_time(_: float) -> None:
    """A pause."""


@asynccontextmanager
async def answering(home: Path, *steps: Script) -> AsyncIterator[LangGraphRuntime]:
    """A runtime whose agent takes these steps."""
    graph = create_agent_graph(
        scripted(*steps),
        [look],
        middleware=[
            CallRepairMiddleware(),
            ModelRetry(sleep=no_time),
            ModelCalls(model_name="scripted"),
        ],
        name="agent",
    )
    async with (
        serve(home, sources={"agent": lambda: graph}) as served,
        httpx.AsyncClient(base_url=served.url, headers=AGENT_SIGNED) as http,
    ):
        yield LangGraphRuntime(http, assistant_id="agent", management=None)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((BROKEN_OFF, calls("look", where="there"), DONE), "Nothing is there."),
        ((BROKEN_OFF, SAYING, DONE), "Nothing is there."),
        ((BROKEN_OFF, DONE), "Nothing is there."),
        ((UNREADABLE, calls("look", where="there"), DONE), "Nothing is there."),
        ((UNREADABLE, SAYING, DONE), "Nothing is there."),
        ((BROKEN_OFF, UNREADABLE, SAYING, DONE), "Nothing is there."),
        ((SAYING, BROKEN_OFF, calls("look", where="here"), DONE), "Nothing is there."),
    ],
)
async def test_what_is_left_is_what_the_agent_stands_by(
    tmp_path: Path, steps: tuple[Script, ...], text: str
) -> None:
    said, shown = RunTranscript(), []
    async with answering(tmp_path, *steps) as port, asyncio.timeout(20):
        thread = str(uuid.uuid4())
        message = {"type": "human", "content": "go", "id": "h1"}
        run = await port.create_run(RunRequest(thread, "1:1", [message], configurable={}))
        async for logged in port.join_run(thread, run, ""):
            if said.record_event(logged.event):
                shown.append(said.text)
        answer = await port.read_answer(thread, ["h1"])
    assert said.status == "success"
    assert said.text == text
    assert "\n\n".join(answer.texts) == text
    assert any("I look" in one for one in shown), "it was seen for a while"
