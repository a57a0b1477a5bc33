"""Every provider that a key enables holds a conversation, against servers as strict as the real ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from openai import APIStatusError

from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.mcp.tool import usable_schema
from agent.models.calls import ModelCalls
from agent.models.capabilities import capability_middleware
from agent.models.failure_texts import cut_off_note
from agent.models.http import shared_client
from agent.models.providers import OPENAI_CLASS
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from tests.harness.strict_agent import CALLS, PLAIN_CLASS, find_spec, weather
from tests.harness.strict_providers import STRICT, Reply, StrictProvider
from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.responses import StrictResponses

THREAD: Any = {"configurable": {"thread_id": "t"}}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


async def build_graph(spec: ModelSpec, saver: InMemorySaver, **features: Any) -> Any:
    """The built-in chain, as the lead agent has it; create_agent names the answers after the agent."""
    return create_agent_graph(
        await asyncio.to_thread(build_model, spec),
        [weather],
        system_prompt="Be brief.",
        features=RuntimeFeatures(sandbox=False, **features),
        extra_middleware=[ModelCalls(model_name=spec.name), *capability_middleware(spec, strict=False)],
        checkpointer=saver,
        name="lead_agent",
    )


async def say(graph: Any, *content: Any, thread: str = "t") -> Any:
    """Send a message and return the last one of the thread."""
    message = HumanMessage(content[0] if len(content) == 1 else list(content))
    config: Any = {"configurable": {"thread_id": thread}}
    parts = graph.astream({"messages": [message]}, config, stream_mode="values")
    values = [part async for part in parts]
    return values[-1]["messages"][-1]


@pytest.fixture(params=STRICT)
async def served(request: pytest.FixtureRequest) -> AsyncIterator[tuple[StrictProvider, ModelSpec]]:
    provider = STRICT[request.param]()
    async with shared_client(), provider.serve() as url:
        yield provider, await find_spec(request.param, url)


async def test_three_turns_with_parallel_calls_an_image_and_a_stop(
    served: tuple[StrictProvider, ModelSpec],
) -> None:
    provider, spec = served
    graph = await build_graph(spec, InMemorySaver())
    provider.reply(Reply(text="Let me see.", calls=CALLS), Reply(calls=CALLS[:1]), Reply(text="It rains."))
    assert (await say(graph, "The weather in Oslo and Rome?")).text == "It rains."
    provider.reply(Reply(text="A red dot."))
    picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    assert (await say(graph, {"type": "text", "text": "What is this?"}, picture)).text == "A red dot."
    provider.reply(Reply(text="This answer never ends", endless=True))
    await stop_after_first_word(graph, "Tell me a story.")
    provider.reply(Reply(calls=CALLS), Reply(text="Still rain."))
    assert (await say(graph, "And the weather now?")).text == "Still rain."
    assert provider.rejections == []
    assert provider.is_done
    assert provider.stopped == 1
    assert len(provider.requests) == 7


async def stop_after_first_word(graph: Any, text: str) -> None:
    heard = asyncio.Event()

    async def listen() -> None:
        async for part, _ in graph.astream(
            {"messages": [HumanMessage(text)]}, THREAD, stream_mode="messages"
        ):
            if isinstance(part, AIMessageChunk) and part.text:
                heard.set()

    running = asyncio.create_task(listen())
    await asyncio.wait_for(heard.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_the_image_reaches_models_with_vision(served: tuple[StrictProvider, ModelSpec]) -> None:
    provider, spec = served
    graph = await build_graph(spec, InMemorySaver())
    provider.reply(Reply(text="A red dot."))
    await say(
        graph,
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
    )
    assert (PIXEL in json.dumps(provider.requests)) is spec.supports_vision


async def test_calls_and_usage_arrive_whole(served: tuple[StrictProvider, ModelSpec]) -> None:
    provider, spec = served
    saver = InMemorySaver()
    graph = await build_graph(spec, saver)
    provider.reply(Reply(calls=CALLS), Reply(text="It rains."))
    last = await say(graph, "The weather?")
    said = (await graph.aget_state(THREAD)).values["messages"]
    assert [message.type for message in said] == ["human", "ai", "tool", "tool", "ai"]
    assert [(one["name"], one["args"]) for one in said[1].tool_calls] == list(CALLS)
    assert [message.content for message in said[2:4]] == ["rain in Oslo", "rain in Rome"]
    assert last.usage_metadata["total_tokens"] == 12


@pytest.mark.guard(
    "images in results follow in a message of their own",
    "agent/models/wire_messages.py",
    '            tidy.append({"role": "tool", "tool_call_id": wire["tool_call_id"], "content": text})',
    "            tidy.append(wire)",
    against="OpenAI",
    case="openai",
)
async def test_a_thread_with_content_of_anthropic_and_openai_is_continued(
    served: tuple[StrictProvider, ModelSpec],
) -> None:
    provider, spec = served
    graph = await build_graph(spec, InMemorySaver())
    remember_signatures(provider)
    provider.reply(Reply(calls=CALLS), Reply(text="Still rain."))
    values = await graph.ainvoke({"messages": make_history()}, THREAD)
    assert values["messages"][-1].text == "Still rain."
    assert provider.rejections == []
    assert "Let me see." in json.dumps(provider.requests[0])


def remember_signatures(provider: StrictProvider) -> None:
    """Have Anthropic and OpenAI know what they gave in that thread."""
    if isinstance(provider, StrictAnthropic):
        provider.signatures.add("c2ln")
    if isinstance(provider, StrictResponses):
        provider.follows["rs_1"] = "msg_1"


@pytest.mark.parametrize("name", ["anthropic", "responses"])
async def test_a_thread_that_its_provider_rejects_goes_on_without_its_reasoning(name: str) -> None:
    """Signatures of another account, and items that are no longer stored."""
    provider = STRICT[name]()
    async with shared_client(), provider.serve() as url:
        graph = await build_graph(await find_spec(name, url), InMemorySaver())
        provider.reply(Reply(calls=CALLS), Reply(text="Still rain."))
        values = await graph.ainvoke({"messages": make_history()}, THREAD)
        assert values["messages"][-1].text == "Still rain."
        provider.reply(Reply(calls=CALLS), Reply(text="No change."))
        assert (await say(graph, "And now?")).text == "No change."
    assert len(provider.rejections) == 1, "what was rejected is not sent again"
    assert "Let me see." in json.dumps(provider.requests[-1])
    if name == "responses":
        assert sum(one.get("type") == "reasoning" for one in provider.requests[-1]["input"]) == 3


async def test_a_thread_goes_on_after_an_image_that_its_provider_rejects() -> None:
    provider = STRICT["openai"]()
    bitmap = {"type": "image", "base64": PIXEL, "mime_type": "image/bmp"}
    async with shared_client(), provider.serve() as url:
        graph = await build_graph(await find_spec("openai", url), InMemorySaver())
        with pytest.raises(ModelCallFailed) as caught:
            await say(graph, {"type": "text", "text": "What is this?"}, bitmap)
        assert caught.value.category == "invalid_request"
        provider.reply(Reply(text="I can't see it."))
        assert (await say(graph, "And now?")).text == "I can't see it."
    assert len(provider.rejections) == 2


def make_history() -> list[Any]:
    """A thread in which models of Anthropic and OpenAI answered."""
    thinking = {"type": "thinking", "thinking": "Oslo.", "signature": "c2ln", "index": 0}
    call = {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {}, "index": 2}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    text = {"type": "text", "text": "Rain.", "annotations": [], "id": "msg_1"}
    return [
        HumanMessage("The weather?", name="Ann"),
        AIMessage(
            [thinking, {"type": "text", "text": "Let me see.", "index": 1}, call],
            tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "toolu_01"}],
            name="lead_agent",
            response_metadata={"model_provider": "anthropic"},
        ),
        ToolMessage([{"type": "text", "text": "rain"}, picture_block()], tool_call_id="toolu_01"),
        AIMessage([reasoning, text], name="lead_agent", response_metadata={"model_provider": "openai"}),
        HumanMessage([{"type": "text", "text": "And now?"}]),
    ]


def picture_block() -> dict[str, str]:
    return {"type": "image", "base64": PIXEL, "mime_type": "image/png"}


async def test_an_answer_cut_off_at_the_limit_says_so_and_is_continued(
    served: tuple[StrictProvider, ModelSpec],
) -> None:
    provider, spec = served
    graph = await build_graph(spec, InMemorySaver())
    provider.reply(Reply(text="Once upon a", finish="length"), Reply(text="time there was a bot."))
    assert (await say(graph, "Tell me a story.")).text == f"Once upon a\n\n{cut_off_note('en')}"
    assert (await say(graph, "Continue")).text == "time there was a bot."
    assert "Once upon a" in json.dumps(provider.requests[1])
    provider.reply(Reply(finish="length"), Reply(text="Yes."))
    with pytest.raises(ModelCallFailed) as caught:
        await say(graph, "Think hard.")
    assert caught.value.category == "length"
    assert (await say(graph, "Is it so?")).text == "Yes."
    assert provider.is_done


@pytest.mark.guard(
    "Ollama gets the limit that it knows",
    "agent/models/compatible_chat.py",
    '            payload[self.limit] = payload.pop("max_completion_tokens")',
    "            pass",
    against="Ollama",
)
@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
async def test_the_limit_of_an_answer_has_the_name_that_the_provider_knows(
    served: tuple[StrictProvider, ModelSpec], limit: str
) -> None:
    provider, spec = served
    settings = {**spec.settings, ("max_tokens" if provider.name == "anthropic" else limit): 50}
    provider.reply(Reply(text="Yes."))
    model = await asyncio.to_thread(build_model, replace(spec, settings=settings))
    assert (await model.ainvoke("Is it so?")).text == "Yes."
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    assert [provider.requests[0][one] for one in names if one in provider.requests[0]] == [50]


async def test_an_answer_in_one_body_is_continued(served: tuple[StrictProvider, ModelSpec]) -> None:
    provider, spec = served
    model = (await asyncio.to_thread(build_model, spec)).bind_tools([weather])
    provider.reply(Reply(calls=CALLS), Reply(text="It rains."))
    first = await model.ainvoke("The weather?")
    results = [ToolMessage("rain", tool_call_id=one["id"]) for one in first.tool_calls]
    assert (await model.ainvoke([HumanMessage("The weather?"), first, *results])).text == "It rains."
    assert provider.rejections == []


@pytest.mark.guard(
    "the properties of a schema are objects",
    "agent/core/tool_schemas.py",
    " else schema if isinstance(schema, dict) else {}\n",
    " else schema\n",
    against="Ollama",
    case="ollama",
)
@pytest.mark.guard(
    "arrays in schemas have items",
    "agent/core/tool_schemas.py",
    '        tidy.setdefault("items", {})',
    "        pass",
    against="OpenAI",
    case="openai",
)
@pytest.mark.guard(
    "the schemas of tools are reduced for responses too",
    "agent/core/tool_schemas.py",
    '    return _tidy_function(tool) if tool.get("type") == "function" else dict(tool)',
    "    return dict(tool)",
    against="OpenAI",
    case="responses",
)
@pytest.mark.guard(
    "the schemas of MCP tools are of draft 2020-12",
    "agent/mcp/tool.py",
    "    mended = mender.mend(usable, followed)\n",
    "    mended = usable\n",
    against="Anthropic",
    case="anthropic",
)
async def test_the_schemas_of_tools_are_accepted(served: tuple[StrictProvider, ModelSpec]) -> None:
    """As MCP servers write them: with the address of a draft, limits of draft 4, without properties."""
    provider, spec = served
    number = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    draft = "http://json-schema.org/draft-04/schema#"
    paged = {"$schema": draft, "type": "object", "properties": {"page": number}, "required": ["page"]}
    loose = {"type": "object", "properties": {"value": True, "tags": {"type": "array"}}}
    tools = [
        {
            "name": name,
            "description": "A tool.",
            "parameters": schema if spec.name != "anthropic" else usable_schema(schema),
        }
        for name, schema in (("read", paged), ("graph", {"type": "object", "required": []}), ("any", loose))
    ]
    model = (await asyncio.to_thread(build_model, spec)).bind_tools(
        [{"type": "function", "function": one} for one in tools]
    )
    provider.reply(Reply(text="Yes."))
    assert (await model.ainvoke("Is it so?")).text == "Yes."
    assert provider.rejections == []


@pytest.mark.guard(
    "calls are joined to the answer right before them",
    "agent/models/compatible_chat.py",
    "        return join_answers(wires)",
    "        return wires",
    against="Gemini",
    case="gemini",
)
async def test_calls_right_after_an_answer_are_accepted(served: tuple[StrictProvider, ModelSpec]) -> None:
    """As when the agent goes on by itself after an answer."""
    provider, spec = served
    model = (await asyncio.to_thread(build_model, spec)).bind_tools([weather])
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "call_1"}
    said = [HumanMessage("The weather?"), AIMessage("Moment."), AIMessage("", tool_calls=[call])]
    provider.reply(Reply(text="It rains."))
    assert (await model.ainvoke([*said, ToolMessage("rain", tool_call_id="call_1")])).text == "It rains."
    assert "Moment." in json.dumps(provider.requests)


@pytest.mark.guard(
    "a server at another address gets tidy messages",
    "agent/models/providers.py",
    '.hostname or "", _GATEWAY_CHAT)',
    '.hostname or "", spec.use)',
    against="other servers",
)
async def test_a_gateway_that_is_as_strict_as_groq_holds_a_conversation() -> None:
    """A server at an unknown address, which the configuration gives OpenAI's class."""
    provider = STRICT["groq"]()
    async with shared_client(), provider.serve() as url:
        spec = await find_spec("groq", url, use=OPENAI_CLASS)
        graph = await build_graph(
            replace(spec, settings={**spec.settings, "stream_usage": False}), InMemorySaver()
        )
        provider.reply(Reply(calls=CALLS), Reply(text="It rains."), Reply(text="Still rain."))
        assert (await say(graph, "The weather?")).text == "It rains."
        assert (await say(graph, "And now?")).text == "Still rain."
    assert provider.is_done


@pytest.mark.guard(
    "a forced call turns thinking off",
    "agent/models/compatible_chat.py",
    '        if payload.get("tool_choice") not in (None, "auto", "none"):',
    "        if False:",
    against="DeepSeek",
)
async def test_a_forced_call_turns_the_thinking_of_deepseek_off() -> None:
    provider = STRICT["deepseek"]()
    async with shared_client(), provider.serve() as url:
        model = await asyncio.to_thread(build_model, await find_spec("deepseek", url))
        provider.reply(Reply(calls=CALLS[:1]))
        said = await model.bind_tools([weather], tool_choice="any").ainvoke("The weather?")
    assert said.tool_calls[0]["args"] == {"city": "Oslo"}
    assert provider.requests[0]["thinking"] == {"type": "disabled"}


async def test_signatures_and_reasoning_come_back_as_they_were() -> None:
    for name, key in (("gemini", "thought_signature"), ("deepseek", "reasoning_content")):
        provider = STRICT[name]()
        async with shared_client(), provider.serve() as url:
            graph = await build_graph(await find_spec(name, url), InMemorySaver())
            provider.reply(Reply(calls=CALLS), Reply(text="It rains."))
            await say(graph, "The weather?")
        expected = "sig-function-call-1" if name == "gemini" else "The person asks about weather."
        assert f'"{key}": "{expected}' in json.dumps(provider.requests[-1])


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("gemini", "missing a thought_signature"),
        ("deepseek", "reasoning_content in the thinking mode must be passed back"),
        ("mistral", "assistant.name"),
        ("groq", "property 'name' is unsupported"),
        ("openrouter", "missing a thought_signature"),
    ],
)
async def test_the_class_for_openai_holds_no_conversation(name: str, rule: str) -> None:
    """With what was used before, the second request of a conversation is rejected."""
    provider = STRICT[name]()
    provider.reply(Reply(calls=CALLS), Reply(text="It rains."), Reply(text="Still rain."))
    async with shared_client(), provider.serve() as url:
        spec = await find_spec(name, url, use=PLAIN_CLASS)
        if name == "groq":
            spec = replace(spec, settings={**spec.settings, "stream_usage": False})
        graph = create_agent(await asyncio.to_thread(build_model, spec), [weather], name="lead_agent")
        with pytest.raises(APIStatusError):
            await say(graph, "The weather?")
    assert rule in provider.rejections[0]
