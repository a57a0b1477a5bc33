"""What people write while the agent works reaches it before its next model call, once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from agent.middleware.steering import SteeringMiddleware
from agent.shared.run_identity import JOINED, STEERING
from roebot_testing.agent import Script, ScriptedChatModel
from tests.harness.agents import calls, chain, kinds, say, says, scripted, texts

SPACE = (STEERING, "t-1")
STEP = "SteeringMiddleware.before_model"


def run(turn: str = "7") -> Any:
    return {"configurable": {"thread_id": "t-1", "turn_id": turn}}


class Desk:
    """An agent whose tool has messages come in while it works: (id, number, text), one lot for each call."""

    def __init__(self, *lots: Sequence[tuple[str, int, str]], steps: Sequence[Script] = ()) -> None:
        self.store = InMemoryStore()
        self.model = scripted(*(steps or (*[calls("work")] * len(lots), says("done"))))
        waiting = list(lots)

        @tool
        async def work() -> str:
            """Work."""
            for one in waiting.pop(0) if waiting else ():
                await self.put(*one)
            return "worked"

        self.graph = chain(self.model, SteeringMiddleware(), tools=[work], store=self.store)

    async def put(self, key: str, number: int, text: str, turn: str = "7") -> None:
        message = {"type": "human", "content": text, "id": key, "additional_kwargs": {"sender": "web:1"}}
        await self.store.aput(SPACE, key, {"turn": turn, "number": number, "message": message})

    async def left(self) -> list[str]:
        """What is in the inbox."""
        return sorted(item.key for item in await self.store.asearch(SPACE))


async def test_a_message_joins_after_the_tool_that_runs() -> None:
    at = Desk([("m1", 1, "also this")])
    values = await say(at.graph, "go", run())
    assert kinds(values) == ["human", "ai", "tool", "human", "ai"]
    assert at.model.calls[1].texts[-1] == "also this"
    assert values["steered"] == {"turn": "7", "ids": ["m1"]}
    joined = values["messages"][3]
    assert (joined.id, joined.additional_kwargs) == ("m1", {"sender": "web:1", JOINED: True})


async def test_several_join_in_their_order_and_each_once() -> None:
    at = Desk([("m2", 2, "two"), ("m1", 1, "one")], [("m1", 1, "one, again"), ("m3", 3, "three")])
    values = await say(at.graph, "go", run())
    assert [text for text in texts(values) if text not in ("", "worked")] == [
        "go",
        "one",
        "two",
        "three",
        "done",
    ]
    assert values["steered"]["ids"] == ["m1", "m2", "m3"]
    assert await at.left() == ["m3"], "what was taken in is dropped at the next look"


async def test_what_comes_with_the_last_words_stays() -> None:
    at = Desk([], steps=[calls("work"), says("done")])
    await say(at.graph, "go", run())
    await at.put("m1", 1, "too late")
    assert await at.left() == ["m1"]
    values = await say(at.graph, "next", run("8"))
    assert "too late" not in texts(values)
    assert await at.left() == [], "another turn's are dropped"
    assert "steered" not in values


async def test_a_new_turn_begins_its_own_record() -> None:
    at = Desk([("m1", 1, "one")], steps=[calls("work"), says("done"), says("again")])
    await say(at.graph, "go", run())
    await at.put("m2", 2, "two", turn="8")
    values = await say(at.graph, "next", run("8"))
    assert values["steered"] == {"turn": "8", "ids": ["m2"]}
    assert texts(values)[-3:] == ["next", "two", "again"]


@pytest.mark.parametrize(
    "value",
    [
        {"turn": "7", "number": 1},
        {"turn": "7", "number": 1, "message": {"content": [{"type": "text"}]}},
        {"turn": "7", "number": "one", "message": {"content": "hi"}},
        {"number": 1, "message": {"content": "hi"}},
    ],
)
async def test_what_is_no_message_is_dropped(value: dict[str, Any]) -> None:
    at = Desk([], steps=[says("done")])
    await at.store.aput(SPACE, "m1", value)
    values = await say(at.graph, "go", run())
    assert kinds(values) == ["human", "ai"]
    assert await at.left() == []


async def test_the_record_stands_whatever_becomes_of_the_model_call() -> None:
    at = Desk([("m1", 1, "also this")], steps=[calls("work"), Script(fail="crash")])
    with pytest.raises(RuntimeError):
        await say(at.graph, "go", run())
    values = (await at.graph.aget_state(run())).values
    assert kinds(values) == ["human", "ai", "tool", "human"]
    assert values["steered"]["ids"] == ["m1"]


async def test_from_an_older_checkpoint_it_is_taken_in_again() -> None:
    at = Desk([("m1", 1, "also this")])
    await say(at.graph, "go", run())
    [before] = [
        found
        async for found in at.graph.aget_state_history(run())
        if found.next == (STEP,) and kinds(found.values) == ["human", "ai", "tool"]
    ]
    again = {**before.config["configurable"], **run()["configurable"]}
    values = await at.graph.ainvoke(None, {"configurable": again})
    assert texts(values) == ["go", "", "worked", "also this", "done"]


@pytest.mark.parametrize("where", [{"thread_id": "t-1"}, {"turn_id": "7"}, {}])
async def test_without_a_turn_a_thread_or_a_store_there_is_no_inbox(where: dict[str, Any]) -> None:
    at = Desk([], steps=[says("done")])
    await at.put("m1", 1, "hi")
    model = scripted(says("done"))
    without = chain(model, SteeringMiddleware(), checkpointer=None)
    assert kinds(await say(without, "go", {"configurable": where})) == ["human", "ai"]
    if "thread_id" in where:
        assert kinds(await say(at.graph, "go", {"configurable": where})) == ["human", "ai"]
        assert await at.left() == ["m1"]


async def test_only_a_run_that_asks_for_it_has_the_step(tmp_path: Path) -> None:
    source = ModelSource(
        overrides={"models": [{"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}]},
        read_file=False,
        environ={},
    )
    model = ScriptedChatModel(script=Script(reply="ok"), environ={})
    lead = LeadAgent(source, tmp_path, make_model=lambda *_, **__: model)
    asked = RunOptions.of({"steerable": True})
    assert STEP in (await lead.get_graph(asked)).nodes
    assert STEP not in (await lead.get_graph(RunOptions())).nodes
    graph = (await lead.get_graph(asked)).copy({"checkpointer": InMemorySaver(), "store": InMemoryStore()})
    assert texts(await say(graph, "hi", run())) == ["hi", "ok"]
