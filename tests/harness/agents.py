"""Compiled agents for tests: a scripted model, a chain, a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.state import ThreadState
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

THREAD: RunnableConfig = {"configurable": {"thread_id": "t-1"}}


def says(reply: str, **more: Any) -> Script:
    """A step that answers."""
    return Script(reply=reply, **more)


def calls(name: str, call_id: str = "", /, **args: Any) -> Script:
    """A step that calls one tool."""
    return Script(tools=(ToolUse(name, args, call_id),))


def scripted(*steps: Script, **fields: Any) -> ScriptedChatModel:
    """A model that takes these steps, one for each call."""
    return ScriptedChatModel(steps=steps, environ={}, **fields)


class LoopTurns:
    """A sleep of scripted models that takes some turns of the event loop, and never ends for 0 of them."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def __call__(self, _: float) -> None:
        for _number in range(self._turns):
            await asyncio.sleep(0)
        if not self._turns:
            await asyncio.Event().wait()


def unhurried(*steps: Script) -> ScriptedChatModel:
    """A model that answers long after one that takes no time."""
    return scripted(*(replace(step, delay=1.0) for step in steps), sleep=LoopTurns(200))


def chain(model: ScriptedChatModel, *middleware: Any, tools: Sequence[Any] = (), **options: Any) -> Any:
    """A compiled agent with just this chain, and a saver in memory."""
    options.setdefault("checkpointer", InMemorySaver())
    return create_agent(model, list(tools), middleware=list(middleware), state_schema=ThreadState, **options)


async def say(graph: Any, text: str, config: RunnableConfig = THREAD, **state: Any) -> dict[str, Any]:
    """The values after a turn."""
    values: dict[str, Any] = await graph.ainvoke({"messages": [HumanMessage(text)], **state}, config)
    return values


async def steps_of(graph: Any, config: RunnableConfig = THREAD) -> list[int]:
    """The number of each checkpoint of the thread, newest first."""
    return [snapshot.metadata["step"] async for snapshot in graph.aget_state_history(config)]


def texts(values: dict[str, Any] | Sequence[AnyMessage]) -> list[str]:
    """The texts of the messages."""
    messages = values["messages"] if isinstance(values, dict) else values
    return [message.text for message in messages]


def kinds(values: dict[str, Any] | Sequence[AnyMessage]) -> list[str]:
    """The types of the messages: human, ai, tool."""
    messages = values["messages"] if isinstance(values, dict) else values
    return [message.type for message in messages]
