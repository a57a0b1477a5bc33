"""A message in the inbox of a run joins it, where its graph looks there; the thread and the events say so."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.tools import tool
from starlette.applications import Starlette

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from bot.dispatch.run.transcript import RunTranscript
from bot.errors import RuntimeProblem
from bot.runtime.client import LangGraphRuntime
from bot.runtime.interface import JoinedMessage, MessageJoined, RunEvent, RunRequest, SteerMessage
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import says, scripted
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime.serving import serve

pytestmark = pytest.mark.may_block

EARLY = "One moment."
JOINED = "roebot-7-3"


class Working:
    """An agent that says something, works until it is let go, and answers."""

    def __init__(self, port: LangGraphRuntime, begun: asyncio.Event, go_on: asyncio.Event) -> None:
        self.port, self.begun, self.go_on = port, begun, go_on
        self.thread = str(uuid.uuid4())

    async def asks(self, assistant: str, turn: int = 7) -> str:
        """Start a run that works; its id."""
        message = {"type": "human", "content": "go", "id": f"roebot-{turn}-1"}
        told = {"turn_id": str(turn), "steerable": True}
        request = RunRequest(self.thread, f"{turn}:1", [message], told, assistant=assistant)
        run = await self.port.create_run(request)
        async with asyncio.timeout(20):
            await self.begun.wait()
        self.begun.clear()
        return run

    async def offers(self, text: str = "also this", *, number: int = 3, turn: int = 7) -> str:
        identity = f"roebot-{turn}-{number}"
        message = {"type": "human", "content": text, "id": identity}
        await self.port.steer(self.thread, SteerMessage(turn, number, message))
        return identity

    async def events(self, run: str) -> list[RunEvent]:
        """Let it go on; what it tells, up to the end."""
        self.go_on.set()
        async with asyncio.timeout(20):
            return [logged.event async for logged in self.port.join_run(self.thread, run, "")]

    async def humans(self) -> list[str]:
        state = await self.port._client.threads.get_state(self.thread)
        values: Any = state["values"]
        return [message["content"] for message in values["messages"] if message["type"] == "human"]


@pytest.fixture
async def working(tmp_path: Path) -> AsyncIterator[Working]:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        begun.set()
        await go_on.wait()
        go_on.clear()
        return "worked"

    def graph(*, steering: bool) -> Callable[[], Any]:
        steps = (Script(reply=EARLY, tools=(ToolUse("work"),)), says("Done."))
        made = create_agent_graph(
            scripted(*steps, *steps), [work], features=RuntimeFeatures(sandbox=False, steering=steering)
        )
        return lambda: made

    sources = {"steered": graph(steering=True), "plain": graph(steering=False)}
    async with (
        serve(tmp_path, sources=sources) as served,
        httpx.AsyncClient(base_url=served.url, headers=AGENT_SIGNED, timeout=10.0) as http,
    ):
        port = LangGraphRuntime(http, assistant_id="steered", management=None)
        yield Working(port, begun, go_on)


async def test_it_joins_and_both_events_and_thread_say_so(working: Working) -> None:
    run = await working.asks("steered")
    assert await working.offers() == JOINED
    events = await working.events(run)
    assert MessageJoined((JOINED,)) in events
    answer = await working.port.read_answer(working.thread, ["roebot-7-1"])
    assert answer.texts == ("Done.",), "what stands beside a call is none"
    assert answer.joins == (JoinedMessage(JOINED, 0),)
    assert await working.humans() == ["go", "also this"]


async def test_both_give_the_same_text(working: Working) -> None:
    run = await working.asks("steered")
    await working.offers()
    seen, read = (RunTranscript(lambda identity: f"+ {identity}") for _ in range(2))
    for event in await working.events(run):
        seen.record_event(event)
    read.reconcile(await working.port.read_answer(working.thread, ["roebot-7-1"]))
    assert seen.text == read.text == f"+ {JOINED}\n\nDone."
    assert list(seen.joined) == list(read.joined) == [JOINED]


async def test_offered_again_it_says_what_it_says_now_and_joins_once(working: Working) -> None:
    run = await working.asks("steered")
    await working.offers("allso this")
    await working.offers("also this")
    await working.offers("before", number=2)
    await working.events(run)
    assert await working.humans() == ["go", "before", "also this"]


async def test_what_is_taken_back_does_not_join(working: Working) -> None:
    run = await working.asks("steered")
    await working.port.unsteer(working.thread, await working.offers())
    await working.port.unsteer(working.thread, "unknown")
    events = await working.events(run)
    assert not any(isinstance(event, MessageJoined) for event in events)
    assert (await working.port.read_answer(working.thread, ["roebot-7-1"])).joins == ()


async def test_what_is_left_over_does_not_join_another_turn(working: Working) -> None:
    await working.offers(turn=6)
    await working.events(await working.asks("steered"))
    assert await working.humans() == ["go"]
    store = working.port._client.store
    assert (await store.search_items(("steer", working.thread)))["items"] == []


async def test_a_graph_that_does_not_look_takes_nothing(working: Working) -> None:
    run = await working.asks("plain")
    await working.offers()
    events = await working.events(run)
    assert not any(isinstance(event, MessageJoined) for event in events)
    assert (await working.port.read_answer(working.thread, ["roebot-7-1"])).joins == ()
    assert await working.humans() == ["go"]


async def test_a_server_without_a_store_says_so() -> None:
    transport = httpx.ASGITransport(Starlette())
    async with httpx.AsyncClient(base_url="http://r", transport=transport) as http:
        port = LangGraphRuntime(http, assistant_id="a", management=None)
        with pytest.raises(RuntimeProblem):
            await port.steer("t", SteerMessage(7, 3, {"type": "human", "content": "x", "id": JOINED}))
        await port.unsteer("t", JOINED)
