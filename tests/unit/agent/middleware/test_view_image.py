"""Images that a tool opened: in view for the next call, gone afterwards."""

from typing import Annotated, Any

import pytest
from langchain_core.exceptions import ModelTimeoutError
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from agent.middleware.view_image import ViewImageMiddleware
from agent.testing import Script, ScriptedChatModel, ToolUse
from tests.harness.agents import THREAD, chain, kinds, say, says, scripted, texts


@tool
async def view_image(path: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Open an image."""
    image = {"base64": f"bytes of {path}", "mime_type": "image/png"}
    message = ToolMessage(f"opened {path}", tool_call_id=tool_call_id)
    return Command(update={"messages": [message], "viewed_images": {path: image}})


LOOK = Script(tools=(ToolUse("view_image", {"path": "a.png"}), ToolUse("view_image", {"path": "b.png"})))


def images(model: ScriptedChatModel, call: int) -> list[str]:
    content = model.calls[call].messages[-1].content
    return [b["base64"] for b in content if isinstance(b, dict) and b["type"] == "image"]


async def test_the_next_call_sees_them_and_no_later_one() -> None:
    model = scripted(LOOK, says("two eggs"), says("as I said"))
    graph = chain(model, ViewImageMiddleware(), tools=[view_image])
    values = await say(graph, "look")
    assert images(model, 1) == ["bytes of a.png", "bytes of b.png"]
    assert model.calls[1].messages[-1].type == "human"
    assert values["viewed_images"] == {}
    assert kinds(values) == ["human", "ai", "tool", "tool", "ai"], "no image is stored as a message"
    await say(graph, "sure?")
    assert images(model, 2) == []


async def test_a_call_that_fails_shows_them_again() -> None:
    model = scripted(LOOK, says("", fail="timeout"), says("two eggs"))
    graph = chain(model, ViewImageMiddleware(), tools=[view_image])
    with pytest.raises(ModelTimeoutError):
        await say(graph, "look")
    values = await graph.ainvoke(None, THREAD)
    assert images(model, 2) == ["bytes of a.png", "bytes of b.png"]
    assert texts(values)[-1] == "two eggs"


async def test_without_images_nothing_is_added() -> None:
    model = scripted(says("hello"))
    await say(chain(model, ViewImageMiddleware()), "hi")
    assert model.calls[0].texts == ["hi"]
