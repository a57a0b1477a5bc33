"""What a run says about itself is the same in hooks, tools and factories."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from agent.core.run_context import RunContext
from agent.factory import create_agent_graph
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

SENT = {
    "user_id": "telegram:1",
    "roles": ["owner", "admin"],
    "account": "telegram",
    "platform": "telegram",
    "chat": "5",
    "chat_kind": "group",
    "turn_id": "77",
    "locale": "zh",
}
WHOLE = RunContext(
    thread_id="t",
    user_id="telegram:1",
    roles=("owner", "admin"),
    account="telegram",
    platform="telegram",
    chat="5",
    chat_kind="group",
    turn_id="77",
    locale="zh",
)


class Watch(AgentMiddleware[Any, Any]):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[RunContext] = []

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        self.seen.append(RunContext.of(runtime))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:
        self.seen.append(RunContext.of(request.runtime))
        return await handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self.seen.append(RunContext.of(request.runtime))
        return await handler(request)


async def test_hooks_and_tools_see_what_came_with_the_run() -> None:
    watch = Watch()

    @tool
    async def peek(runtime: ToolRuntime) -> str:
        """Look."""
        watch.seen.append(RunContext.of(runtime))
        return "done"

    model = ScriptedChatModel(script=Script(reply="ok", tool=ToolUse("peek", {})), environ={})
    graph = create_agent_graph(model, [peek], middleware=[watch], checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": ["hi"]}, {"configurable": {"thread_id": "t", **SENT}})
    assert watch.seen == [WHOLE] * 5


async def test_a_context_counts_as_configurable_does() -> None:
    watch = Watch()
    graph = create_agent_graph(
        ScriptedChatModel(environ={}), middleware=[watch], checkpointer=InMemorySaver()
    )
    await graph.ainvoke({"messages": ["hi"]}, {"configurable": {"thread_id": "t"}}, context=SENT)
    assert watch.seen == [WHOLE] * 2


FORGED = {**SENT, "thread_id": "bens", "run_id": "bens"}


@pytest.mark.guard(
    "the context of a run chooses no other thread",
    "agent/core/run_context.py",
    "if name in context and name not in _OF_THE_RUN else",
    "if name in context else",
    against="forged identities",
)
async def test_a_context_chooses_no_other_thread_or_run_for_hooks() -> None:
    watch = Watch()
    graph = create_agent_graph(
        ScriptedChatModel(environ={}), middleware=[watch], checkpointer=InMemorySaver()
    )
    await graph.ainvoke({"messages": ["hi"]}, {"configurable": {"thread_id": "t"}}, context=FORGED)
    assert watch.seen == [WHOLE] * 2


def test_a_context_chooses_no_other_thread_or_run_for_tools() -> None:
    runtime: Any = SimpleNamespace(config={"configurable": {"thread_id": "t"}}, context=FORGED)
    assert RunContext.of(runtime) == WHOLE


def test_from_a_config() -> None:
    found = RunContext.of({"configurable": {"thread_id": "t", "run_id": "r", "roles": "owner", "chat": 5}})
    assert found == RunContext(thread_id="t", run_id="r", roles=("owner",), chat="5")


def test_the_run_id_of_the_config_itself() -> None:
    assert RunContext.of({"run_id": "r"}).run_id == "r"  # type: ignore[typeddict-item]


def test_what_cannot_be_read_is_missing() -> None:
    assert RunContext.of({"configurable": {"roles": 5, "user_id": ""}}) == RunContext()
    assert RunContext.of(None) == RunContext.of(Runtime()) == RunContext.of({}) == RunContext()
