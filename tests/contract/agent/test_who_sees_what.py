"""Files of one thread are not to be had by another: over the routes, and in what the model is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.lead import LeadAgent
from agent.management.routes import management_routes
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.local_server import served

pytestmark = pytest.mark.may_block
ANN, BEN = "0191d0a2-0000-7000-8000-00000000000a", "0191d0a2-0000-7000-8000-00000000000b"
CONFIG = """config_version: 1
models: [{name: m, use: "roebot_testing.agent:ScriptedChatModel"}]
title: {enabled: false}
sandbox: {isolation: none}
"""
SECRET = "Ann earns 100."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path / "home"


@pytest.fixture
async def http(home: Path, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    routes = await asyncio.to_thread(management_routes, home, tmp_path / "config.yaml")
    async with served(routes) as client:
        yield client


async def put(http: httpx.AsyncClient, thread: str, name: str) -> None:
    files = {"files": (name, SECRET.encode())}
    assert (await http.post(f"/api/threads/{thread}/uploads", files=files)).is_success


async def test_uploads_of_a_thread_are_its_own(http: httpx.AsyncClient) -> None:
    await put(http, ANN, "salary.txt")
    assert (await http.get(f"/api/threads/{ANN}/uploads/list")).json()["count"] == 1
    assert (await http.get(f"/api/threads/{BEN}/uploads/list")).json() == {"files": [], "count": 0}
    assert (await http.delete(f"/api/threads/{BEN}/uploads/salary.txt")).status_code == 404
    assert (await http.delete(f"/api/threads/{BEN}")).is_success
    assert (await http.get(f"/api/threads/{ANN}/uploads/list")).json()["count"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "mnt/user-data/uploads/salary.txt",
        "uploads/salary.txt",
        f"mnt/user-data/uploads/..%2F..%2F..%2F{ANN}%2Fuser-data%2Fuploads%2Fsalary.txt",
        f"mnt/user-data/%2e%2e/%2e%2e/{ANN}/user-data/uploads/salary.txt",
        f"..%2F..%2F{ANN}%2Fuser-data%2Fuploads%2Fsalary.txt",
        "mnt/user-data/outputs/link.txt",
    ],
)
async def test_artifacts_of_a_thread_are_its_own(http: httpx.AsyncClient, home: Path, path: str) -> None:
    await put(http, ANN, "salary.txt")
    await put(http, BEN, "own.txt")
    outputs = home / "threads" / BEN / "user-data" / "outputs"
    outputs.mkdir(exist_ok=True)
    (outputs / "link.txt").symlink_to(home / "threads" / ANN / "user-data" / "uploads" / "salary.txt")
    response = await http.get(f"/api/threads/{BEN}/artifacts/{path}")
    assert response.status_code in {400, 404}
    assert SECRET not in response.text
    found = await http.get(f"/api/threads/{ANN}/artifacts/mnt/user-data/uploads/salary.txt")
    assert found.text == SECRET


class Lead:
    """A lead agent over a home, whose model calls tools and remembers what it was shown."""

    def __init__(self, home: Path) -> None:
        self._saver = InMemorySaver()
        self.model = ScriptedChatModel(environ={})
        source = ModelSource(home.parent / "config.yaml", environ={}, cwd=home.parent)
        self._agent = LeadAgent(source, home, make_model=lambda *_, **__: self.model)

    async def shown(self, thread: str, *uses: ToolUse) -> str:
        """All that the model was shown in a run of this thread."""
        steps = (*([Script(tools=uses)] if uses else []), Script(reply="done"))
        self.model = ScriptedChatModel(steps=steps, environ={})
        self._agent.reset()
        graph = (await self._agent.get_graph(RunOptions())).copy({"checkpointer": self._saver})
        config: Any = {"configurable": {"thread_id": thread}}
        await graph.ainvoke({"messages": [HumanMessage("what files are there?")]}, config)
        return "\n".join(text for call in self.model.calls for text in call.texts)

    async def aclose(self) -> None:
        await self._agent.aclose()


@pytest.fixture
async def lead(home: Path) -> AsyncIterator[Lead]:
    made = Lead(home)
    yield made
    await made.aclose()


async def test_files_of_a_thread_are_announced_in_it_alone(http: httpx.AsyncClient, lead: Lead) -> None:
    await put(http, ANN, "salary.txt")
    assert "salary.txt" in await lead.shown(ANN)
    assert "salary" not in await lead.shown(BEN)


async def test_tools_work_in_the_thread_of_their_run(http: httpx.AsyncClient, lead: Lead, home: Path) -> None:
    await put(http, ANN, "salary.txt")
    write = ToolUse("write_file", {"path": "notes.txt", "content": SECRET})
    present = ToolUse("present_files", {"paths": ["/mnt/user-data/outputs/plan.txt"]})
    make = ToolUse("write_file", {"path": "/mnt/user-data/outputs/plan.txt", "content": SECRET})
    await lead.shown(ANN, write, make)
    paths = ("notes.txt", "/mnt/user-data/uploads/salary.txt", "/mnt/user-data/outputs/plan.txt")
    reads = [ToolUse("read_file", {"path": path}) for path in paths]
    outside = ToolUse("read_file", {"path": f"/mnt/user-data/../../{ANN}/user-data/uploads/salary.txt"})
    told = await lead.shown(BEN, *reads, outside, present)
    assert SECRET not in told
    assert told.count("no such file") >= 4
    assert "outside the sandbox" in told
    assert SECRET in await lead.shown(ANN, *reads)
    assert not (home / "threads" / BEN / "user-data" / "outputs" / "plan.txt").exists()


async def test_what_was_said_in_a_thread_is_shown_in_it_alone(lead: Lead) -> None:
    await lead.shown(ANN, ToolUse("write_file", {"path": "salary.txt", "content": SECRET}))
    assert SECRET not in await lead.shown(BEN)
    again = await lead.shown(ANN)
    assert again.count("what files are there?") == 2
