"""A scripted agent that hands work to subagents, for tests of the whole: a model, and a tool with a trace.

The lead agent does what the lines of the message say, `DESCRIPTION: PROMPT` each: one task for a line, all
that are left in every answer (so more than may run), then it answers. A subagent follows the markers of its
prompt (`roebot_testing.agent.script`), `[tool=hold {...}]` among them.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

ANSWER = "All of it was looked at."
TRACES = "ROEBOT_TEST_TRACES"


class DelegatingModel(ScriptedChatModel):
    """See the module."""

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        if "task" not in kwargs.get("seen_tools", ()):
            self.steps, self.script = (), Script()
            return super()._prepare_answer(messages, kwargs, manager)
        asked = next(one for one in reversed(messages) if isinstance(one, HumanMessage)).text
        started = {
            call["args"]["description"]
            for one in messages
            if isinstance(one, AIMessage)
            for call in one.tool_calls
        }
        wanted = [line.partition(": ") for line in asked.splitlines() if ": " in line]
        left = [(name, prompt) for name, _, prompt in wanted if name not in started]
        calls = [ToolUse("task", {"description": name, "prompt": prompt}) for name, prompt in left]
        self.steps = (Script(tools=tuple(calls)) if calls else Script(reply=ANSWER),)
        unmarked = [one for one in messages if not isinstance(one, HumanMessage)]
        return super()._prepare_answer([*unmarked, HumanMessage("go")], kwargs, manager)


@tool
async def hold(name: str) -> str:
    """Hold on until somebody ends it."""
    trace = Path(os.environ[TRACES]) / name
    await asyncio.to_thread(trace.touch)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await asyncio.to_thread(trace.unlink)
    return json.dumps(name)


def configuration(**subagents: Any) -> str:
    """The sections of such an agent."""
    return "\n".join(
        [
            'models: [{name: scripted, use: "tests.harness.delegation_agent:DelegatingModel"}]',
            'tools: [{name: hold, group: test, use: "tests.harness.delegation_agent:hold"}]',
            "title: {enabled: false}",
            "memory: {enabled: false}",
            f"subagents: {json.dumps(subagents)}",
        ]
    )
