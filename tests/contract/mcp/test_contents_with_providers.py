"""Every result of an MCP server, in a conversation with each provider, which is as strict as the real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.middleware.sandbox import SandboxMiddleware
from agent.models.calls import ModelCalls
from agent.models.capabilities import capability_middleware
from agent.models.http import shared_client
from agent.models.resolve import build_model
from roebot_testing.agent.sandbox import MemorySandboxProvider
from tests.contract.mcp.test_contents import OLD
from tests.harness.mcp import configured, forked_entry, named, pooled
from tests.harness.mcp_contents import all_results
from tests.harness.strict_agent import find_spec
from tests.harness.strict_providers import STRICT, Reply, StrictProvider

THREAD: Any = {"configurable": {"thread_id": "t"}}
OFTEN = ("anthropic", "mistral", "openai")
PROVIDERS = [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in STRICT]
AT_ONCE = 8


@asynccontextmanager
async def agent_of(name: str, tools: Sequence[Any] = ()) -> AsyncIterator[tuple[StrictProvider, Any]]:
    """A provider, and an agent with its model and these tools."""
    provider = STRICT[name]()
    async with shared_client(), provider.serve() as url:
        spec = await find_spec(name, url)
        box = SandboxMiddleware(provider=MemorySandboxProvider(), tools=[])
        yield (
            provider,
            create_agent_graph(
                await asyncio.to_thread(build_model, spec),
                list(tools),
                features=RuntimeFeatures(sandbox=box, vision=spec.supports_vision, loop_detection=False),
                extra_middleware=[
                    ModelCalls(model_name=spec.name),
                    *capability_middleware(spec, strict=False),
                ],
                checkpointer=InMemorySaver(),
            ),
        )


@pytest.mark.parametrize("name", PROVIDERS)
async def test_no_result_breaks_a_thread(name: str) -> None:
    kinds = list(all_results())
    turns = [kinds[at : at + AT_ONCE] for at in range(0, len(kinds), AT_ONCE)]
    async with pooled() as pool:
        tools = named(await pool.load_tools(configured(all=forked_entry("mcp_contents"))))
        async with agent_of(name, list(tools.values())) as (provider, graph):
            for turn in turns:
                calls = tuple(("all_give", {"kind": kind}) for kind in turn)
                provider.reply(Reply(calls=calls), Reply(text="done"))
                values = await graph.ainvoke({"messages": [HumanMessage("go")]}, THREAD)
                assert values["messages"][-1].text == "done"
            provider.reply(Reply(text="still here"))
            values = await graph.ainvoke({"messages": [HumanMessage("and now?")]}, THREAD)
    assert values["messages"][-1].text == "still here"
    assert sum(isinstance(message, ToolMessage) for message in values["messages"]) == len(kinds)
    assert provider.rejections == []
    assert provider.is_done


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_thread_that_a_result_broke_earlier_answers(name: str) -> None:
    """Its results are as earlier versions stored them."""
    async with agent_of(name) as (provider, graph):
        history: list[Any] = [HumanMessage("go")]
        for number, content in enumerate(OLD):
            call = {"name": "all_give", "args": {}, "id": f"call{number:05d}"}
            history += [AIMessage("", tool_calls=[call]), ToolMessage(content, tool_call_id=call["id"])]
        await graph.aupdate_state(THREAD, {"messages": history}, as_node="model")
        provider.reply(Reply(text="repaired"))
        values = await graph.ainvoke({"messages": [HumanMessage("and now?")]}, THREAD)
    assert values["messages"][-1].text == "repaired"
    assert provider.rejections == []
