"""The calls of one answer run in their order, through compiled graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agent.core.tool_order import ORDER, Order, read_order
from agent.guardrails import AllowlistProvider
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.todo import write_todos
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.middleware.tool_order import ToolOrderMiddleware
from agent.subagents.tool import make_task_tool
from agent.tools.community import duckduckgo
from agent.tools.images import view_image
from agent.tools.sandbox import sandbox_tools
from roebot_testing.agent import Script, ToolUse
from roebot_testing.agent.subagents import ScriptedSubagents
from tests.harness.agents import chain, say, says, scripted

BESIDE = {ORDER: Order.BESIDE, "idempotent": True}


class Workshop:
    """Tools that note when they begin and end. `held` ones wait until they are let go."""

    def __init__(self, held: Sequence[str] = ()) -> None:
        self.log: list[str] = []
        self.begun: dict[str, asyncio.Event] = {}
        self.go = {name: asyncio.Event() for name in held}
        self.failing: dict[str, BaseException] = {}

    def tool(self, name: str, order: Order | None = None, **metadata: Any) -> BaseTool:
        """A tool of this name; its calls are logged under the word that they get."""

        async def work(word: str = "") -> str:
            called = word or name
            self.log.append(f"{called} begins")
            self.event(called).set()
            if called in self.go:
                await self.go[called].wait()
            await asyncio.sleep(0)
            if called in self.failing:
                raise self.failing.pop(called)
            self.log.append(f"{called} ends")
            return f"{called} done"

        about = {**metadata, **({ORDER: order} if order else {})}
        return StructuredTool.from_function(
            coroutine=work, name=name, description="Work.", metadata={"idempotent": True, **about}
        )

    def event(self, called: str) -> asyncio.Event:
        return self.begun.setdefault(called, asyncio.Event())


def uses(*words: str, tool: str = "work") -> tuple[ToolUse, ...]:
    return tuple(ToolUse(tool, {"word": word}, f"c{index}") for index, word in enumerate(words))


def agent(tools: Sequence[BaseTool], *uses: ToolUse, middleware: Sequence[Any] = (), **options: Any) -> Any:
    model = scripted(Script(tools=uses), says("done"))
    order = ToolOrderMiddleware()
    return chain(model, order, *middleware, ToolErrorHandlingMiddleware(), tools=tools, **options)


def results(values: Mapping[str, Any]) -> list[str]:
    return [message.text for message in values["messages"] if isinstance(message, ToolMessage)]


def in_order(*words: str) -> list[str]:
    return [line for word in words for line in (f"{word} begins", f"{word} ends")]


@pytest.mark.guard(
    "a call waits for the calls before it",
    "agent/middleware/tool_order.py",
    "        await asyncio.wait(place.before)\n        return all(one.result() for one in place.before)",
    "        return True",
    against="tool calls in order",
)
async def test_calls_run_one_after_the_other_in_the_order_given() -> None:
    shop = Workshop()
    values = await say(agent([shop.tool("work")], *uses("a", "b", "c")), "go")
    assert shop.log == in_order("a", "b", "c")
    assert results(values) == ["a done", "b done", "c done"]


@pytest.mark.parametrize("order", [Order.FREE, Order.BESIDE])
async def test_independent_calls_run_at_the_same_time(order: Order) -> None:
    """Each waits for the other."""
    both = asyncio.Barrier(2)

    async def meet() -> str:
        await both.wait()
        return "met"

    tool = StructuredTool.from_function(coroutine=meet, name="meet", description="Meet.")
    tool.metadata = {ORDER: order}
    values = await say(agent([tool], ToolUse("meet", {}, "a"), ToolUse("meet", {}, "b")), "go")
    assert results(values) == ["met", "met"]


async def test_a_free_call_runs_beside_one_in_turn() -> None:
    shop = Workshop(held=["slow"])
    tools = [shop.tool("work"), shop.tool("free", Order.FREE)]
    asked = asyncio.create_task(
        say(agent(tools, *uses("slow", "next"), ToolUse("free", {}, "f")), "go"), name="turn"
    )
    await shop.event("free").wait()
    assert "next begins" not in shop.log
    shop.go["slow"].set()
    assert results(await asked) == ["slow done", "next done", "free done"]


async def test_a_call_beside_waits_for_earlier_ones_and_holds_up_only_the_last() -> None:
    """As a subagent, which works with the files that were just written."""
    shop = Workshop(held=["slow", "task"])
    tools = [shop.tool("work"), shop.tool("task", Order.BESIDE), shop.tool("show", Order.LAST)]
    called = (*uses("slow"), ToolUse("task", {}, "t"), *uses("x", "x", "next")[2:], ToolUse("show", {}, "s"))
    asked = asyncio.create_task(say(agent(tools, *called), "go"), name="turn")
    await shop.event("slow").wait()
    shop.go["slow"].set()
    await shop.event("task").wait()
    await shop.event("next").wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert "show begins" not in shop.log
    shop.go["task"].set()
    assert results(await asked)[-1] == "show done"
    assert shop.log.index("slow ends") < shop.log.index("task begins") < shop.log.index("task ends")
    assert shop.log.index("task ends") < shop.log.index("show begins")


async def test_a_reading_call_keeps_its_order_with_the_changes_of_its_server_alone() -> None:
    """A page is read after the click before it, and before the click after it."""
    shop = Workshop(held=["click"])
    tools = [
        shop.tool("work"),
        shop.tool("click", mcp_server="browser"),
        shop.tool("look", Order.FREE, mcp_server="browser"),
        shop.tool("read", Order.FREE, mcp_server="wiki"),
    ]
    looks = [ToolUse("look", {"word": f"look {n}"}, f"l{n}") for n in range(3)]
    called = (looks[0], ToolUse("click", {}, "c"), looks[1], looks[2], ToolUse("read", {}, "r"))
    asked = asyncio.create_task(say(agent(tools, *called), "go"), name="turn")
    await shop.event("read").wait()
    await shop.event("click").wait()
    assert "look 0 ends" in shop.log and "look 1 begins" not in shop.log
    shop.go["click"].set()
    assert len(results(await asked)) == 5


async def test_after_a_failed_call_the_next_one_runs() -> None:
    shop = Workshop()
    shop.failing["a"] = ValueError("no")
    values = await say(agent([shop.tool("work")], *uses("a", "b")), "go")
    assert [text.partition(":")[0] for text in results(values)] == ["The tool work failed", "b done"]
    assert shop.log == ["a begins", *in_order("b")]


async def test_after_an_unknown_tool_or_wrong_arguments_the_next_one_runs() -> None:
    shop = Workshop()
    called = (ToolUse("missing", {}, "m"), ToolUse("work", {"word": {"x": [1]}}, "w"), *uses("b"))
    values = await say(agent([shop.tool("work")], *called), "go")
    assert len(results(values)) == 3
    assert shop.log == in_order("b")


async def test_calls_with_one_id_keep_their_order() -> None:
    shop = Workshop()
    same = tuple(ToolUse("work", {"word": word}, "same") for word in "abc")
    await say(agent([shop.tool("work")], *same), "go")
    assert shop.log == in_order("a", "b", "c")


async def test_several_hundred_calls() -> None:
    shop = Workshop()
    words = [f"w{n}" for n in range(300)]
    values = await say(agent([shop.tool("work")], *uses(*words)), "go")
    assert shop.log == in_order(*words)
    assert len(results(values)) == 300


async def test_the_calls_wait_also_if_langgraph_runs_few_at_once() -> None:
    shop = Workshop()
    config: Any = {"configurable": {"thread_id": "t"}, "max_concurrency": 1}
    await say(agent([shop.tool("work")], *uses("a", "b", "c")), "go", config)
    assert shop.log == in_order("a", "b", "c")


async def test_runs_on_other_threads_do_not_wait() -> None:
    shop = Workshop(held=["slow"])
    model = scripted(Script(tools=uses("slow", "after")), Script(tools=uses("x", "y")), says("done"))
    graph = chain(model, ToolOrderMiddleware(), tools=[shop.tool("work")])
    slow = asyncio.create_task(say(graph, "go"), name="slow")
    await shop.event("slow").wait()
    await say(graph, "go", {"configurable": {"thread_id": "other"}})
    assert shop.log == ["slow begins", *in_order("x", "y")]
    shop.go["slow"].set()
    await slow
    assert shop.log[-2:] == in_order("after")


@pytest.mark.guard(
    "a call after one that asks does not run",
    "agent/middleware/tool_order.py",
    "                raise GraphInterrupt(())",
    "                pass",
    against="tool calls in order",
)
async def test_a_call_that_asks_holds_up_later_ones_until_it_is_answered() -> None:
    """They don't even ask before; what runs beside them is not run again."""
    shop = Workshop()
    tools = [shop.tool("work"), shop.tool("risky"), shop.tool("free", Order.FREE)]
    called = (
        *uses("first"),
        *(ToolUse("risky", {"word": word}, word) for word in ("r1", "r2")),
        ToolUse("work", {"word": "last"}, "l"),
        ToolUse("free", {}, "f"),
    )
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["risky"]))
    graph = agent(tools, *called, middleware=[guard])
    asked = await say(graph, "go")
    assert [one.value["call_id"] for one in asked["__interrupt__"]] == ["r1"]
    assert sorted(shop.log) == sorted([*in_order("first"), *in_order("free")])
    config: Any = {"configurable": {"thread_id": "t-1"}}
    asked = await graph.ainvoke(Command(resume="approve"), config)
    assert [one.value["call_id"] for one in asked["__interrupt__"]] == ["r2"]
    assert shop.log[4:] == in_order("r1")
    values = await graph.ainvoke(Command(resume={asked["__interrupt__"][0].id: "reject"}), config)
    assert shop.log[4:] == in_order("r1", "last")
    told = results(values)
    assert [text.split()[0] for text in told] == ["first", "r1", "A", "last", "free"]


async def test_nothing_runs_after_a_call_that_ends_the_run() -> None:
    """Neither at once nor, if the run is resumed, a second time or out of order."""
    shop = Workshop()

    class Breaks(AgentMiddleware[Any, Any]):
        broken = True

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            if self.broken and request.tool_call["id"] == "c1":
                raise ConnectionError("no disk")
            return await handler(request)

    breaks = Breaks()
    graph = agent([shop.tool("work")], *uses("a", "b", "c"), middleware=[breaks])
    with pytest.raises(ConnectionError):
        await say(graph, "go")
    assert shop.log == in_order("a")
    breaks.broken = False
    values = await graph.ainvoke(None, {"configurable": {"thread_id": "t-1"}})
    assert shop.log == in_order("a", "b", "c"), "the result of the first is stored"
    assert results(values) == ["a done", "b done", "c done"]


@pytest.mark.guard(
    "nobody waits for a call with a stored result",
    "agent/middleware/tool_order.py",
    "                    if other.call_id in stored:",
    "                    if False:",
    against="tool calls in order",
    case="b",
)
@pytest.mark.parametrize("running", ["a", "b"])
async def test_a_cancelled_run_goes_on_in_order_when_it_is_resumed(running: str) -> None:
    """As after a crash, in which another process resumes it."""
    shop, saver = Workshop(held=[running]), InMemorySaver()
    tools = [shop.tool("work")]
    asked = asyncio.create_task(say(agent(tools, *uses("a", "b", "c"), checkpointer=saver), "go"), name="t")
    await shop.event(running).wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    shop.go[running].set()
    shop.log.clear()
    resumed = chain(scripted(says("done")), ToolOrderMiddleware(), tools=tools, checkpointer=saver)
    values = await resumed.ainvoke(None, {"configurable": {"thread_id": "t-1"}})
    assert shop.log == in_order(*("abc" if running == "a" else "bc"))
    assert results(values) == ["a done", "b done", "c done"]


async def test_nothing_is_left_of_runs_that_have_ended() -> None:
    shop = Workshop(held=["slow"])
    order = ToolOrderMiddleware()
    model = scripted(Script(tools=uses("a", "b")), says("done"), Script(tools=uses("slow", "b")))
    graph = chain(model, order, tools=[shop.tool("work")])
    await say(graph, "go")
    assert not order._steps
    asked = asyncio.create_task(say(graph, "again"), name="turn")
    await shop.event("slow").wait()
    [step] = order._steps.values()
    async with asyncio.timeout(10):
        while step.running < 2:  # a call that never began would leave its step, of which a few are kept
            await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not order._steps


async def test_answers_whose_calls_are_all_free_leave_nothing() -> None:
    shop = Workshop()
    order = ToolOrderMiddleware()
    model = scripted(Script(tools=uses("a", "b")), says("done"))
    await say(chain(model, order, tools=[shop.tool("work", Order.FREE)]), "go")
    assert not order._steps


async def test_steps_that_nothing_runs_in_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the answer to a question, the calls that had ended before it do not begin again."""
    monkeypatch.setattr("agent.middleware.tool_order.MAX_IDLE", 3)
    order = ToolOrderMiddleware()

    async def ask() -> str:
        return str(interrupt("?"))

    asking = StructuredTool.from_function(coroutine=ask, name="ask", description="Ask.", metadata=BESIDE)
    work = Workshop().tool("work", Order.BESIDE)
    first = (ToolUse("work", {}, "c1"), ToolUse("ask", {}, "c2"))
    model = scripted(*(script for _ in range(9) for script in (Script(tools=first), says("done"))))
    graph = chain(model, order, tools=[work, asking], checkpointer=InMemorySaver())
    for number in range(9):
        config: Any = {"configurable": {"thread_id": str(number)}}
        await graph.ainvoke({"messages": [("user", "go")]}, config)
        await graph.ainvoke(Command(resume="yes"), config)
    assert len(order._steps) <= 3


async def test_only_a_resumed_step_reads_stored_results(monkeypatch: pytest.MonkeyPatch) -> None:
    saver = InMemorySaver()
    reads: list[Any] = []
    read = saver.aget_tuple

    async def counting(config: Any) -> Any:
        reads.append(config)
        return await read(config)

    monkeypatch.setattr(saver, "aget_tuple", counting)
    model = scripted(*(Script(tools=uses("a", "b")) for _ in range(3)), says("done"))
    graph = chain(model, ToolOrderMiddleware(), tools=[Workshop().tool("work")], checkpointer=saver)
    await graph.ainvoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}})
    assert len(reads) == 1, "only the run itself reads its thread"


async def test_a_waiting_call_costs_nothing() -> None:
    """The loop has nothing to do until the first call has ended."""
    shop = Workshop(held=["slow"])
    asked = asyncio.create_task(
        say(agent([shop.tool("work")], *uses("slow", *(f"w{n}" for n in range(50)))), "go"), name="turn"
    )
    await shop.event("slow").wait()
    loop: Any = asyncio.get_running_loop()
    for _ in range(200):
        await asyncio.sleep(0)
    assert len(loop._ready) <= 1
    shop.go["slow"].set()
    await asked


@pytest.mark.guard(
    "a call of a subagent waits for the files written before it",
    "agent/subagents/tool.py",
    "            ORDER: Order.BESIDE,",
    "            ORDER: Order.FREE,",
    against="tool calls in order",
)
def test_the_tools_declare_what_depends_on_what() -> None:
    declared = {
        tool.name: read_order(tool)
        for tool in (
            *sandbox_tools(),
            view_image,
            write_todos,
            make_task_tool(ScriptedSubagents()),
            duckduckgo.web_search_tool(),
            *DeferredToolFilterMiddleware().tools,
        )
    }
    assert declared.pop("task") is Order.BESIDE
    assert declared.pop("present_files") is Order.LAST
    free = {name for name, order in declared.items() if order is Order.FREE}
    assert free == {"write_todos", "web_search", "tool_search"}
    assert {declared[name] for name in declared.keys() - free} == {Order.IN_TURN}
