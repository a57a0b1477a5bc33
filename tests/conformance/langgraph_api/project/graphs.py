"""Graphs that both servers serve. Only langgraph and langchain-core are imported."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Annotated, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from typing_extensions import TypedDict

WORDS = ("one ", "two ", "three")
GATE_POLLS = 1_200
POLL_SECONDS = 0.05


class WordModel(BaseChatModel):
    """A model that always answers the same three chunks."""

    @property
    def _llm_type(self) -> str:
        return "words"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(WORDS)))])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for word in WORDS:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


async def call(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await WordModel().ainvoke(state["messages"])]}


chat = StateGraph(MessagesState).add_sequence([call]).add_edge(START, "call").compile()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def choose(state: MessagesState) -> dict[str, Any]:
    wanted = {"name": "add", "args": {"a": 1, "b": 2}, "id": "call-1", "type": "tool_call"}
    return {"messages": [AIMessage(content="", id="choice", tool_calls=[wanted])]}


tools = (
    StateGraph(MessagesState)
    .add_sequence([choose, ("tools", ToolNode([add]))])
    .add_edge(START, "choose")
    .compile()
)


class Log(TypedDict, total=False):
    """Lines are appended; the other keys keep the last value."""

    log: Annotated[list[str], operator.add]
    name: str
    count: int


def write(line: str) -> Callable[[Log], Log]:
    """Return a node that appends a line."""

    def node(state: Log) -> Log:
        return {"log": [line]}

    node.__name__ = line
    return node


def question(name: str) -> Callable[[Log], Log]:
    """Return a node that asks, and appends the answer."""

    def node(state: Log) -> Log:
        return {"log": [f"{name}: {interrupt({'question': name})}"]}

    node.__name__ = name
    return node


async def slow(state: Log) -> Log:
    await asyncio.sleep(0.5)
    return {"log": ["slow"]}


async def fail(state: Log) -> Log:
    raise ValueError("broken on purpose")


async def late(state: Log) -> Log:
    await asyncio.sleep(0.5)
    return await fail(state)


async def wait(state: Log) -> Log:
    """Wait until a client stores the gate that `name` names."""
    for _ in range(GATE_POLLS):
        # The reference fails operations of the store together with invalid ones of other clients.
        with suppress(Exception):
            if await get_store().aget(("gates",), state["name"]) is not None:
                return {"log": ["waited"]}
        await asyncio.sleep(POLL_SECONDS)
    return {"log": ["gave up"]}


steps = StateGraph(Log).add_sequence([write("first"), write("second")]).add_edge(START, "first").compile()
ask = StateGraph(Log).add_sequence([question("ask"), write("after")]).add_edge(START, "ask").compile()
failing = StateGraph(Log).add_sequence([write("first"), fail]).add_edge(START, "first").compile()
gated = StateGraph(Log).add_sequence([write("first"), wait]).add_edge(START, "first").compile()
ask_two = (
    StateGraph(Log)
    .add_node("left", question("left"))
    .add_node("right", question("right"))
    .add_node("after", write("after"))
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge(["left", "right"], "after")
    .compile()
)
branch = (
    StateGraph(Log)
    .add_node("ask", question("ask"))
    .add_node("slow", slow)
    .add_node("after", write("after"))
    .add_edge(START, "ask")
    .add_edge(START, "slow")
    .add_edge(["ask", "slow"], "after")
    .compile()
)
ask_or_fail = (
    StateGraph(Log)
    .add_node("ask", question("ask"))
    .add_node("late", late)
    .add_edge(START, "ask")
    .add_edge(START, "late")
    .compile()
)
child = (
    StateGraph(Log).add_sequence([write("inner"), question("inner_ask")]).add_edge(START, "inner").compile()
)
nested = (
    StateGraph(Log)
    .add_sequence([write("before"), ("child", child), write("after")])
    .add_edge(START, "before")
    .compile()
)


class Settings(TypedDict, total=False):
    """Context of the `configured` graph."""

    model: str
    temperature: float


class Echo(TypedDict, total=False):
    """What a run was configured with."""

    seen_context: Any
    seen_configurable: Any
    seen_tags: Any


async def echo(state: Echo, runtime: Runtime[Settings], config: RunnableConfig) -> Echo:
    configurable = config.get("configurable", {})
    visible = {key: configurable[key] for key in ("model", "temperature", "user") if key in configurable}
    return {"seen_context": runtime.context, "seen_configurable": visible, "seen_tags": config.get("tags")}


configured = StateGraph(Echo, context_schema=Settings).add_sequence([echo]).add_edge(START, "echo").compile()


async def emit(state: Log) -> Log:
    writer = get_stream_writer()
    writer({"progress": 1})
    writer("text")
    writer([1, 2])
    return {"log": ["emitted"]}


writer = StateGraph(Log).add_sequence([emit]).add_edge(START, "emit").compile()
