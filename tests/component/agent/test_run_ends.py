"""Whatever a model does, the run ends with a text that a person understands, and the next message works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from roebot_testing.agent import Script, ToolUse
from tests.component.agent.test_lead_tools import ONE, TWO, Models, entry, lead

TOOL = f"tools: [{entry('lookup', 'lookup')}]\n"
LIMITS = "run_limits: {tool_calls: 6, tokens: 200000}\n"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Thread:
    """A thread of the configured agent; each message may choose another model."""

    def __init__(self, agent: LeadAgent) -> None:
        self.agent, self.saver = agent, InMemorySaver()

    async def say(self, text: str, model: str | None = None) -> list[Any]:
        graph = (await self.agent.get_graph(RunOptions(model_name=model))).copy({"checkpointer": self.saver})
        values: Any = None
        # As the bot does: only the streamed pieces of a call show that it breaks off.
        source = {"messages": [HumanMessage(text)]}
        async for mode, update in graph.astream(source, CONFIG, stream_mode=["messages", "values"]):
            values = update if mode == "values" else values
        messages: list[Any] = values["messages"]
        check_whole(messages)
        return messages


def check_whole(messages: list[Any]) -> None:
    """Each call has its result right after it, and each id is there once, as providers require."""
    open_calls: list[str] = []
    for message in messages:
        if message.type == "tool":
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls, "a call without a result"
        if isinstance(message, AIMessage):
            open_calls = [call["id"] for call in message.tool_calls]
            assert not message.invalid_tool_calls
    assert not open_calls
    assert len({message.id for message in messages}) == len(messages)


def lookups(count: int, **args: Any) -> tuple[Script, ...]:
    return tuple(
        Script(tools=(ToolUse("lookup", {"word": f"w{number}", **args}, f"c{number}"),))
        for number in range(count)
    )


FOR_EVER = lookups(40)
UNKNOWN = tuple(Script(tools=(ToolUse(f"do_{number}", {"x": number}, f"c{number}"),)) for number in range(40))
SENSELESS = lookups(40, word={"deep": [1]})
UNREADABLE = (Script(tools=(ToolUse("lookup", "word: is it?", "c1"),)),)
BREAKS_OFF = (Script(tools=(ToolUse("lookup", json.dumps({"word": "a long one"})[:-5], "c1"),), fragment=4),)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        pytest.param(FOR_EVER, "reached its limit of 6 tool calls. Done so far: lookup (6)", id="for ever"),
        pytest.param(UNKNOWN, "reached its limit of 6 tool calls. No tool was used.", id="unknown tools"),
        pytest.param(SENSELESS, "again and again", id="senseless arguments"),
        pytest.param(UNREADABLE, "I could not call lookup", id="unreadable arguments"),
        pytest.param(BREAKS_OFF, "I could not call lookup", id="arguments that break off"),
    ],
)
async def test_a_run_ends_within_its_limits_and_the_next_message_works(
    tmp_path: Path, steps: tuple[Script, ...], said: str
) -> None:
    models = Models(m=steps)
    thread = Thread(lead(tmp_path, ONE + TOOL + LIMITS, models))
    messages = await thread.say("look everything up")
    assert said in messages[-1].text
    assert sum(message.type == "tool" for message in messages) <= 6
    used = len(models.made["m"].calls)
    assert used <= 8
    models.made["m"].steps = [Script(reply="never")] * used + [
        Script(tools=(ToolUse("lookup", {"word": "tea"}, "c9"),)),
        Script(reply="It means 42."),
    ]
    assert (await thread.say("and tea?"))[-1].text == "It means 42."


async def test_a_model_that_has_nothing_to_say_at_the_limit_is_spoken_for(tmp_path: Path) -> None:
    thread = Thread(lead(tmp_path, ONE + TOOL + LIMITS, Models(m=(*lookups(6), Script(reply="")))))
    last = (await thread.say("look everything up"))[-1]
    assert last.text.startswith(
        "I stopped here because this run reached its limit of 6 tool calls. Done so far"
    )


async def test_a_model_that_is_switched_goes_on_in_the_same_thread(tmp_path: Path) -> None:
    models = Models(
        m=(*lookups(6), Script(reply="I found six.")),
        spare=(Script(tools=(ToolUse("lookup", {"word": "tea"}, "c1"),)), Script(reply="It means 42.")),
    )
    thread = Thread(lead(tmp_path, TWO + TOOL + LIMITS, models))
    first = await thread.say("look six up")
    assert first[-1].text.startswith("I found six.\n\nI stopped here")
    assert (await thread.say("and tea?", model="spare"))[-1].text == "It means 42."
    assert (await thread.say("thanks", model="m"))[-1].text == "I found six."
