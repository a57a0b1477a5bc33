"""What a server says besides results: questions to a person, progress, log lines, resources and prompts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from structlog.testing import capture_logs

from agent.core.tool_order import ORDER, Order
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.mcp.pool import McpPool
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.mcp import call, configured, named, pooled, served

TRANSPORTS = ["stdio", pytest.param("http", marks=pytest.mark.long)]
FEATURES = RuntimeFeatures(sandbox=False, loop_detection=False)


@asynccontextmanager
async def offered(
    transport: str = "stdio", **more: Any
) -> AsyncIterator[tuple[dict[str, BaseTool], McpPool]]:
    """Its tools, and the pool."""
    async with served("mcp_talking", transport) as entry, pooled() as pool:
        yield named(await pool.load_tools(configured(shop={**entry, **more}))), pool


class Chat:
    """A thread of an agent with these tools."""

    def __init__(self, tools: Mapping[str, BaseTool], thread: str = "t", locale: str = "en") -> None:
        self._tools, self._saver = list(tools.values()), InMemorySaver()
        self._config: Any = {"configurable": {"thread_id": thread, "locale": locale}}
        self.events: list[Any] = []
        self.questions: list[Any] = []
        self._graph: Any = None

    async def ask(self, *uses: ToolUse) -> str:
        """The answer of the tool, or the question that the run stopped at."""
        model = ScriptedChatModel(steps=(Script(tools=uses), Script(reply="done")), environ={})
        self._graph = create_agent_graph(model, self._tools, features=FEATURES, checkpointer=self._saver)
        return await self._run({"messages": [HumanMessage("go")]})

    async def answer(self, text: str) -> str:
        return await self._run(Command(resume={"answer": text}))

    async def _run(self, given: Any) -> str:
        self.questions = []
        values: Any = {}
        async for mode, part in self._graph.astream(given, self._config, stream_mode=["custom", "values"]):
            if mode == "custom":
                self.events.append(part)
            else:
                values = part
        state = await self._graph.aget_state(self._config)
        self.questions = [one.value for one in state.interrupts]
        if self.questions:
            return str(self.questions[0]["question"])
        found = [message for message in values["messages"] if isinstance(message, ToolMessage)]
        assert values["messages"][-1].text == "done"
        return str(found[-1].text)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_form_is_filled_in_by_a_person(transport: str) -> None:
    """The call goes on where it stopped: it is made once, and its server answers others meanwhile."""
    async with offered(transport) as (tools, _):
        chat = Chat(tools)
        assert await chat.ask(ToolUse("shop_order", {"what": "cake"})) == "Size\nWhich size?"
        [question] = chat.questions
        assert question["type"] == "clarification"
        assert question["context"] == "The MCP server shop asks: How do you want the cake?"
        assert question["options"] == ["small", "large", "Don't answer"]
        assert await call(tools, "shop_what_happened", "t") == "began cake", "the session is free"
        assert await chat.answer("LARGE") == "How many?"
        assert await chat.answer("9") == "Expected 1 to 5.\nHow many?"
        assert (await chat.answer("3")).startswith("A gift?")
        assert chat.questions[0]["options"] == ["Yes", "No", "Skip", "Don't answer"]
        assert await chat.answer("yes") == "3 large cake as a gift"
        assert await call(tools, "shop_what_happened", "t") == "began cake; ordered cake"


async def test_a_person_may_not_want_to_answer() -> None:
    async with offered() as (tools, _):
        chat = Chat(tools)
        await chat.ask(ToolUse("shop_order", {"what": "cake"}))
        assert await chat.answer("Don't answer") == "cake: decline"
        assert await call(tools, "shop_what_happened", "t") == "began cake"


async def test_questions_one_after_the_other() -> None:
    async with offered() as (tools, _):
        chat = Chat(tools, locale="zh")
        assert await chat.ask(ToolUse("shop_twice")) == "MCP 服务器 shop 询问：Really?"
        assert chat.questions[0]["options"] == ["继续", "不回答"]
        assert await chat.answer("继续") == "MCP 服务器 shop 询问：Really really?"
        assert await chat.answer("不回答") == "accept decline"
        assert await call(tools, "shop_what_happened", "t") == "began twice"


async def test_calls_of_an_answer_ask_in_their_order() -> None:
    async with offered() as (tools, _):
        chat = Chat(tools)
        asked = await chat.ask(ToolUse("shop_twice", {}, "a"), ToolUse("shop_twice", {}, "b"))
        for question in ("Really?", "Really really?", "Really?", "Really really?"):
            assert asked == f"The MCP server shop asks: {question}"
            asked = await chat.answer("Continue")
        values = (await chat._graph.aget_state(chat._config)).values
        results = [m.text for m in values["messages"] if isinstance(m, ToolMessage)]
        assert results == ["accept accept", "accept accept"]


async def test_parallel_calls_of_a_server_that_asks() -> None:
    """It doesn't say which of them asks: at first nobody is asked, then one call after the other is made."""
    async with offered() as (tools, _):
        # Calls that may change something run one after the other.
        (tools["shop_twice"].metadata or {})[ORDER] = Order.FREE
        chat = Chat(tools)
        uses = ToolUse("shop_twice", {}, "a"), ToolUse("shop_twice", {}, "b")
        assert await chat.ask(*uses) == "cancel cancel"
        await chat.ask(*uses)
        assert len(chat.questions) == 1
        await chat.answer("Continue")
        await chat.answer("Continue")
        values = (await chat._graph.aget_state(chat._config)).values
        results = sorted(m.text for m in values["messages"][-3:] if isinstance(m, ToolMessage))
        assert "waits for a person's answer in another call" in results[0]
        assert results[1] == "accept accept"


async def test_a_question_that_the_thread_has_left_behind() -> None:
    """The next call of the thread doesn't wait for it."""
    async with offered() as (tools, pool):
        chat = Chat(tools)
        await chat.ask(ToolUse("shop_order", {"what": "cake"}))
        assert await chat.ask(ToolUse("shop_what_happened")) == "began cake"
        client = pool.servers["shop"]
        assert client.live_calls is not None
        assert not client.live_calls._calls


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_link_is_shown(transport: str) -> None:
    async with offered(transport) as (tools, _):
        chat = Chat(tools)
        question = await chat.ask(ToolUse("shop_link"))
        assert "Sign in first\nOpen this link: https://example.com/sign-in?x=1" in question
        assert await chat.answer("Done") == "accept"


async def test_a_question_stays_in_its_conversation() -> None:
    async with offered() as (tools, _):
        one, other = Chat(tools, "one"), Chat(tools, "other")
        await one.ask(ToolUse("shop_order", {"what": "cake"}))
        await other.ask(ToolUse("shop_order", {"what": "pie"}))
        assert "the cake?" in one.questions[0]["context"]
        assert "the pie?" in other.questions[0]["context"]
        assert await other.answer("Don't answer") == "pie: decline"
        assert await one.answer("Don't answer") == "cake: decline"


async def test_what_is_shared_or_outside_of_a_run_can_not_ask() -> None:
    async with offered(scope="shared") as (tools, _):
        assert "Elicitation" in await Chat(tools).ask(ToolUse("shop_twice"))
    async with offered() as (tools, _):
        assert "cancel" in await call(tools, "shop_link", "t")


@pytest.mark.guard(
    "a call that was lost while its MCP server asked is not made again",
    "agent/mcp/live_calls.py",
    "            if _was_answered():\n",
    "            if False:\n",
    against="a call made twice",
)
async def test_an_answer_after_the_session_has_ended() -> None:
    """The call is not made again, since what it did is not known."""
    async with offered() as (tools, pool):
        chat = Chat(tools)
        await chat.ask(ToolUse("shop_order", {"what": "cake"}))
        client = pool.servers["shop"]
        assert client.live_calls is not None
        client.live_calls.close()
        assert "ended while a person was asked; the call may have had an effect" in await chat.answer("large")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_progress_is_shown_and_gives_the_call_its_time_again(transport: str) -> None:
    async with offered(transport, timeout_seconds=1.5) as (tools, _):
        chat = Chat(tools)
        assert await chat.ask(ToolUse("shop_work", {"steps": 5, "pause": 0.5}, "c1")) == "worked"
        running = [event for event in chat.events if event["type"] == "task_running"]
        assert {event["task_id"] for event in running} == {"c1"}
        assert running[0]["description"] == "work: step 1 (1 of 5)"
        assert len(running) > 1


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_log_lines_are_logged_but_not_all(transport: str) -> None:
    with capture_logs() as logs:
        async with offered(transport) as (tools, _):
            assert await call(tools, "shop_chatter", lines=50) == "logged"
    lines = [entry for entry in logs if entry["event"] == "mcp_server_log"]
    assert [line["detail"] for line in lines] == [f"line {number}" for number in range(20)]
    assert {(line["server"], line["log_level"]) for line in lines} == {("shop", "warning")}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_that_wants_a_model_or_folders_gets_an_error(transport: str) -> None:
    """The tool says so, and the session goes on."""
    async with offered(transport) as (tools, _):
        chat = Chat(tools)
        assert "Sampling not supported" in await chat.ask(ToolUse("shop_think"))
        assert "List roots not supported" in await chat.ask(ToolUse("shop_roots"))
        assert await chat.ask(ToolUse("shop_what_happened")) == "nothing"


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_resources_and_prompts_are_tools(transport: str) -> None:
    async with offered(transport) as (tools, _):
        listed = await call(tools, "shop_list_resources")
        assert "- notes://today (Today, text/plain, What is to do.)" in listed
        assert "notes://day/{day}" in listed
        assert await call(tools, "shop_read_resource", uri="notes://today") == (
            "[Resource notes://today]\nBuy cheese."
        )
        assert "Nothing on monday." in await call(tools, "shop_read_resource", uri="notes://day/monday")
        assert "The server reported an error" in await call(tools, "shop_read_resource", uri="notes://none")
        assert "not the address" in await call(tools, "shop_read_resource", uri="none")
        assert "review(number, tone?): Review a change." in tools["shop_get_prompt"].description
        text = await call(tools, "shop_get_prompt", name="review", arguments={"number": 17})
        assert text == "[user]Review the change 17 in a friendly tone."
        assert "reported an error" in await call(tools, "shop_get_prompt", name="none")
        assert (tools["shop_read_resource"].metadata or {})["idempotent"] is True


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_call_that_its_run_gives_up_is_ended(transport: str) -> None:
    """Here, and in the server, which is told."""
    async with offered(transport) as (tools, pool):
        chat = Chat(tools)
        running = asyncio.create_task(chat.ask(ToolUse("shop_work", {"steps": 100, "pause": 1}, "c1")))
        while not any(event["type"] == "task_running" for event in chat.events):
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        client = pool.servers["shop"]
        assert client.live_calls is not None
        assert client.live_calls.find_asker("t") is None
        assert not any(session.active_calls for session in client._sessions.values())
        async with asyncio.timeout(60):
            while await call(tools, "shop_what_happened", "t") != "stopped work":
                await asyncio.sleep(0.01)
