"""Results of every content type, well-formed or not, from a real server: the model reads them and goes on."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from structlog.testing import capture_logs

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.middleware.sandbox import SandboxMiddleware
from roebot_testing.agent import Script, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider
from tests.harness.mcp import configured, named, pooled, served
from tests.harness.mcp_contents import CHARACTERS, all_results, png, wav
from tests.harness.strict_model import StrictModel, find_problem, strict

THREAD: Any = {"configurable": {"thread_id": "t"}}
SEEN = r"\[image/png, \d+ bytes, stored in /mnt/user-data/outputs/[\w-]+\.png; you see it in your next step\]"
HIDDEN = r"; you can't see it, because {}\]"
EXPECTED: Mapping[str, str] = {
    "text": r"plain words$",
    "texts": r"one\ntwo$",
    "image": rf"A screenshot:\n{SEEN}$",
    "svg": r"\[image/svg\+xml, 6 bytes, stored in .*\.svg; you can't see it, because only PNG",
    "audio": r"\[audio/wav, 244 bytes, stored in /mnt/user-data/outputs/all_give-\w{8}\.wav\]$",
    "text_resource": r"\[Resource file:///a\.md\]\n# Title$",
    "file_resource": r"\[application/pdf, 6 bytes, stored in .*/b-20c-\w{8}\.pdf\]$",
    "image_resource": SEEN,
    "link": r"\[Link to a resource: q3\.pdf file:///srv/q3\.pdf \(application/pdf, 1,234 bytes\) The third",
    "image_link": r"\[Link to a resource: q3\.pdf file:///x\.png \(image/png\)\]$",
    "structured": r'\{"a": 1\}$',
    "structured_wrapped": r"\[a\.txt\]$",
    "structured_image": rf"^{SEEN}$",
    "structured_more": r'One row\.\n\{"rows": \[\{"id": "r-17"\}\]\}$',
    "structured_alone": r'\{"id": "r-18"\}$',
    "empty": r"\(no output\)$",
    "blank": r"\(no output\)$",
    "error": r"no such row$",
    "error_image": rf"{SEEN}$",
    "error_empty": r"\(no output\)$",
    "long": r"\[This output has 70,000 characters in 1 lines\. All of it is in /mnt",
    "many": r"(?s)(\[image/png.*?\]\n){20}\[5 more files of this result are omitted\]$",
    "long_resource": r"\[This output has 70,\d{3} characters in 14,002 lines",
    "long_structured": r"\[This output has \d+,\d{3} characters in 1 lines",
    "long_lines": r"\[This output has 69,999 characters in 14,000 lines",
    "large_audio": r"^\[audio/wav, 2,000,044 bytes, stored in \S+\.wav\]$",
    "large_file": r"^\[application/pdf, 3,000,000 bytes, stored in \S+/big-\w+\.pdf\]$",
    "wrong_type": rf"{SEEN}$",
    "no_type": rf"{SEEN}$",
    "data_url": rf"{SEEN}$",
    "no_base64": r"\[image image/png: omitted, because it is not valid base64 \(18 characters\)\]$",
    "no_data": r'\[Content in an unknown form: \{"type": "image", "mimeType": "image/png"\}\]$',
    "cut": HIDDEN.format("it is damaged"),
    "too_wide": HIDDEN.format("it has 9,000 × 1 pixels, and at most 8,000 can be shown"),
    "too_large": HIDDEN.format(r"it is larger than 3\.9 MB"),
    "audio_broken": r"\[file audio/wav: omitted, because it is not valid base64",
    "resource_broken": r"\[Resource in an unknown form: .*\]\n\[Content in an unknown form: .*\]\n\[Link to",
    "no_form": r'\[Content in an unknown form: \{"type": "chart".*18,000 characters are omitted',
    "unknown": r"\[video/mp4, 15,000 bytes, stored in /mnt/user-data/outputs/all_give-\w{8}\.mp4\]$",
    "bare": r"just a string\n7\nnull$",
    "no_list": r"not a list$",
    "nothing": r"\(no output\)$",
    "old_form": r'\{"id": "r-19"\}$',
    "nul": "a\ufffdb$",
    "structured_list": r'\["a", "b"\]$',
    "typed": r'as I like it\n\{"count": "many"\}$',
}


@asynccontextmanager
async def tools_over(transport: str) -> AsyncIterator[dict[str, BaseTool]]:
    """The tools of the server over this transport."""
    async with served("mcp_contents", transport) as entry, pooled() as pool:
        yield named(await pool.load_tools(configured(all=entry)))


class Chat:
    """One thread of an agent with these tools."""

    def __init__(self, tools: Mapping[str, BaseTool], *, vision: bool = True, sandbox: bool = True) -> None:
        self.provider = MemorySandboxProvider()
        self._tools, self._saver = list(tools.values()), InMemorySaver()
        box: Any = SandboxMiddleware(provider=self.provider, tools=[]) if sandbox else False
        self._features = RuntimeFeatures(sandbox=box, vision=vision, loop_detection=False)
        self.model: StrictModel = strict()

    def graph(self, *steps: Script) -> Any:
        self.model = strict(*steps, Script(reply="done"))
        return create_agent_graph(self.model, self._tools, features=self._features, checkpointer=self._saver)

    async def ask(self, *uses: ToolUse) -> list[ToolMessage]:
        """The results of calls that are made in one answer; the turn ends with "done"."""
        steps = [Script(tools=uses)] if uses else []
        values = await self.graph(*steps).ainvoke({"messages": [HumanMessage("go")]}, THREAD)
        assert values["messages"][-1].text == "done"
        assert not values.get("viewed_images")
        found = [message for message in values["messages"] if isinstance(message, ToolMessage)]
        return found[len(found) - len(uses) :]

    async def read(self, path: str) -> bytes:
        sandbox = self.provider.get(await self.provider.acquire("t"))
        assert sandbox is not None
        return await sandbox.read_file(path)


def gives(*kinds: str) -> list[ToolUse]:
    return [ToolUse("all_give", {"kind": kind}, f"call_{kind}") for kind in kinds]


def stored(text: str) -> list[str]:
    return re.findall(r"stored in (/mnt\S+?)[;\]]", text)


@pytest.mark.guard(
    "an image of an MCP server is shown only if it can be read",
    "agent/tools/result_files.py",
    "if problem is not None:",
    "if False:",
    against="malformed content",
    case="stdio",
)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_every_result_is_read_and_the_thread_goes_on(transport: str) -> None:
    """Each kind is asked for in one conversation, many at once; a strict model rejects nothing."""
    async with tools_over(transport) as tools:
        chat = Chat(tools)
        kinds = list(all_results())
        assert set(kinds) == set(EXPECTED)
        for at in range(0, len(kinds), 6):
            results = await chat.ask(*gives(*kinds[at : at + 6]))
            for kind, result in zip(kinds[at : at + 6], results, strict=True):
                assert re.search(EXPECTED[kind], result.text), f"{kind}: {result.text[:300]}"
                assert result.status == ("error" if kind.startswith("error") else "success"), kind
                for path in stored(result.text):
                    assert await chat.read(path)
        await chat.ask()
        assert not find_problem(chat.model.calls[-1].messages)


@pytest.mark.guard(
    "a long result of an MCP server is cut, and the rest counted",
    "agent/tools/result_files.py",
    "if len(whole) > limit:",
    "if False:",
    against="oversized content",
)
async def test_what_is_stored_is_what_was_sent() -> None:
    async with tools_over("stdio") as tools:
        chat = Chat(tools)
        image, audio, long = await chat.ask(*gives("image", "audio", "long"))
        [shown] = [m for m in chat.model.calls[-1].messages if m.additional_kwargs.get("lc_source")]
        assert [await chat.read(path) for path in stored(image.text)] == [png()]
        assert [await chat.read(path) for path in stored(audio.text)] == [wav()]
        path = re.search(r"All of it is in (\S+):", long.text)
        assert path is not None
        whole = (await chat.read(path[1])).decode()
        assert whole == "word " * (CHARACTERS // 5)
        omitted = re.search(r"\[… ([\d,]+) characters are omitted here", long.text)
        assert omitted is not None
        kept = 6_000 + 3_000
        assert int(omitted[1].replace(",", "")) == len(whole) - kept
        assert re.search(f"{SEEN}$", long.text), "what a cut leaves out is no file"
        images = [block for block in shown.content if isinstance(block, dict) and block["type"] == "image"]
        assert len(images) == 2


async def test_more_images_than_a_model_takes_are_named() -> None:
    async with tools_over("stdio") as tools:
        chat = Chat(tools)
        await chat.ask(*gives("many"))
        [shown] = [m for m in chat.model.calls[-1].messages if m.additional_kwargs.get("lc_source")]
        assert "Not shown, because these are too many images for one step: /mnt/" in shown.text


async def test_without_vision_or_sandbox_the_text_says_so() -> None:
    async with tools_over("stdio") as tools:
        [blind] = await Chat(tools, vision=False).ask(*gives("image"))
        assert "; you can't see images]" in blind.text
        assert stored(blind.text)
        [loose] = await Chat(tools, sandbox=False).ask(*gives("image"))
        assert "not stored (there is no sandbox); you see it in your next step]" in loose.text


async def test_tools_that_providers_would_reject_are_offered_in_another_form() -> None:
    with capture_logs() as logs:
        async with tools_over("stdio") as tools:
            assert set(tools) == {"all_give", "all_typed", "all_alternatives", "all_arguments"}
            schema: Any = tools["all_alternatives"].tool_call_schema
            assert (schema["type"], set(schema["properties"])) == ("object", {"url", "id"})
            assert not {"anyOf", "required"} & set(schema)
            use = ToolUse("all_arguments", {"config": 1, "self": 2, "runtime": 3, "run_manager": 4})
            [result] = await Chat(tools).ask(use)
            assert result.text == "config=1 run_manager=4 runtime=3 self=2"
    left_out = {entry["tool"]: entry["detail"] for entry in logs if entry["event"] == "mcp_tool_left_out"}
    assert left_out == {
        "no_schema": "its definition is invalid: inputSchema",
        "as_a_task": "it works only as a task (SEP-1686), but its server has no tasks",
    }


OLD: list[Any] = [
    [],
    "",
    [{"type": "text", "text": "one"}, {"type": "image", "base64": "no!", "mime_type": "image/jpg"}],
    [{"type": "image", "url": "file:///x.png", "mime_type": "image/png"}],
    [{"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}],
    [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
]


@pytest.mark.guard(
    "results of MCP servers in a thread that was broken earlier become text",
    "agent/middleware/tool_results.py",
    "if all(_is_plain(message) for message in request.messages):",
    "if True:",
    against="malformed content",
)
async def test_a_thread_that_was_broken_earlier_answers() -> None:
    """The results are as earlier versions stored them; what a person wrote since is answered."""
    chat = Chat({})
    history: list[Any] = [HumanMessage("go")]
    for number, content in enumerate(OLD):
        call = {"name": "all_give", "args": {}, "id": f"c{number}"}
        history += [
            AIMessage("", tool_calls=[call]),
            ToolMessage(content, tool_call_id=call["id"], artifact={"structured_content": {}}),
        ]
    assert find_problem(history), "the model would reject it"
    await chat.graph().aupdate_state(THREAD, {"messages": history}, as_node="model")
    assert await chat.ask() == []
    shown = [m.text for m in chat.model.calls[-1].messages if isinstance(m, ToolMessage)]
    assert shown == [
        "(no output)",
        "(no output)",
        "one\n[image image/jpg: omitted, because it is not valid base64 (3 characters)]",
        "[image image/png: file:///x.png]",
        "[application/pdf: 3 bytes, not shown here]",
        "[image/png: 3 bytes, not shown here]",
    ]


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-V"], "cwd": str(tmp_path / "none")}
    async with pooled() as pool:
        await pool.load_tools(configured(all=entry))
        assert "its folder (cwd) does not exist" in pool.servers["all"].problem
