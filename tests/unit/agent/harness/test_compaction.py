"""Summaries on request: a run of its own on the thread of an agent."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.run_context import RunOptions
from agent.core.run_meter import Price, RunLimits
from agent.core.state import ThreadState, usage_between
from agent.errors import ModelCallFailed
from agent.harness.compaction import build_compaction_graph
from agent.middleware.summarization import SummarizationMiddleware
from agent.models.resolve import NAME_KEY
from roebot_testing.agent import ScriptedChatModel
from tests.harness.agents import chain, say, says, scripted, texts

FACT = "The code of drawer {number} is {code}. " + "It is told at length. " * 12


class Thread:
    """A thread of an agent and of the graph that summarizes it."""

    def __init__(self, writer: ScriptedChatModel) -> None:
        self.saver = InMemorySaver()
        self.agent = chain(scripted(says("Noted. " * 10)), checkpointer=self.saver)
        self.writer = writer
        self.prepared: list[RunOptions] = []
        self.limits = RunLimits()
        graph = build_compaction_graph(self.prepare, self.load_limits)
        self.graph = graph.copy({"checkpointer": self.saver})

    async def load_limits(self) -> RunLimits:
        return self.limits

    async def prepare(self, options: RunOptions) -> tuple[ScriptedChatModel, SummarizationMiddleware]:
        self.prepared.append(options)
        return self.writer, SummarizationMiddleware()

    async def talk(self, turns: int = 8, **state: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for number in range(turns):
            values = await say(self.agent, FACT.format(number=number, code=number * 7919), **state)
        return values

    async def compact(self, key: str = "7:compact", **order: Any) -> dict[str, Any]:
        asked = {"thread_id": "t-1", "model_name": "m", "compaction": {"key": key, **order}}
        values: dict[str, Any] = await self.graph.ainvoke({"messages": []}, {"configurable": asked})
        return values


async def test_the_thread_is_cut_and_the_sizes_are_told() -> None:
    thread = Thread(scripted(says("All the codes.", usage=(900, 9))))
    before = await thread.talk(todos=[{"content": "x", "status": "in_progress"}], title="Drawers")
    values = await thread.compact()
    done = values["compaction"]
    assert done["messages"] == len(before["messages"]) - len(values["messages"]) + 1
    assert done["after"] < done["before"] // 2
    assert "All the codes." in texts(values)[0]
    assert "- [in_progress] x" in texts(values)[0]
    assert texts(values)[1:] == texts(before)[-len(values["messages"]) + 1 :], "the rest is as it was"
    kept = {name: value for name, value in before.items() if name not in ("messages", "usage")}
    assert {name: values[name] for name in kept} == kept
    assert values["usage"]["input_tokens"] == 900
    assert thread.prepared == [RunOptions(model_name="m")]
    assert texts(await say(thread.agent, "and now?"))[-2] == "and now?"


async def test_every_removed_message_is_read_and_so_is_what_to_keep() -> None:
    thread = Thread(scripted(says("All.")))
    before = await thread.talk()
    values = await thread.compact(focus="the {codes} & <numbers>")
    read = "\n".join(one.texts[0] for one in thread.writer.calls)
    gone = [text for text in texts(before) if text not in texts(values)]
    assert gone
    assert all(text in read for text in gone)
    assert "wants it to keep above all: the {codes} & <numbers>" in read


@pytest.mark.guard(
    "the same request summarizes once",
    "agent/harness/compaction.py",
    'if done is not None and done["key"] == order.key:',
    "if False:",
    against="repeated summaries",
)
async def test_the_same_request_summarizes_once() -> None:
    thread = Thread(scripted(says("ONE"), says("TWO")))
    await thread.talk()
    first = await thread.compact("7:compact")
    assert (await thread.compact("7:compact")) == first
    assert len(thread.writer.calls) == 1
    await thread.talk()
    assert "TWO" in texts(await thread.compact("8:compact"))[0]


async def test_its_cost_is_counted_by_the_prices_of_the_models() -> None:
    writer = scripted(says("All the codes.", usage=(900_000, 100_000)))
    writer.metadata = {NAME_KEY: "writer"}
    thread = Thread(writer)
    thread.limits = RunLimits(currency="EUR", prices={"writer": Price(input=2.0, output=10.0)})
    before = (await thread.talk()).get("usage") or {}
    spent = usage_between(before, (await thread.compact())["usage"])
    assert (spent["input_tokens"], spent["output_tokens"]) == (900_000, 100_000)
    assert (spent.get("cost"), spent.get("currency")) == (2.8, "EUR")


@pytest.mark.parametrize("turns", [0, 1])
async def test_a_short_thread_is_left_alone(turns: int) -> None:
    thread = Thread(scripted(says("S")))
    before = await thread.talk(turns)
    values = await thread.compact()
    assert values["compaction"]["messages"] == 0
    assert values["compaction"]["before"] == values["compaction"]["after"]
    assert texts(values["messages"]) == texts(before.get("messages", []))
    assert thread.writer.calls == []


@pytest.mark.guard(
    "a summary that is not shorter is not used",
    "agent/harness/compaction.py",
    "if after >= before.sum_all:",
    "if False:",
    against="lost words",
)
async def test_a_summary_that_is_not_shorter_is_thrown_away() -> None:
    thread = Thread(scripted(says("much " * 3_000, usage=(10, 20))))
    before = await thread.talk()
    values = await thread.compact()
    assert values["compaction"]["messages"] == 0
    assert values["messages"] == before["messages"]
    assert values["usage"]["output_tokens"] == 20, "it is paid all the same"


async def test_a_model_that_fails_leaves_the_thread_and_says_why() -> None:
    thread = Thread(scripted(says("", fail="auth")))
    before = await thread.talk()
    with pytest.raises(ModelCallFailed):
        await thread.compact()
    state = await thread.agent.aget_state({"configurable": {"thread_id": "t-1"}})
    assert state.values["messages"] == before["messages"]


async def test_it_keeps_every_channel_of_the_agent() -> None:
    thread = Thread(scripted(says("S")))
    own = {name for name in thread.graph.channels if not name.startswith(("__", "branch:"))}
    assert own >= set(ThreadState.__annotations__)
