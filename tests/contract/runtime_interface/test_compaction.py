"""Summaries on request through the LangGraph API: our own runtime, and servers that have none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph_sdk.errors import ConflictError

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.harness.compaction import build_compaction_graph
from agent.lead import LeadAgent
from agent.models.spec import ModelSpec
from agent.shared.compaction import COMPACTION_GRAPH, UNLESS_INTERRUPTED_HEADER
from agent.shared.tls import tls_context
from bot.errors import RuntimeUnreachable
from bot.runtime.client import LangGraphRuntime
from bot.runtime.interface import CompactionRequest, CompactionState, RunRequest
from roebot_testing.agent import Script, ScriptedChatModel
from roebot_testing.agent.graphs import interrupting
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime.serving import Served, serve

PERSON = {"user_id": "telegram:1", "account": "bot", "chat": "1", "chat_kind": "private"}
USE = "roebot_testing.agent:ScriptedChatModel"
LISTED: dict[str, Any] = {
    "models": [{"name": "m", "use": USE}],
    "title": {"enabled": False},
    "web_tools": {"enabled": False},
    "memory": {"enabled": False},
}
SAID = "The code of a drawer is 8 & <safe>. " * 20


class Model(ScriptedChatModel):
    """Answers, and writes summaries as its `plan` says."""

    plan: dict[str, Any]

    def _next_script(self) -> Script:
        if "<earlier_summary>" not in self.calls[-1].texts[0]:
            return Script(reply="Noted. " * 20)
        self.plan["read"].append(self.calls[-1].texts[0])
        return self.plan["summary"]  # type: ignore[no-any-return]


class Place:
    """A served lead agent with a thread."""

    def __init__(self, served: Served, port: LangGraphRuntime, plan: dict[str, Any]) -> None:
        self.served, self.port, self.plan = served, port, plan
        self.request = CompactionRequest("", "7:compact", PERSON)

    async def talk(self, turns: int = 6) -> None:
        thread = (
            (await self.served.client.threads.create())["thread_id"]
            if turns
            else "0" * 8 + "-0000-4000-8000-" + "0" * 12
        )
        self.request = replace(self.request, thread_id=thread)
        for _ in range(turns):
            await self.say()

    async def say(self) -> None:
        await self.served.client.runs.wait(
            self.request.thread_id,
            "lead_agent",
            input={"messages": [{"role": "user", "content": SAID}]},
            config={"configurable": PERSON},
        )

    async def texts(self) -> list[str]:
        state: Any = await self.served.client.threads.get_state(self.request.thread_id)
        return [one["content"] for one in state["values"]["messages"]]


@asynccontextmanager
async def serving(home: Path, *, has_graph: bool = True) -> AsyncIterator[Place]:
    plan: dict[str, Any] = {"summary": Script(reply="Codes of drawers.", usage=(800, 8)), "read": []}

    def make(spec: ModelSpec, **_: Any) -> BaseChatModel:
        return Model(plan=plan, environ={})

    agent = LeadAgent(ModelSource(overrides=LISTED, read_file=False, environ={}), home, make_model=make)
    compaction = build_compaction_graph(agent.prepare_summaries)

    async def lead(config: RunnableConfig) -> Any:
        return await agent.get_graph(RunOptions.of(config.get("configurable", {})))

    sources: dict[str, Any] = {"lead_agent": lambda: lead, "other": lambda: lead}
    sources["asking"] = lambda: interrupting
    if has_graph:
        sources["compaction"] = lambda: compaction
    async with serve(home, sources=sources) as served:
        http = httpx.AsyncClient(
            base_url=served.url, headers=AGENT_SIGNED, timeout=10.0, verify=tls_context()
        )
        port = LangGraphRuntime(http, assistant_id="lead_agent", management=None)
        yield Place(served, port, plan)
        await port.close()
    await agent.close_sandboxes()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Place]:
    async with serving(tmp_path) as place:
        yield place


@pytest.mark.guard(
    "a request that was started is continued",
    "bot/runtime/compaction.py",
    "await runs.find(thread_id, request.key) or await _start(client, request, assistant)",
    "await _start(client, request, assistant)",
    against="repeated summaries",
)
async def test_a_thread_is_summarized_once_for_each_key(at: Place) -> None:
    await at.talk()
    before = await at.texts()
    done = await at.port.compact_thread(replace(at.request, focus="the numbers"))
    assert done.state is CompactionState.DONE
    assert 0 < done.after < done.before
    assert done.used is not None
    assert done.used.input_tokens == 800
    assert "keep above all: the numbers" in at.plan["read"][0]
    cut = await at.texts()
    assert len(cut) == len(before) - done.messages + 1
    assert "Codes of drawers." in cut[0]
    assert await at.port.compact_thread(at.request) == done, "delivered again"
    await at.say()
    assert await at.port.compact_thread(replace(at.request, starts=False)) == done, "also when others follow"
    assert len(at.plan["read"]) == 1
    assert (await at.texts())[: len(cut)] == cut


async def test_what_is_short_or_unknown_is_left_alone(at: Place) -> None:
    await at.talk(0)
    assert (await at.port.compact_thread(at.request)).state is CompactionState.SHORT
    await at.talk(1)
    short = await at.port.compact_thread(at.request)
    assert (short.state, short.messages) == (CompactionState.SHORT, 0)
    assert short.before == short.after > 0
    assert at.plan["read"] == []


async def test_a_request_that_may_not_start_only_continues(at: Place) -> None:
    await at.talk()
    waiting = replace(at.request, starts=False)
    assert (await at.port.compact_thread(waiting)).state is CompactionState.BUSY
    assert at.plan["read"] == []


@pytest.mark.guard(
    "a thread with an open question is left alone",
    "bot/runtime/compaction.py",
    "if open_interrupts(state):",
    "if False:",
    against="broken conversations",
)
async def test_a_thread_that_waits_for_an_answer_is_left_alone(at: Place) -> None:
    await at.talk(0)
    thread = (await at.served.client.threads.create())["thread_id"]
    said = {"role": "user", "content": "hello"}
    await at.served.client.runs.wait(thread, "asking", input={"messages": [said]})
    waiting = await at.port.compact_thread(replace(at.request, thread_id=thread))
    assert waiting.state is CompactionState.QUESTION
    assert len(await at.served.client.runs.list(thread)) == 1


async def test_a_thread_with_a_run_is_left_alone(at: Place) -> None:
    await at.talk()
    slow = {"role": "user", "content": f"{SAID} [every=0.05]"}
    run = await at.port.create_run(RunRequest(at.request.thread_id, "8:1", [slow], PERSON))
    assert (await at.port.compact_thread(at.request)).state is CompactionState.BUSY
    assert at.plan["read"] == []
    await at.served.client.runs.join(at.request.thread_id, run)
    assert (await at.port.compact_thread(at.request)).state is CompactionState.DONE


async def test_a_run_that_ends_with_a_question_keeps_it(at: Place) -> None:
    thread = (await at.served.client.threads.create())["thread_id"]
    request = replace(at.request, thread_id=thread)
    said = {"role": "user", "content": "hello"}
    asking = await at.served.client.runs.create(thread, "asking", input={"messages": [said]})
    early = await at.port.compact_thread(request)
    assert early.state in (CompactionState.BUSY, CompactionState.QUESTION)
    await at.served.client.runs.join(thread, asking["run_id"])
    assert (await at.port.compact_thread(request)).state is CompactionState.QUESTION
    assert len(await at.served.client.runs.list(thread)) == 1


async def test_a_question_that_comes_between_the_check_and_the_run_is_kept(at: Place) -> None:
    thread = (await at.served.client.threads.create())["thread_id"]
    said = {"role": "user", "content": "hello"}
    await at.served.client.runs.wait(thread, "asking", input={"messages": [said]})
    with pytest.raises(ConflictError, match="open interrupt"):
        await at.served.client.runs.create(
            thread, COMPACTION_GRAPH, input={"messages": []}, headers={UNLESS_INTERRUPTED_HEADER: "1"}
        )
    assert (
        await at.port.compact_thread(replace(at.request, thread_id=thread))
    ).state is CompactionState.QUESTION


async def test_a_failing_model_is_told_and_nothing_is_lost(at: Place) -> None:
    await at.talk()
    before = await at.texts()
    at.plan["summary"] = Script(fail="auth")
    failed = await at.port.compact_thread(at.request)
    assert failed.state is CompactionState.FAILED
    assert 'model "' in failed.problem
    assert await at.texts() == before
    at.plan["summary"] = Script(reply="S")
    again = await at.port.compact_thread(replace(at.request, key="8:compact"))
    assert again.state is CompactionState.DONE


async def test_a_cut_connection_is_taken_up_again(at: Place) -> None:
    await at.talk()
    at.plan["summary"] = Script(reply="Codes.", delay=0.6)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(at.port.compact_thread(at.request), 0.3)
    done = await at.port.compact_thread(at.request)
    assert done.state is CompactionState.DONE
    assert len(at.plan["read"]) == 1


@pytest.mark.guard(
    "only threads of the lead agent are summarized",
    "bot/runtime/compaction.py",
    'if found is None or found["graph_id"] != LEAD_GRAPH:',
    "if found is None:",
    against="broken conversations",
)
async def test_an_assistant_of_another_graph_has_none(at: Place) -> None:
    await at.talk()
    made = await at.served.client.assistants.create("other")
    for assistant in (made["assistant_id"], "other", "nobody"):
        refused = await at.port.compact_thread(replace(at.request, assistant=assistant))
        assert refused.state is CompactionState.UNAVAILABLE
    own = await at.served.client.assistants.create("lead_agent")
    done = await at.port.compact_thread(replace(at.request, assistant=own["assistant_id"]))
    assert done.state is CompactionState.DONE


async def test_a_server_without_the_graph_says_so_and_starts_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, has_graph=False) as at:
        await at.talk()
        before = await at.texts()
        refused = await at.port.compact_thread(at.request)
        assert refused.state is CompactionState.UNAVAILABLE
        assert len(await at.served.client.runs.list(at.request.thread_id)) == 6
        assert await at.texts() == before


async def test_a_server_that_is_away_is_reported_as_such(at: Place) -> None:
    await at.talk(1)
    http = httpx.AsyncClient(base_url="http://127.0.0.1:9", timeout=1.0)
    port = LangGraphRuntime(http, assistant_id="lead_agent", management=None)
    with pytest.raises(RuntimeUnreachable):
        await port.compact_thread(at.request)
    await port.close()
