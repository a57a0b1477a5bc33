"""Graphs that the runtime's tests serve."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.channels import DeltaChannel
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class TokenModel(BaseChatModel):
    """A model without threads or network: `tokens` chunks, each after `delay` seconds."""

    tokens: int = 20
    delay: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "tokens"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join(f"t{number} " for number in range(self.tokens))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for number in range(self.tokens):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=f"t{number} "))
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.message.text, chunk=chunk)
            yield chunk
            if number % 8 == 7 or self.delay:
                await asyncio.sleep(self.delay)


def chat(tokens: int = 20, delay: float = 0.0) -> StateGraph[Any, Any, Any, Any]:
    """One call of the model."""
    model = TokenModel(tokens=tokens, delay=delay)

    async def call(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("call", call)
    graph.add_edge(START, "call")
    graph.add_edge("call", END)
    return graph


class Steps(TypedDict, total=False):
    """What was done, in order."""

    log: Annotated[list[str], operator.add]
    ask: str


gates: dict[str, asyncio.Event] = {}
entered: dict[str, asyncio.Event] = {}


def gate(name: str) -> asyncio.Event:
    """Opens a step of the `gated` graph."""
    return gates.setdefault(name, asyncio.Event())


def arrived(name: str) -> asyncio.Event:
    """Set when a run has come to this gate."""
    return entered.setdefault(name, asyncio.Event())


def chain(*nodes: Callable[[Steps], Awaitable[Steps]]) -> StateGraph[Any, Any, Any, Any]:
    """These steps, one after the other."""
    graph = StateGraph(Steps)
    graph.add_sequence(list(nodes))
    graph.add_edge(START, nodes[0].__name__)
    return graph


def gated() -> StateGraph[Any, Any, Any, Any]:
    """Two steps; the second waits for the gate that `ask` names."""

    async def first(state: Steps) -> Steps:
        get_stream_writer()({"step": "first"})
        return {"log": [f"first {state.get('ask', '')}"]}

    async def second(state: Steps) -> Steps:
        name = state.get("ask", "")
        arrived(name).set()
        await gate(name).wait()
        return {"log": [f"second {name}"]}

    return chain(first, second)


def asking() -> StateGraph[Any, Any, Any, Any]:
    """Asks a person, then goes on."""

    async def before(state: Steps) -> Steps:
        return {"log": ["before"]}

    async def question(state: Steps) -> Steps:
        return {"log": [f"answer {interrupt({'question': 'which?'})}"]}

    async def after(state: Steps) -> Steps:
        return {"log": ["after"]}

    return chain(before, question, after)


def asking_twice() -> StateGraph[Any, Any, Any, Any]:
    """Asks two people in one step, while a third node works; a step follows each."""

    async def left(state: Steps) -> Steps:
        return {"log": [f"left {interrupt('left?')}"]}

    async def right(state: Steps) -> Steps:
        return {"log": [f"right {interrupt('right?')}"]}

    async def work(state: Steps) -> Steps:
        await asyncio.sleep(0)
        return {"log": ["work"]}

    async def after(state: Steps) -> Steps:
        return {"log": ["after"]}

    graph = StateGraph(Steps)
    for node in (left, right, work, after):
        graph.add_node(node.__name__, node)
    for name in ("left", "right", "work"):
        graph.add_edge(START, name)
        graph.add_edge(name, "after")
    return graph


def asking_beside(name: str = "x") -> StateGraph[Any, Any, Any, Any]:
    """Asks a person in one branch, while another one waits for a gate, and fails if `ask` is "fail"."""

    async def question(state: Steps) -> Steps:
        return {"log": [f"answer {interrupt('which?')}"]}

    async def slow(state: Steps) -> Steps:
        arrived(name).set()
        await gate(name).wait()
        if state.get("ask") == "fail":
            raise ValueError("broken")
        return {"log": ["slow"]}

    graph = StateGraph(Steps)
    for node in (question, slow):
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)
    return graph


def asking_gated() -> StateGraph[Any, Any, Any, Any]:
    """Asks a person, then waits for the gate that `ask` names."""

    async def question(state: Steps) -> Steps:
        return {"log": [interrupt("which?")]}

    async def second(state: Steps) -> Steps:
        name = state.get("ask", "")
        arrived(name).set()
        await gate(name).wait()
        return {"log": [f"second {name}"]}

    return chain(question, second)


def failing() -> StateGraph[Any, Any, Any, Any]:
    """Raises in its second step."""

    async def good(state: Steps) -> Steps:
        return {"log": ["good"]}

    async def bad(state: Steps) -> Steps:
        raise ValueError("it broke with api_key=sk-abcdefghijklmnop1234")

    return chain(good, bad)


def nested() -> StateGraph[Any, Any, Any, Any]:
    """A graph in a graph."""
    inner = StateGraph(Steps)
    inner.add_node("deep", lambda state: {"log": ["deep"]})
    inner.add_edge(START, "deep")
    graph = StateGraph(Steps)
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "inner")
    return graph


def _append(known: list[AnyMessage], writes: list[Any]) -> list[AnyMessage]:
    for write in writes:
        known = add_messages(known, write)  # type: ignore[assignment]
    return known


class DeltaState(TypedDict):
    """Messages kept as differences."""

    messages: Annotated[list[AnyMessage], DeltaChannel(_append, snapshot_frequency=5)]


def delta(tokens: int = 3, delay: float = 0.0) -> StateGraph[Any, Any, Any, Any]:
    """One call of a model on a `DeltaChannel`."""
    model = TokenModel(tokens=tokens, delay=delay)

    async def call(state: DeltaState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(DeltaState)
    graph.add_node("call", call)
    graph.add_edge(START, "call")
    return graph
