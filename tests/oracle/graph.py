"""A graph of its own for `langgraph dev`: it knows nothing of our packages.

It answers with the number of the person's messages in the thread and what the last one said; "slow" in it
makes the answer long and slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph

SLOW_WORDS = 40
SLOW_EVERY = 0.1


class Counting(BaseChatModel):
    """Says how many messages of the person it has seen, word by word."""

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
        whole = AIMessage(content="".join(_words(messages)))
        return ChatResult(generations=[ChatGeneration(message=whole)])


def _words(messages: list[BaseMessage]) -> list[str]:
    count = sum(message.type == "human" for message in messages)
    last = _own_words(messages[-1].text)
    tail = [f"word{number} " for number in range(1, SLOW_WORDS + 1)] if "slow" in last else []
    return [f"{count}: ", f"{last} ", *tail]


def _own_words(content: str) -> str:
    """Return the text inside the envelope in which the bot passes a message."""
    lines = content.split("\n")
    return "\n".join(lines[1:-1]) if lines[0].startswith("<message ") else content


async def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await Counting().ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("answer", _answer).add_edge(START, "answer").compile()
