"""Threads of three hundred turns: the lead agent's own chain, checkpoints in the runtime's SQLite file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.features import RuntimeFeatures
from agent.lead import Additions, LeadAgent
from agent.models.spec import ModelSpec
from agent.runtime.saver import RuntimeSaver
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.runtime.serving import serve

TURNS = 300
PERSON = {"user_id": "telegram:1", "account": "bot", "chat": "1", "chat_kind": "private"}
CONFIG: Any = {"configurable": {"thread_id": "t", **PERSON}, "recursion_limit": 50}
USE = "roebot_testing.agent:ScriptedChatModel"
TRIGGER = 1_500
"""Tokens."""


def fact(number: int) -> str:
    """What the person tells in a turn."""
    return f"The code of drawer {number} is {number * 7919:08} & <safe>."


def found(number: int) -> str:
    """What the tool tells of a drawer."""
    return f'Drawer {number} holds {{"item": "{number * 104_729:09}"}}.'


FACT = re.compile(r"The code of drawer (\d+) is \d{8} & <safe>\.")
FOUND = re.compile(r"Drawer (\d+) holds \{\"item\": \"\d{9}\"\}\.")


@tool
async def open_drawer(number: int) -> str:
    """Look into a drawer."""
    return found(number)


@asynccontextmanager
async def talking(
    home: Path, config: dict[str, Any], make_model: Callable[..., BaseChatModel]
) -> AsyncIterator[Callable[[str], Any]]:
    """A way to say something to the lead agent, whose thread is in `checkpoints.db` below the home."""
    async with RuntimeSaver.open(home / "checkpoints.db") as saver:
        source = ModelSource(overrides=config, read_file=False, environ={})
        agent = LeadAgent(source, home, additions=Additions(checkpointer=saver), make_model=make_model)

        async def say(text: str) -> dict[str, Any]:
            graph = await agent.get_graph(RunOptions())
            given = {"messages": [HumanMessage(text)]}
            values: dict[str, Any] = await graph.ainvoke(given, CONFIG, durability="async")
            return values

        yield say


EVERYTHING_ELSE = RuntimeFeatures(
    sandbox=True,
    memory=True,
    summarization=False,
    subagent=True,
    vision=True,
    auto_title=True,
    loop_detection=True,
    guardrail=True,
    deferred_tools=True,
)


@pytest.mark.soak
@pytest.mark.parametrize(
    "features",
    [
        pytest.param(None, id="configured"),
        pytest.param(EVERYTHING_ELSE, id="everything else on"),
    ],
)
async def test_without_summaries_it_stays_below_five_megabytes(
    tmp_path: Path, features: RuntimeFeatures | None
) -> None:
    """Through the runtime, as the bot runs it; 200 characters of words that mean nothing each time."""
    dice = Random(4)
    words = ["".join(dice.choices(ascii_lowercase, k=dice.randint(2, 9))) for _ in range(2_000)]
    said = [" ".join(dice.choices(words, k=60))[:200] for _ in range(2 * TURNS)]
    asked, answers = said[::2], [Script(reply=text, usage=(100, 50)) for text in said[1::2]]

    def make(spec: ModelSpec, **_: Any) -> BaseChatModel:
        return ScriptedChatModel(steps=answers, environ={})

    listed = {
        "models": [{"name": "m", "use": USE}],
        "guardrails": {"provider": {"allowed": ["*"]}},
        "summarization": {"enabled": False},
    }
    source = ModelSource(overrides=listed, read_file=False, environ={})
    agent = LeadAgent(source, tmp_path, additions=Additions(features=features), make_model=make)

    async def lead(config: RunnableConfig) -> Any:
        return await agent.get_graph(RunOptions.of(config.get("configurable", {})))

    async with serve(tmp_path, sources={"lead_agent": lambda: lead}) as served:
        thread = (await served.client.threads.create())["thread_id"]
        for text in asked:
            await served.client.runs.wait(
                thread,
                "lead_agent",
                input={"messages": [{"role": "user", "content": text}]},
                config={"configurable": {**PERSON, "is_plan_mode": True}},
                metadata={"turn": "0191d0a2-7c1f-7b52-9e5b-0123456789ab"},
            )
        values: Any = (await served.client.threads.get_state(thread))["values"]
    assert [message["content"] for message in values["messages"]] == said
    assert values["title"] == " ".join(said[0].split()[:6])[:60]
    size = sum(part.stat().st_size for part in tmp_path.glob("checkpoints.db*"))
    assert size < 5_000_000, f"{size:,} bytes"


class Told:
    """What agent and summarizer were given, in the order in which they were asked."""

    def __init__(self) -> None:
        self.log: list[tuple[str, tuple[Any, ...]]] = []
        self.summaries = 0

    def agent(self, messages: Sequence[Any]) -> Script:
        """Looks into every third drawer that it is told of, and then answers."""
        self.log.append(("agent", tuple(messages)))
        last = messages[-1]
        numbers = FACT.findall(last.text) if isinstance(last, HumanMessage) else []
        if numbers and int(numbers[0]) % 3 == 0:
            return Script(tools=(ToolUse("open_drawer", {"number": int(numbers[0])}),))
        return Script(reply="Noted, and some more words, so that the answer takes its room.")

    def writer(self, messages: Sequence[Any]) -> Script:
        """Numbers its summaries."""
        self.log.append(("writer", tuple(messages)))
        self.summaries += 1
        return Script(reply=f"SUMMARY {self.summaries}.")

    def __call__(self, spec: ModelSpec, **_: Any) -> BaseChatModel:
        plan = {"m": self.agent, "writer": self.writer}[spec.name]

        class Planned(ScriptedChatModel):
            def _next_script(self) -> Script:
                return plan(self.calls[-1].messages)

        return Planned(environ={})

    def calls(self) -> Iterator[tuple[list[AnyMessage], str, str]]:
        """Each call of the agent: its messages, all that summarizers had read by then, the last summary."""
        read, written = "", 0
        for who, messages in self.log:
            if who == "writer":
                read += messages[0].text
                written += 1
            else:
                plain = [message for message in messages if not isinstance(message, SystemMessage)]
                yield plain, read, f"SUMMARY {written}." if written else ""


def are_whole(messages: Sequence[AnyMessage]) -> bool:
    """Whether the results of each answer's calls, and no others, stand right behind it."""
    awaited: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in awaited:
                return False
            awaited.remove(message.tool_call_id)
        elif awaited:
            return False
        elif isinstance(message, AIMessage):
            awaited = [call["id"] for call in message.tool_calls]
    return not awaited


@pytest.mark.soak
@pytest.mark.parametrize(
    "keep",
    [
        pytest.param({"type": "messages", "value": 7}, id="messages"),
        pytest.param({"type": "tokens", "value": 500}, id="tokens"),
    ],
)
async def test_with_summaries_nothing_is_lost_and_the_context_stays_small(
    tmp_path: Path, keep: dict[str, Any]
) -> None:
    told = Told()
    config = {
        "models": [{"name": "m", "use": USE}, {"name": "writer", "use": USE}],
        "tools": [{"name": "open_drawer", "group": "g", "use": f"{__name__}:open_drawer"}],
        "title": {"enabled": False},
        "summarization": {
            "enabled": True,
            "trigger": [{"type": "tokens", "value": TRIGGER}],
            "keep": keep,
            "model_name": "writer",
        },
    }
    async with talking(tmp_path, config, told) as say:
        for number in range(TURNS):
            values = await say(fact(number))
    calls = list(told.calls())
    assert len(calls) == TURNS * 4 // 3
    assert told.summaries > 10
    said, looked = set[str](), set[str]()
    for messages, read, summary in calls:
        context = "\n".join(message.text for message in messages)
        said |= set(FACT.findall(context))
        looked |= set(FOUND.findall(context))
        for number in said:
            assert fact(int(number)) in read or fact(int(number)) in context, (
                "read word for word, or still there"
            )
        for number in looked:
            assert found(int(number)) in read or found(int(number)) in context
        assert count_tokens_approximately(messages) < TRIGGER
        assert summary in context, "the newest summary is in view from the next call on"
        assert are_whole(messages)
    assert len(said) == TURNS
    assert len(looked) == TURNS // 3
    assert are_whole(values["messages"])
    assert len(values["messages"]) < 80
    assert f"SUMMARY {told.summaries}." in values["messages"][0].text
