"""What the dispatcher relies on, for the real runtime behind `langgraph-sdk` and for the one in memory."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from agent.core.state import ThreadState
from agent.errors import ProfileUnknown
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.management.routes import management_routes
from agent.shared.envelope import without_envelopes
from agent.shared.schemas import AgentInfo, McpServerState, ServerState, SkillInRepository
from agent.shared.tls import tls_context
from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.runtime.client import LangGraphRuntime
from bot.runtime.interface import (
    AgentRuntime,
    LoggedEvent,
    RunEnded,
    RunFailed,
    RunInterrupted,
    RunRequest,
    TextDelta,
    TokenUsage,
    UsageReported,
)
from roebot_testing.agent import Script, ScriptedChatModel
from roebot_testing.agent import graphs as ready
from roebot_testing.runtime import ScriptedRun, ScriptedRuntime
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime.serving import serve

pytestmark = pytest.mark.may_block


@dataclass
class Subject:
    """A runtime under test and how it is made to say things."""

    port: AgentRuntime
    real: bool

    async def ask(self, text: str, *, thread: str = "", key: str = "", **more: Any) -> tuple[str, str]:
        """Start a run that echoes; (thread, run)."""
        thread = thread or str(uuid.uuid4())
        request = RunRequest(
            thread_id=thread,
            key=key or f"{uuid.uuid4()}:1",
            messages=[{"type": "human", "content": text, "id": f"h-{uuid.uuid4()}"}],
            **{"configurable": {}, **more},
        )
        return thread, await self.port.create_run(request)

    async def follow(self, thread: str, run: str, after: str = "") -> list[LoggedEvent]:
        """Every event up to the end."""
        async with asyncio.timeout(20):
            return [logged async for logged in self.port.join_run(thread, run, after)]


def particular(config: RunnableConfig) -> Any:
    """A graph that cannot be made for everybody."""
    if config.get("configurable", {}).get("agent_name") == "gone":
        raise ProfileUnknown("gone", ())
    return ready.scripted()


def counting() -> Any:
    """An agent whose model takes 10 tokens and gives 2, each time."""
    model = ScriptedChatModel(script=Script(usage=(10, 2)), environ={})
    return create_agent_graph(model, features=RuntimeFeatures(sandbox=False))


def asking() -> Any:
    """Two steps side by side, each of which costs something; one of them asks first."""

    async def cheap(_state: ThreadState) -> dict[str, Any]:
        return {"usage": {"input_tokens": 7, "output_tokens": 1, "total_tokens": 8}}

    async def careful(_state: ThreadState) -> dict[str, Any]:
        interrupt({"question": "Really?"})
        return {"usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}}

    builder = StateGraph(ThreadState)
    for name, node in (("cheap", cheap), ("careful", careful)):
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    return builder.compile(name="asking")


def said(events: list[LoggedEvent]) -> str:
    return "".join(logged.event.text for logged in events if isinstance(logged.event, TextDelta))


def script(run: ScriptedRun) -> None:
    """What the scripted agent graph does, for the runtime in memory."""
    text = without_envelopes(run.request.messages[0]["content"])
    if text == "[fail=auth]":
        run.emit(RunFailed("ModelCallFailed", "refused"), RunEnded("error"))
    elif not text.startswith("[tokens=500]"):
        for word in text.split(" "):
            run.say(word + " ")
        run.end()


@pytest.fixture(params=["memory", "langgraph"])
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    if request.param == "memory":
        yield Subject(ScriptedRuntime(script=script), real=False)
        return
    routes = await asyncio.to_thread(management_routes, tmp_path)
    sources = {"lead_agent": ready.scripted, "artifact": partial(getattr, ready, "artifact")}
    async with serve(tmp_path, sources=sources, extra_routes=routes) as served:
        http = httpx.AsyncClient(
            base_url=served.url, headers=AGENT_SIGNED, timeout=10.0, verify=tls_context()
        )
        port = LangGraphRuntime(http, assistant_id="lead_agent", management=http)
        yield Subject(port, real=True)
        await port.close()


async def test_a_run_says_what_it_says_and_ends(subject: Subject) -> None:
    thread, run = await subject.ask("one two three")
    events = await subject.follow(thread, run)
    assert said(events).split() == ["one", "two", "three"]
    assert events[-1].event == RunEnded("success")


async def test_one_key_is_one_run(subject: Subject) -> None:
    thread = str(uuid.uuid4())
    _, first = await subject.ask("hello", thread=thread, key="7:1")
    _, again = await subject.ask("hello", thread=thread, key="7:1", repeated=True)
    _, other = await subject.ask("hello", thread=thread, key="7:2")
    assert first == again
    assert other != first


async def test_a_run_is_found_by_its_key(subject: Subject) -> None:
    thread, run = await subject.ask("hello", key="7:1")
    assert await subject.port.find_run(thread, "7:1") == run
    assert await subject.port.find_run(thread, "7:2") == ""
    assert await subject.port.find_run(str(uuid.uuid4()), "7:2") == ""


async def test_a_run_is_joined_from_any_event_without_loss(subject: Subject) -> None:
    thread, run = await subject.ask("a b c d e f")
    events = await subject.follow(thread, run)
    whole = said(events)
    ids = [logged.id for logged in events if logged.id]
    assert len(ids) == len(set(ids))
    for index, logged in enumerate(events[:-1]):
        if not logged.id:
            continue
        rest = await subject.follow(thread, run, after=logged.id)
        seen = said([event for event in events[: index + 1]])
        assert seen + said(rest) == whole


async def test_two_join_the_same_run(subject: Subject) -> None:
    thread, run = await subject.ask("a b c")
    one, two = await asyncio.gather(subject.follow(thread, run), subject.follow(thread, run))
    assert said(one) == said(two)


async def test_a_cancelled_run_ends(subject: Subject) -> None:
    thread, run = await subject.ask("[tokens=500] [every=0.1] go")
    follower = asyncio.create_task(subject.follow(thread, run))
    await asyncio.sleep(0.3)
    await subject.port.cancel_run(thread, run)
    events = await follower
    assert events[-1].event == RunEnded("interrupted")
    await subject.port.cancel_run(thread, run)


async def test_a_failure_carries_a_line_for_people(subject: Subject) -> None:
    thread, run = await subject.ask("[fail=auth]")
    events = await subject.follow(thread, run)
    failures = [logged.event for logged in events if isinstance(logged.event, RunFailed)]
    assert len(failures) == 1
    assert failures[0].message
    assert "Traceback" not in failures[0].message
    assert events[-1].event == RunEnded("error")


async def test_an_unknown_run_is_missing(subject: Subject) -> None:
    with pytest.raises(RunMissing):
        await subject.follow(str(uuid.uuid4()), str(uuid.uuid4()))
    with pytest.raises(RunMissing):
        await subject.port.checkpoint_before(str(uuid.uuid4()), str(uuid.uuid4()))


async def test_a_thread_is_deleted_and_none_is_no_error(subject: Subject) -> None:
    thread, run = await subject.ask("one")
    await subject.follow(thread, run)
    await subject.port.delete_thread(thread)
    await subject.port.delete_thread(thread)
    await subject.port.delete_thread(str(uuid.uuid4()))
    _, again = await subject.ask("two", thread=thread)
    assert said(await subject.follow(thread, again)).split() == ["two"]


async def test_it_says_that_it_is_ready(subject: Subject) -> None:
    assert await subject.port.is_ready()


class TestRealOnly:
    """What only the real one can show."""

    @pytest.fixture(autouse=True)
    def extensions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The file of skills and servers, an empty one at first."""
        file = tmp_path / "extensions_config.json"
        file.write_text("{}")
        monkeypatch.setenv("ROEBOT_EXTENSIONS_CONFIG_PATH", str(file))
        return file

    @pytest.fixture(autouse=True)
    def only_real(self, subject: Subject) -> None:
        self.subject = subject

    @pytest.fixture(params=["langgraph"])
    async def subject(
        self, request: pytest.FixtureRequest, tmp_path: Path, extensions: Path
    ) -> AsyncIterator[Subject]:
        routes = await asyncio.to_thread(management_routes, tmp_path)
        sources = {
            "lead_agent": ready.scripted,
            "particular": lambda: particular,
            "counting": counting,
            "asking": asking,
        }
        async with serve(tmp_path, sources=sources, extra_routes=routes) as served:
            http = httpx.AsyncClient(
                base_url=served.url, headers=AGENT_SIGNED, timeout=10.0, verify=tls_context()
            )
            yield Subject(LangGraphRuntime(http, assistant_id="lead_agent", management=http), real=True)
            await http.aclose()

    async def test_a_deleted_thread_leaves_nothing(self, tmp_path: Path) -> None:
        port = self.subject.port
        thread, run = await self.subject.ask("one")
        await self.subject.follow(thread, run)

        async def content() -> AsyncIterator[bytes]:
            yield b"mine"

        await port.upload_file(thread, "note.txt", content(), "k")
        folder = tmp_path / "threads" / thread
        assert folder.exists()
        await port.delete_thread(thread)
        assert not folder.exists()
        with pytest.raises(RunMissing):
            await self.subject.follow(thread, run)
        with pytest.raises(RunMissing):
            await port.read_answer(thread, ["m"])

    async def test_the_state_answers_for_a_turn(self) -> None:
        thread, run = await self.subject.ask("remember me")
        await self.subject.follow(thread, run)
        state = await self.subject.port.read_answer(thread, ["unknown"])
        assert state.texts == ()

    async def test_before_is_where_the_run_began(self) -> None:
        thread, first = await self.subject.ask("one")
        await self.subject.follow(thread, first)
        assert await self.subject.port.checkpoint_before(thread, first) is None
        _, second = await self.subject.ask("two", thread=thread)
        await self.subject.follow(thread, second)
        checkpoint = await self.subject.port.checkpoint_before(thread, second)
        assert checkpoint
        _, fork = await self.subject.ask("three", thread=thread, checkpoint=checkpoint)
        await self.subject.follow(thread, fork)

    async def test_a_run_that_wrote_nothing_began_at_what_is_newest(self) -> None:
        good: dict[str, Any] = {"assistant": "particular"}
        lame = {**good, "configurable": {"agent_name": "gone"}}
        thread, lost = await self.subject.ask("zero", **lame)
        assert (await self.subject.follow(thread, lost))[-1].event == RunEnded("error")
        assert await self.subject.port.checkpoint_before(thread, lost) is None
        _, first = await self.subject.ask("one", thread=thread, **good)
        await self.subject.follow(thread, first)
        _, lost = await self.subject.ask("two", thread=thread, **lame)
        await self.subject.follow(thread, lost)
        checkpoint = await self.subject.port.checkpoint_before(thread, lost)
        assert checkpoint
        _, last = await self.subject.ask("three", thread=thread, **good)
        await self.subject.follow(thread, last)
        assert await self.subject.port.checkpoint_before(thread, last) == checkpoint

    async def test_agents_of_ones_own_are_listed(self, tmp_path: Path) -> None:
        assert (await self.subject.port.management.list_agents()).agents == []
        for name, text in (("poet", ""), ("coder", "description: Writes code."), ("lame", "legs: 1")):
            (tmp_path / "agents" / name).mkdir(parents=True)
            (tmp_path / "agents" / name / "config.yaml").write_text(text)
        coder, lame, poet = (await self.subject.port.management.list_agents()).agents
        assert (coder, poet) == (AgentInfo(name="coder", description="Writes code."), AgentInfo(name="poet"))
        assert (lame.name, lame.description, lame.model) == ("lame", "", None)
        assert lame.problem
        assert "legs" in lame.problem

    async def test_skills_are_listed_and_switched(self, tmp_path: Path) -> None:
        port = self.subject.port.management
        public = await port.list_skills()
        assert "thread-summary" in [one.name for one in public.skills]
        lame = tmp_path / "skills" / "custom" / "lame"
        lame.mkdir(parents=True)
        (lame / "SKILL.md").write_text("no head")
        await port.switch_skill("thread-summary", enabled=False)
        found = await port.list_skills()
        summary = next(one for one in found.skills if one.name == "thread-summary")
        assert not summary.enabled
        assert summary.path == "/mnt/skills/public/thread-summary/SKILL.md"
        assert summary.description
        broken = next(one for one in found.problems if one.path == "/mnt/skills/custom/lame/SKILL.md")
        assert "SKILL.md" in broken.error
        with pytest.raises(RuntimeRefused, match="no skill named"):
            await port.switch_skill("x-y", enabled=True)

    async def test_skills_are_removed_and_restored(self, tmp_path: Path) -> None:
        changes = self.subject.port.management
        custom = tmp_path / "skills" / "custom" / "noted"
        custom.mkdir(parents=True)
        (custom / "SKILL.md").write_text("---\nname: noted\ndescription: Notes.\n---\nDo it.\n")
        await changes.remove_skill("noted")
        assert not custom.exists()
        [gone] = (await changes.list_versions("noted")).versions
        assert (gone.number, gone.current, gone.kept) == (1, False, True)
        [back] = (await changes.restore_skill("noted")).versions
        assert (back.current, custom.exists()) == (True, True)
        with pytest.raises(RuntimeRefused, match="does not come from a repository"):
            await changes.upgrade_skill("noted", "a" * 40)
        for call in (changes.check_skill, lambda place: changes.install_skill(place, replace=True)):
            with pytest.raises(RuntimeRefused, match="can't be read"):
                await call(
                    SkillInRepository(repository="https://127.0.0.1:9/x.git", commit="a" * 40, path="p")
                )
        with pytest.raises(RuntimeRefused, match="no skill named"):
            await changes.list_versions("gone")

    async def test_mcp_servers_are_listed_and_switched(self, extensions: Path) -> None:
        port, web = self.subject.port.management, '{"url": "http://127.0.0.1:9/mcp", "description": "d"}'
        extensions.write_text(f'{{"mcpServers": {{"web": {web}}}}}')
        await port.switch_mcp_server("web", enabled=False)
        assert (await port.list_mcp_servers()).servers == [
            McpServerState(name="web", state=ServerState.OFF, description="d")
        ]
        await port.switch_mcp_server("web", enabled=True)
        assert (await port.list_mcp_servers()).servers == [
            McpServerState(name="web", state=ServerState.IDLE, description="d")
        ]
        with pytest.raises(RuntimeRefused, match="There is no MCP server named"):
            await port.switch_mcp_server("we b", enabled=True)

    async def test_uploads_and_artifacts(self, tmp_path: Path) -> None:
        async def content() -> AsyncIterator[bytes]:
            yield b"hello "
            yield b"file"

        thread = str(uuid.uuid4())
        upload = await self.subject.port.upload_file(thread, "../a b.txt", content(), "m1-0")
        again = await self.subject.port.upload_file(thread, "../a b.txt", content(), "m1-0")
        assert (again.filename, again.path) == (upload.filename, upload.path)
        uploads = tmp_path / "threads" / thread / "user-data" / "uploads"
        assert [path.name for path in uploads.iterdir()] == [upload.filename]
        other = await self.subject.port.upload_file(thread, "../a b.txt", content(), "m2-0")
        assert other.filename != upload.filename
        uploads.joinpath(upload.filename).unlink()
        anew = await self.subject.port.upload_file(thread, "../a b.txt", content(), "m1-0")
        assert uploads.joinpath(anew.filename).read_bytes() == b"hello file"
        assert upload.size == len(b"hello file")
        assert "/" not in upload.filename
        outputs = tmp_path / "threads" / thread / "user-data" / "outputs"
        outputs.mkdir(parents=True, exist_ok=True)
        (outputs / "out.txt").write_bytes(b"made")
        data, mime = await self.subject.port.read_artifact(thread, "/mnt/user-data/outputs/out.txt", 100)
        assert (data, mime) == (b"made", "text/plain")
        with pytest.raises(RuntimeRefused, match="larger"):
            await self.subject.port.read_artifact(thread, "/mnt/user-data/outputs/out.txt", 3)
        with pytest.raises(RuntimeProblem):
            await self.subject.port.read_artifact(thread, "/mnt/user-data/outputs/none.txt", 100)

    async def test_models_are_listed_with_the_default_first(self) -> None:
        models = (await self.subject.port.management.list_models()).default_first
        assert models
        assert models[0].default

    async def test_what_a_thread_cost_is_told_where_somebody_counts(self) -> None:
        assert isinstance(self.subject.port, LangGraphRuntime)
        port, threads = self.subject.port, self.subject.port._client.threads
        assert await port.read_usage(str(uuid.uuid4())) is None
        counts = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        for said, understood in (
            (counts, TokenUsage(10, 2, 12)),
            ({"input_tokens": 1}, None),
            ("many", None),
        ):
            thread = await threads.create(metadata={"usage": said})
            assert await port.read_usage(thread["thread_id"]) == understood

    async def test_a_memory_is_shown_and_forgotten(self) -> None:
        assert isinstance(self.subject.port, LangGraphRuntime)
        port, http = self.subject.port, self.subject.port._http
        ada, group = "person:a:telegram:1", "group:a:-100 +&?"
        for scope, content in ((ada, "Likes tea."), (ada, "Has a cat."), (group, "Ships on Fridays.")):
            added = await http.post("/api/memory/facts", params={"scope": scope}, json={"content": content})
            assert added.status_code == 201
        memories = port.management
        found = await memories.get_memory(ada)
        assert [fact.content for fact in found.facts] == ["Likes tea.", "Has a cat."]
        assert not any(one.summary for _, one in found.list_summaries())
        assert found.facts[0].source == "manual"
        await memories.delete_fact(found.facts[0].id, ada)
        for gone in (found.facts[0].id, "../../config", "x/y?z"):
            with pytest.raises(RuntimeRefused) as refusal:
                await memories.delete_fact(gone, ada)
            assert refusal.value.status == 404
        assert [fact.content for fact in (await memories.get_memory(ada)).facts] == ["Has a cat."]
        await memories.delete_memory(ada)
        assert (await memories.get_memory(ada)).facts == ()
        assert [fact.content for fact in (await memories.get_memory(group)).facts] == ["Ships on Fridays."]
        with pytest.raises(RuntimeRefused, match="Invalid scope"):
            await memories.get_memory("everybody")

    async def test_what_a_run_cost_is_told_as_it_goes_and_afterwards(self) -> None:
        port = self.subject.port
        thread, run = await self.subject.ask("hello", assistant="counting")
        events = await self.subject.follow(thread, run)
        assert [one.event for one in events if isinstance(one.event, UsageReported)] == [
            UsageReported(TokenUsage(10, 2, 12))
        ]
        thread, again = await self.subject.ask("and again", thread=thread, assistant="counting")
        await self.subject.follow(thread, again)
        assert (
            await port.read_usage(thread, run)
            == await port.read_usage(thread, again)
            == TokenUsage(10, 2, 12)
        )
        assert await port.read_usage(thread) == TokenUsage(20, 4, 24)
        with pytest.raises(RunMissing):
            await port.read_usage(thread, str(uuid.uuid4()))

    async def test_a_step_that_is_told_again_after_a_question_is_counted_once(self) -> None:
        thread, run = await self.subject.ask("go", assistant="asking")
        events = await self.subject.follow(thread, run)
        [asked] = [one.event for one in events if isinstance(one.event, RunInterrupted)]
        assert [one.event for one in events if isinstance(one.event, UsageReported)] == [
            UsageReported(TokenUsage(7, 1, 8))
        ]
        _, later = await self.subject.ask("yes", thread=thread, assistant="asking", answers=asked.id)
        events = await self.subject.follow(thread, later)
        assert events[-1].event == RunEnded("success")
        assert [one.event for one in events if isinstance(one.event, UsageReported)] == [
            UsageReported(TokenUsage(10, 2, 12))
        ]

    async def test_a_server_without_management_routes_says_so(self) -> None:
        assert isinstance(self.subject.port, LangGraphRuntime)
        bare = LangGraphRuntime(self.subject.port._http, assistant_id="x", management=None)
        with pytest.raises(RuntimeRefused, match="no management routes"):
            await bare.management.list_models()

    async def test_an_unknown_assistant_is_refused(self) -> None:
        assert isinstance(self.subject.port, LangGraphRuntime)
        other = LangGraphRuntime(self.subject.port._http, assistant_id="nobody", management=None)
        with pytest.raises(RuntimeProblem):
            await other.create_run(RunRequest(str(uuid.uuid4()), "1:1", [], {}))


async def test_a_runtime_that_is_not_there_is_unreachable() -> None:
    async with httpx.AsyncClient(base_url="http://127.0.0.1:9", timeout=1.0) as http:
        port = LangGraphRuntime(http, assistant_id="a", management=http)
        assert not await port.is_ready()
        with pytest.raises(RuntimeUnreachable):
            await port.create_run(RunRequest(str(uuid.uuid4()), "1:1", [], {}))
        with pytest.raises(RuntimeUnreachable):
            await port.management.list_models()
        with pytest.raises(RuntimeUnreachable):
            await port.management.list_agents()
