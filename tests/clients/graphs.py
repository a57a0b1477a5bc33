"""Graphs that the clients' pages talk to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

SLOW_WORDS = 30
SLOW_EVERY = 0.2


class Counting(BaseChatModel):
    """Says how many messages of the person it has seen, word by word; slowly if the last one says "slow"."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        slow = "slow" in messages[-1].text
        for word in _words(messages):
            await asyncio.sleep(SLOW_EVERY if slow else 0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(_words(messages))))])


def _words(messages: list[BaseMessage]) -> list[str]:
    count = sum(message.type == "human" for message in messages)
    words = SLOW_WORDS if "slow" in messages[-1].text else 3
    return [f"{count}:", *(f" w{number}" for number in range(words))]


async def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await Counting().ainvoke(state["messages"])]}


async def _ask_left(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", f"left {interrupt('left?')}")]}


async def _ask_right(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", f"right {interrupt('right?')}")]}


async def _propose(state: MessagesState) -> dict[str, Any]:
    call = {"name": "send_mail", "args": {"to": "ann"}, "id": "call"}
    return {"messages": [AIMessage("May I send this?", tool_calls=[call])]}


async def _review(state: MessagesState) -> dict[str, Any]:
    """Ask as the human-in-the-loop middleware does, and repeat the decision."""
    request = {"name": "send_mail", "args": {"to": "ann"}, "description": "A mail to Ann"}
    config = {"action_name": "send_mail", "allowed_decisions": ["approve", "edit", "reject"]}
    (decision,) = interrupt({"action_requests": [request], "review_configs": [config]})["decisions"]
    args = decision.get("edited_action", request)["args"]
    text = f"{decision['type']}: {decision.get('message') or args['to']}"
    return {"messages": [ToolMessage("done", tool_call_id="call"), AIMessage(text)]}


async def _fail(state: MessagesState) -> dict[str, Any]:
    raise ValueError("it broke")


def _graph(**nodes: Any) -> Any:
    graph = StateGraph(MessagesState)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph.compile()


chat = _graph(answer=_answer)
one = _graph(left=_ask_left)
two = _graph(left=_ask_left, right=_ask_right)
failing = _graph(fail=_fail)
review = StateGraph(MessagesState).add_sequence([_propose, _review]).add_edge(START, "_propose").compile()
