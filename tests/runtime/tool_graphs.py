"""An agent for processes that are killed while its tools run; tools and model write down what happens.

Below the home: `calls.txt` has a line for each time that a tool ran, `heard.txt` what the model was given,
one JSON list of texts a line. While there is a file `hang`, the tools that are told to wait do, and while
there is a file `think`, so does the model.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.types import interrupt

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

TOOLS = {
    "work": (ToolUse("work"),),
    "read": (ToolUse("read"),),
    "both": (ToolUse("quick"), ToolUse("work")),
    "careful": (ToolUse("careful"),),
    "ask": (ToolUse("ask_clarification", {"question": "Which one?", "options": ["red", "blue"]}),),
}


def home() -> Path:
    """The process's own."""
    return Path(os.environ["ROEBOT_HOME"])


def note(file: str, line: str) -> None:
    """Append a line, with nothing left in a buffer."""
    with (home() / file).open("a") as opened:
        opened.write(f"{line}\n")


async def at_work(name: str) -> str:
    """Write the call down, then wait as long as the test wants."""
    await asyncio.to_thread(note, "calls.txt", name)
    while await asyncio.to_thread((home() / "hang").exists):
        await asyncio.sleep(0.02)
    return f"{name} done"


@tool
async def work() -> str:
    """Has an effect."""
    return await at_work("work")


@tool
async def read() -> str:
    """Has none."""
    return await at_work("read")


read.metadata = {"idempotent": True}


@tool
async def quick() -> str:
    """Has an effect, and doesn't wait."""
    await asyncio.to_thread(note, "calls.txt", "quick")
    return "quick done"


@tool
async def careful() -> str:
    """Asks before it has an effect."""
    said = interrupt("really?")
    return f"{await at_work('careful')}: {said}"


class Heard(AgentMiddleware[Any, Any]):
    """Writes down what the model is given."""

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        texts = [message.text for message in request.messages]
        await asyncio.to_thread(note, "heard.txt", json.dumps(texts))
        while await asyncio.to_thread((home() / "think").exists):
            await asyncio.sleep(0.02)
        return await handler(request)


class Obeys(ScriptedChatModel):
    """Calls the tools that the last person named, then answers."""

    def _next_script(self) -> Script:
        heard = self.calls[-1].messages
        wanted = [message.text for message in heard if isinstance(message, HumanMessage)][-1]
        return Script(tools=TOOLS.get(wanted, ()))


def tooled() -> Any:
    """The built-in chain around these tools."""
    return create_agent_graph(
        Obeys(),
        [work, read, quick, careful],
        features=RuntimeFeatures(sandbox=False),
        extra_middleware=[Heard()],
    )
