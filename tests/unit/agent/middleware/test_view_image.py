"""Images that a tool opened: in view for the next call, gone afterwards."""

import base64
from typing import Any

import pytest
from langchain_core.exceptions import ModelTimeoutError

from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.thread_files import ViewImageMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.models.calls import ModelCalls
from agent.tools.image_check import image_type
from agent.uploads.inline_images import IMAGE_BYTES
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, texts

PNG = b"\x89PNG\r\n\x1a\n"
LOOK = Script(tools=(ToolUse("view_image", {"path": "a.png"}), ToolUse("view_image", {"path": "b.jpg"})))


class Box(MemorySandboxProvider):
    """A sandbox with two images, and what is none."""

    async def acquire(self, thread_id: str) -> str:
        sandbox_id = await super().acquire(thread_id)
        sandbox = self.get(sandbox_id)
        assert sandbox is not None
        for name, content in FILES.items():
            await sandbox.write_file(name, content)
        return sandbox_id


FILES = {
    "a.png": PNG + b"one",
    "b.jpg": b"\xff\xd8\xfftwo",
    "c.gif": b"GIF89a",
    "d.webp": b"RIFF....WEBP",
    "page.png": b"<svg onload=alert(1)>",
    "big.png": PNG + b"x" * IMAGE_BYTES,
}
SHOWN = [base64.b64encode(FILES[name]).decode() for name in ("a.png", "b.jpg")]


def seeing(model: ScriptedChatModel) -> Any:
    """An agent that can see, with its sandbox."""
    middleware = SandboxMiddleware(provider=Box(), tools=[]), ToolErrorHandlingMiddleware()
    return chain(model, *middleware, ViewImageMiddleware())


def images(model: ScriptedChatModel, call: int) -> list[str]:
    content = model.calls[call].messages[-1].content
    return [b["base64"] for b in content if isinstance(b, dict) and b["type"] == "image"]


async def test_the_next_call_sees_them_and_no_later_one() -> None:
    model = scripted(LOOK, says("two eggs"), says("as I said"))
    graph = seeing(model)
    values = await say(graph, "look")
    assert images(model, 1) == SHOWN
    assert model.calls[1].messages[-1].type == "human"
    assert values["viewed_images"] == {}
    assert kinds(values) == ["human", "ai", "tool", "tool", "ai"], "no image is stored as a message"
    await say(graph, "sure?")
    assert images(model, 2) == []


async def test_a_call_that_fails_shows_them_again() -> None:
    model = scripted(LOOK, says("", fail="timeout"), says("two eggs"))
    graph = seeing(model)
    with pytest.raises(ModelTimeoutError):
        await say(graph, "look")
    values = await graph.ainvoke(None, THREAD)
    assert images(model, 2) == SHOWN
    assert texts(values)[-1] == "two eggs"


async def test_a_provider_that_rejects_them_is_asked_without_them() -> None:
    model = scripted(LOOK, says("", fail="context"), says("I can't see them"), says("fine"))
    middleware = SandboxMiddleware(provider=Box(), tools=[]), ToolErrorHandlingMiddleware()
    graph = chain(model, *middleware, ViewImageMiddleware(), ModelCalls(model_name="m"))
    values = await say(graph, "look")
    assert texts(values)[-1] == "I can't see them"
    assert values["viewed_images"] == {}
    assert images(model, 1) == SHOWN
    assert images(model, 2) == []
    assert "a.png, b.jpg could not be shown" in model.calls[2].messages[-1].text
    assert texts(await say(graph, "well?"))[-1] == "fine"


async def test_without_images_nothing_is_added() -> None:
    model = scripted(says("hello"))
    await say(chain(model, ViewImageMiddleware()), "hi")
    assert model.calls[0].texts == ["hi"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("page.png", "page.png is not a PNG, JPEG, GIF or WebP image."),
        ("big.png", "larger than 3.9 MB"),
        ("none.png", "no such file"),
        ("/etc/passwd", "outside"),
    ],
)
async def test_what_can_not_be_seen_is_told(path: str, told: str) -> None:
    model = scripted(calls("view_image", path=path), says("well"))
    values = await say(seeing(model), "look")
    assert told in texts(values)[-2]
    assert values.get("viewed_images", {}) == {}
    assert images(model, 1) == []


async def test_without_a_sandbox_nothing_can_be_opened() -> None:
    model = scripted(calls("view_image", path="a.png"), says("well"))
    graph = chain(model, ToolErrorHandlingMiddleware(), ViewImageMiddleware())
    assert "has no sandbox" in texts(await say(graph, "look"))[-2]
    blind = scripted(says("well"))
    await say(chain(blind, ViewImageMiddleware(tools=())), "look")
    assert (model.calls[0].tools, blind.calls[0].tools) == (("view_image",), ())


def test_images_are_known_by_how_they_begin() -> None:
    found = [image_type(content) for content in FILES.values()]
    assert found == ["image/png", "image/jpeg", "image/gif", "image/webp", None, "image/png"]
