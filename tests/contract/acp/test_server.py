"""Our agent as an agent of the protocol, spoken to by the protocol's own client."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp.helpers import resource_link_block, text_block
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from agent.acp_server.serve import OVERRIDES, main
from agent.acp_server.server import AcpServer, serve_connection
from agent.client import AgentClient

pytestmark = pytest.mark.may_block
SCRIPTED = "roebot_testing.agent:ScriptedChatModel"
LOOKUP = {"name": "lookup", "group": "words", "use": "tests.component.agent.test_lead_tools:lookup"}
ASKS = {"use": "agent.middleware.guardrail:AllowlistProvider", "ask": ["lookup"]}
OUT = "/mnt/user-data/outputs"
SLOW = {"tokens": 3, "every": 600.0}


class Editor:
    """A client: what it is told, and what it answers to requests for permission."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.answers: list[str | None] = []
        self.words = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.heard.append(update.model_dump(exclude_none=True, by_alias=True))
        if self.said:
            self.words.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append({"title": tool_call.title, "args": tool_call.raw_input})
        answer = self.answers.pop(0)
        if answer is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))

    @property
    def said(self) -> str:
        """The words of the agent so far."""
        pieces = self.of("agent_message_chunk")
        return "".join(one["content"].get("text", "") for one in pieces)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of one kind."""
        return [one for one in self.heard if one["sessionUpdate"] == kind]


class Stage:
    """An editor, its connection to our agent, and a session."""

    def __init__(self, folder: Path, editor: Editor, connection: Any, session: str) -> None:
        self.folder, self.editor, self.connection, self.session = folder, editor, connection, session

    async def ask(self, *blocks: Any) -> str:
        """Why the turn stopped."""
        given = [text_block(one) if isinstance(one, str) else one for one in blocks]
        answer = await self.connection.prompt(session_id=self.session, prompt=given)
        return str(answer.stop_reason)


@asynccontextmanager
async def connected(folder: Path, *steps: Any, **config: Any) -> AsyncIterator[Stage]:
    """A session in `folder/work` with our agent, whose model takes these steps (it echoes without)."""
    work, editor = folder / "work", Editor()
    work.mkdir()
    model = {"name": "m", "use": SCRIPTED, **({"steps": list(steps)} if steps else {})}
    whole = {**OVERRIDES, "models": [model], "sandbox": {"isolation": "none"}, **config}
    ours, theirs = socket.socketpair()
    with AgentClient(whole, read_file=False, home=folder / "home", environ={}) as client:
        reader, writer = await asyncio.open_connection(sock=ours)
        serving = asyncio.create_task(serve_connection(AcpServer(client), reader, writer))
        reader, editor_writer = await asyncio.open_connection(sock=theirs)
        connection = acp.connect_to_agent(cast(Any, editor), editor_writer, reader)
        try:
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
            made = await connection.new_session(cwd=str(work), mcp_servers=[])
            yield Stage(work, editor, connection, made.session_id)
        finally:
            await connection.close()
            editor_writer.close()
            async with asyncio.timeout(60):
                await serving
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def tools(*calls: Any) -> dict[str, Any]:
    """A step that calls tools."""
    return {"tools": [{"name": name, "args": args, "id": f"c{at}"} for at, (name, args) in enumerate(calls)]}


async def test_a_conversation(tmp_path: Path) -> None:
    async with connected(tmp_path) as stage:
        hello = await stage.connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == acp.PROTOCOL_VERSION
        assert hello.agent_info.name == "roebot"
        assert hello.agent_capabilities.prompt_capabilities.embedded_context is True
        assert hello.agent_capabilities.load_session is False
        assert await stage.ask("One two", "three") == "end_turn"
        assert stage.editor.said == "One two\n\nthree"
        assert len(stage.editor.of("agent_message_chunk")) > 1, "it is streamed"
        stage.editor.heard.clear()
        other = await stage.connection.new_session(cwd=str(stage.folder), mcp_servers=[])
        assert other.session_id != stage.session


async def test_what_it_does_is_told(tmp_path: Path) -> None:
    steps = [tools(("lookup", {"word": "ab"})), {"reply": "done"}]
    async with connected(tmp_path, *steps, tools=[LOOKUP]) as stage:
        assert await stage.ask("go") == "end_turn"
        [begun], [ended] = stage.editor.of("tool_call"), stage.editor.of("tool_call_update")
        assert (begun["toolCallId"], begun["title"], begun["rawInput"]) == ("c0", "lookup", {"word": "ab"})
        assert (ended["toolCallId"], ended["status"]) == ("c0", "completed")
        assert ended["content"][0]["content"]["text"] == "ab means 42"
        assert stage.editor.said == "done"


async def test_a_question_ends_the_turn_and_the_next_prompt_answers_it(tmp_path: Path) -> None:
    question = {"question": "Which colour?", "kind": "ambiguous", "options": ["red", "blue"]}
    steps = [tools(("ask_clarification", question)), {"reply": "Thank you."}]
    async with connected(tmp_path, *steps) as stage:
        assert await stage.ask("paint it") == "end_turn"
        assert stage.editor.said == "Which colour?\n- red\n- blue"
        stage.editor.heard.clear()
        assert await stage.ask("red") == "end_turn"
        assert stage.editor.said == "Thank you."


async def test_permission_is_asked_for_each_call(tmp_path: Path) -> None:
    calls = [("lookup", {"word": "ab"}), ("lookup", {"word": "cd"}), ("lookup", {"word": "ef"})]
    guard = {"enabled": True, "provider": ASKS}
    steps = [tools(*calls), {"reply": "done"}]
    async with connected(tmp_path, *steps, tools=[LOOKUP], guardrails=guard) as stage:
        stage.editor.answers = ["approve", "reject", None]
        assert await stage.ask("go") == "end_turn"
        assert [one["title"] for one in stage.editor.asked] == ["May I use lookup?"] * 3
        decided = {one["args"]["word"]: at for at, one in enumerate(stage.editor.asked)}
        ended = {one["toolCallId"]: one["status"] for one in stage.editor.of("tool_call_update")}
        approved = next(word for word, at in decided.items() if at == 0)
        number = [args["word"] for _, args in calls].index(approved)
        assert {name for name, status in ended.items() if status == "completed"} == {f"c{number}"}
        assert len(ended) == 3
        assert stage.editor.said == "done"


async def test_cancel_ends_the_turn_and_the_session_goes_on(tmp_path: Path) -> None:
    async with connected(tmp_path, SLOW, {"reply": "still here"}) as stage:
        turn = asyncio.create_task(stage.ask("count"))
        await asyncio.wait_for(stage.editor.words.wait(), 60)
        with pytest.raises(acp.RequestError, match="Invalid request"):
            await stage.ask("another")
        await stage.connection.cancel(session_id=stage.session)
        assert await turn == "cancelled"
        await stage.connection.cancel(session_id=stage.session)
        await stage.connection.cancel(session_id="unknown")
        stage.editor.heard.clear()
        assert await stage.ask("go on") == "end_turn"
        assert stage.editor.said == "still here"


async def test_a_client_that_goes_ends_its_turn(tmp_path: Path) -> None:
    async with connected(tmp_path, SLOW) as stage:
        turn = asyncio.create_task(stage.ask("count"))
        await asyncio.wait_for(stage.editor.words.wait(), 60)
        await stage.connection.close()
        with pytest.raises(ConnectionError):
            await turn
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("acp-")]


async def test_a_failure_is_told_in_a_line(tmp_path: Path) -> None:
    async with connected(tmp_path, {"fail": "auth"}, {"reply": "again"}) as stage:
        with pytest.raises(acp.RequestError, match='The model "m" failed: its provider rejected the API key'):
            await stage.ask("go")
        assert await stage.ask("go") == "end_turn"
        assert stage.editor.said == "again"


async def test_files_come_in_by_links_and_go_out_under_free_names(tmp_path: Path) -> None:
    steps = [
        tools(("bash", {"command": f"cat /mnt/user-data/uploads/in.md > {OUT}/out.md"})),
        tools(("present_files", {"paths": [f"{OUT}/out.md"]})),
        {"reply": "here"},
    ]
    async with connected(tmp_path, *steps) as stage:
        (stage.folder / "in.md").write_text("forty-two")
        (stage.folder / "out.md").write_text("mine")
        link = resource_link_block("in.md", (stage.folder / "in.md").as_uri())
        assert await stage.ask("copy it", link) == "end_turn"
        assert (stage.folder / "out.md").read_text() == "mine", "nothing is overwritten"
        assert (stage.folder / "out-2.md").read_text() == "forty-two"
        [told] = [one["content"] for one in stage.editor.of("agent_message_chunk") if "uri" in one["content"]]
        assert told["uri"] == (stage.folder / "out-2.md").as_uri()
        assert (told["name"], told["size"]) == ("out-2.md", 9)


def test_without_the_package_a_line_names_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)
    assert main([]) == 1
    told = capfd.readouterr()
    assert told.err == "roebot agent: ACP needs an optional package: pip install 'roebot[acp]'\n"
    assert told.out == ""


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder"])
async def test_a_session_needs_a_folder(tmp_path: Path, cwd: str) -> None:
    async with connected(tmp_path) as stage:
        with pytest.raises(acp.RequestError, match="Invalid params"):
            await stage.connection.new_session(cwd=cwd, mcp_servers=[])


async def test_an_unknown_session_and_an_unknown_method_are_refused(tmp_path: Path) -> None:
    async with connected(tmp_path) as stage:
        with pytest.raises(acp.RequestError, match="Invalid params"):
            await stage.connection.prompt(session_id="gone", prompt=[text_block("x")])
        with pytest.raises(acp.RequestError, match="Method not found"):
            await stage.connection.load_session(cwd=str(stage.folder), session_id="x", mcp_servers=[])
