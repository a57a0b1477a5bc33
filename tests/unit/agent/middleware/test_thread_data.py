"""A thread's folders, its new files and its sandbox."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.exceptions import ModelTimeoutError
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command, interrupt

from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.thread_files import ThreadDataMiddleware, UploadsMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import ShowLimits
from agent.uploads.store import UploadStore
from roebot_testing.agent import Script, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider
from roebot_testing.agent.uploads import MemoryUploadStore
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, steps_of, texts

BOX = "memory-t-1"


async def changes(graph: Any, text: str, channel: str) -> list[Any]:
    """What was written to a channel in a turn."""
    written = []
    async for update in graph.astream({"messages": [HumanMessage(text)]}, THREAD, stream_mode="updates"):
        for change in update.values():
            parts = change if isinstance(change, list) else [change or {}]
            written += [part[channel] for part in parts if channel in part]
    return written


async def test_the_folders_are_written_once(tmp_path: Path) -> None:
    store = UploadStore(ThreadFolders(tmp_path))
    graph = chain(scripted(says("ok")), ThreadDataMiddleware(store=store))
    folder = tmp_path / "threads" / "t-1" / "user-data"
    assert await changes(graph, "go", "thread_data") == [
        {
            "workspace_path": str(folder / "workspace"),
            "uploads_path": str(folder / "uploads"),
            "outputs_path": str(folder / "outputs"),
        }
    ]
    assert await changes(graph, "again", "thread_data") == []
    assert list(tmp_path.iterdir()) == [], "nothing is made before it is needed"


async def test_a_run_without_a_thread_has_none_of_it() -> None:
    provider = MemorySandboxProvider()
    store = MemoryUploadStore()
    parts = (
        ThreadDataMiddleware(store=store),
        UploadsMiddleware(store=store),
        SandboxMiddleware(provider=provider),
    )
    graph = chain(scripted(says("ok")), *parts, checkpointer=None)
    values = await say(graph, "go", {})
    assert texts(values) == ["go", "ok"]
    assert not {"thread_data", "uploaded_files", "sandbox"} & set(values)
    assert provider.log == []


def test_they_are_made_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in (ThreadDataMiddleware, UploadsMiddleware, SandboxMiddleware):
        kind()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def files() -> MemoryUploadStore:
    return MemoryUploadStore()


async def test_new_files_are_announced_once_and_shown_with_their_message(files: MemoryUploadStore) -> None:
    model = scripted(says("ok"))
    graph = chain(model, UploadsMiddleware(store=files))
    files.put("t-1", "notes.txt", b"buy eggs")
    values = await say(graph, "read them")
    seen = model.calls[0].texts[-1]
    assert seen.startswith(
        "read them\n\nNew files in this conversation:\n- /mnt/user-data/uploads/notes.txt (8 bytes, 1 line)"
    )
    assert "buy eggs" in seen
    assert texts(values)[0] == "read them", "the stored text stays as it was written"
    assert [file["filename"] for file in values["uploaded_files"]] == ["notes.txt"]
    files.put("t-1", "more.txt", b"and milk")
    await say(graph, "and this")
    assert "more.txt" in model.calls[1].texts[-1]
    assert "notes.txt" not in model.calls[1].texts[-1]
    assert "buy eggs" in model.calls[1].texts[0], "the model goes on seeing the first one where it came"
    await say(graph, "thanks")
    assert model.calls[2].texts[-1] == "thanks"
    assert await changes(graph, "bye", "uploaded_files") == []


async def test_what_reads_messages_finds_the_announcement_before_it_is_stored(
    files: MemoryUploadStore,
) -> None:
    seen: list[Any] = []

    class Inner(AgentMiddleware[Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append((request.state["uploaded_files"], request.state["messages"][-1].additional_kwargs))
            return await handler(request)

    files.put("t-1", "notes.txt", b"buy eggs")
    graph = chain(scripted(says("ok")), UploadsMiddleware(store=files), Inner())
    values = await say(graph, "read them")
    [(listed, kwargs)] = seen
    assert listed == values["uploaded_files"]
    assert kwargs == values["messages"][0].additional_kwargs != {}


async def test_a_call_that_fails_announces_them_with_the_next(files: MemoryUploadStore) -> None:
    model = scripted(says("", fail="timeout"), says("ok"))
    graph = chain(model, UploadsMiddleware(store=files))
    files.put("t-1", "notes.txt", b"buy eggs")
    with pytest.raises(ModelTimeoutError):
        await say(graph, "read them")
    await say(graph, "well?")
    assert "New files in this conversation:\n- /mnt/user-data/uploads/notes.txt" in model.calls[1].texts[-1]


async def test_files_that_come_during_a_turn_are_announced_with_the_next(files: MemoryUploadStore) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        files.put("t-1", "late.txt", b"too late")
        return "waited"

    model = scripted(calls("wait"), says("ok"))
    graph = chain(model, UploadsMiddleware(store=files), tools=[wait])
    await say(graph, "go")
    assert not any("late.txt" in text for text in model.calls[1].texts)
    await say(graph, "and now?")
    assert "late.txt" in model.calls[2].texts[-1]


async def test_a_repaired_conversation_keeps_the_announcement(files: MemoryUploadStore) -> None:
    """Both write the same message: the repair puts a result before it."""

    @tool
    async def ask() -> str:
        """Ask."""
        return str(interrupt("?"))

    model = scripted(calls("ask"), says("ok"))
    parts = UploadsMiddleware(store=files), CallRepairMiddleware()
    graph = chain(model, *parts, tools=[ask])
    await say(graph, "go")
    files.put("t-1", "notes.txt", b"buy eggs")
    values = await say(graph, "never mind")
    assert kinds(values) == ["human", "ai", "tool", "human", "ai"]
    assert [file["filename"] for file in values["messages"][3].additional_kwargs["new_files"]] == [
        "notes.txt"
    ]


async def test_they_cost_no_step_of_their_own(files: MemoryUploadStore) -> None:
    @tool
    async def peek() -> str:
        """Peek."""
        return "peeked"

    async def steps(*parts: AgentMiddleware[Any, Any]) -> int:
        graph = chain(scripted(calls("peek"), says("ok")), *parts, tools=[peek])
        await say(graph, "go")
        return len(await steps_of(graph))

    bare = await steps()
    files.put("t-1", "notes.txt", b"buy eggs")
    assert await steps(UploadsMiddleware(store=files)) == bare
    assert await steps(SandboxMiddleware(provider=MemorySandboxProvider())) == bare
    assert await steps(ThreadDataMiddleware(store=files)) == bare


async def test_a_file_that_came_with_a_message_is_not_announced_again(files: MemoryUploadStore) -> None:
    model = scripted(says("ok"))
    graph = chain(model, UploadsMiddleware(store=files))
    files.put("t-1", "notes.txt", b"buy eggs")
    with_file = HumanMessage("read it", additional_kwargs={"files": [{"filename": "notes.txt"}]})
    await graph.ainvoke({"messages": [with_file]}, THREAD)
    assert (
        model.calls[0]
        .texts[-1]
        .startswith("read it\n\nFiles sent with this message:\n- /mnt/user-data/uploads/notes.txt")
    )
    assert "New files" not in model.calls[0].texts[-1]
    await say(graph, "and?")
    assert model.calls[1].texts[-1] == "and?"


async def test_a_file_that_went_and_came_back_changed_is_new(files: MemoryUploadStore) -> None:
    model = scripted(says("ok"))
    graph = chain(model, UploadsMiddleware(store=files))
    files.put("t-1", "a.png", b"png")
    await say(graph, "one")
    files.remove("t-1", "a.png")
    assert (await say(graph, "two"))["uploaded_files"] == []
    assert "a.png (no longer available)" in model.calls[1].texts[0]


async def test_an_image_is_shown_to_a_model_that_sees(files: MemoryUploadStore) -> None:
    files.put("t-1", "a.png", b"png")
    for vision in (True, False):
        model = scripted(says("ok"))
        graph = chain(model, UploadsMiddleware(store=files, limits=ShowLimits(vision=vision)))
        content = [
            {"type": "text", "text": "look"},
            {"type": "image", "base64": "own", "mime_type": "image/png"},
        ]
        await graph.ainvoke({"messages": [HumanMessage(content=content)]}, THREAD)
        shown = [
            block.get("base64") for block in model.calls[0].messages[-1].content if isinstance(block, dict)
        ]
        assert shown == ([None, "own", "cG5n"] if vision else [None, "own"])


async def test_a_sandbox_is_there_for_the_run_and_given_back_after() -> None:
    provider = MemorySandboxProvider()
    held: list[list[str]] = []

    @tool
    async def peek() -> str:
        """Peek."""
        held.append(provider.held)
        return "peeked"

    graph = chain(scripted(calls("peek"), says("ok")), SandboxMiddleware(provider=provider), tools=[peek])
    values = await say(graph, "go")
    assert values["sandbox"] == {"sandbox_id": BOX}
    assert held == [[BOX]]
    assert provider.log == [("acquired", BOX), ("released", BOX)]
    again = chain(scripted(calls("peek"), says("ok")), SandboxMiddleware(provider=provider), tools=[peek])
    again.checkpointer = graph.checkpointer
    assert await changes(again, "again", "sandbox") == []
    assert provider.held == []


async def test_a_run_without_tool_calls_needs_no_sandbox() -> None:
    provider = MemorySandboxProvider()
    values = await say(chain(scripted(says("ok")), SandboxMiddleware(provider=provider)), "go")
    assert provider.log == []
    assert "sandbox" not in values


async def test_tools_and_inner_middleware_find_the_sandbox_by_the_state() -> None:
    provider = MemorySandboxProvider()
    found: list[Any] = []

    @tool
    async def peek(runtime: ToolRuntime) -> str:
        """Peek."""
        found.append(runtime.state["sandbox"])
        return "peeked"

    class Inner(AgentMiddleware[Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            found.append(request.state["sandbox"])
            return await handler(request)

    parts = SandboxMiddleware(provider=provider), Inner()
    await say(chain(scripted(calls("peek"), says("ok")), *parts, tools=[peek]), "go")
    assert found == [{"sandbox_id": BOX}] * 2


async def test_a_tool_whose_result_ends_the_run_gives_it_back() -> None:
    provider = MemorySandboxProvider()

    @tool(return_direct=True)
    async def final() -> str:
        """Say the last word."""
        return f"held {provider.held}"

    graph = chain(scripted(calls("final")), SandboxMiddleware(provider=provider), tools=[final])
    assert texts(await say(graph, "go"))[-1] == f"held ['{BOX}']"
    assert provider.held == []


async def test_a_model_call_beside_a_tool_call_does_not_take_it_away() -> None:
    """An agent inside of a tool, with the same middleware and thread, gives its last answer."""
    provider = MemorySandboxProvider()
    sandbox = SandboxMiddleware(provider=provider)
    state = {"sandbox": {"sandbox_id": BOX}}
    inside = chain(scripted(says("found it")), sandbox, checkpointer=None)

    @tool
    async def delegate() -> str:
        """Ask another agent."""
        await say(inside, "look", {"configurable": {"thread_id": "t-1"}}, **state)
        return f"held {provider.held}"

    graph = chain(scripted(calls("delegate"), says("ok")), sandbox, tools=[delegate])
    assert f"held ['{BOX}']" in texts(await say(graph, "go"))
    assert provider.held == []


def asking() -> tuple[asyncio.Event, BaseTool]:
    """A tool that stops the run to ask a person, and the event that it has."""
    asked = asyncio.Event()

    @tool
    async def ask() -> str:
        """Ask."""
        asked.set()
        return str(interrupt("?"))

    return asked, ask


async def test_a_run_that_fails_leaks_nothing() -> None:
    provider = MemorySandboxProvider()
    graph = chain(scripted(says("", fail="timeout")), SandboxMiddleware(provider=provider))
    with pytest.raises(ModelTimeoutError):
        await say(graph, "go")
    assert provider.held == []


async def test_a_tool_that_fails_and_is_told_keeps_it() -> None:
    provider = MemorySandboxProvider()

    @tool
    async def broken() -> str:
        """Fail."""
        raise ValueError("no")

    parts = SandboxMiddleware(provider=provider), ToolErrorHandlingMiddleware()
    await say(chain(scripted(calls("broken"), says("ok")), *parts, tools=[broken]), "go")
    assert provider.log == [("acquired", BOX), ("released", BOX)]


async def test_a_run_that_stops_to_ask_gives_it_back_and_gets_it_again() -> None:
    provider = MemorySandboxProvider()

    @tool
    async def ask() -> str:
        """Ask."""
        return f"they said {interrupt('?')} while {provider.held} was held"

    graph = chain(scripted(calls("ask"), says("ok")), SandboxMiddleware(provider=provider), tools=[ask])
    await say(graph, "go")
    assert provider.held == []
    values = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert texts(values)[2] == f"they said yes while ['{BOX}'] was held"
    assert provider.held == []


async def test_one_call_that_ends_the_run_does_not_take_it_from_another() -> None:
    provider = MemorySandboxProvider()
    asked, ask = asking()

    @tool
    async def slow() -> str:
        """Go on for a while after the question."""
        await asked.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        return f"held {provider.held}"

    both = Script(tools=(ToolUse("ask"), ToolUse("slow")))
    graph = chain(scripted(both, says("ok")), SandboxMiddleware(provider=provider), tools=[ask, slow])
    await say(graph, "go")
    assert provider.held == []
    values = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert f"held ['{BOX}']" in texts(values)


async def test_a_call_that_begins_when_the_run_has_ended_gives_it_back() -> None:
    provider = MemorySandboxProvider()
    asked, ask = asking()

    @tool
    async def late() -> str:
        """Say what is held."""
        return f"held {provider.held}"

    class Delays(AgentMiddleware[Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            if request.tool_call["name"] == "late":
                await asked.wait()
                while provider.held:
                    await asyncio.sleep(0)
            return await handler(request)

    both = Script(tools=(ToolUse("ask"), ToolUse("late")))
    parts = Delays(), SandboxMiddleware(provider=provider)
    graph = chain(scripted(both, says("ok")), *parts, tools=[ask, late])
    await say(graph, "go")
    assert provider.held == []
    values = await graph.ainvoke(Command(resume="yes"), THREAD)
    assert f"held ['{BOX}']" in texts(values)
    assert provider.held == []


async def test_a_cancelled_run_leaks_nothing() -> None:
    provider = MemorySandboxProvider()
    begun = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    graph = chain(scripted(calls("hang")), SandboxMiddleware(provider=provider), tools=[hang])
    run = asyncio.create_task(say(graph, "go"))
    await begun.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert provider.held == []
