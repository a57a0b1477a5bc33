"""Messages for strict providers, and which class an entry of the configuration gets."""

from __future__ import annotations

import asyncio
import string
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

from agent.models.capabilities import OMITTED_IMAGE as CAPABILITY_NOTE
from agent.models.compatible_chat import (
    CompatibleChat,
    DeepSeekChat,
    GatewayChat,
    GeminiChat,
    GroqChat,
    MistralChat,
    OpenAIChat,
    OpenRouterChat,
    join_fragments,
    shorten_id,
)
from agent.models.portable_messages import to_portable
from agent.models.providers import OPENAI_CLASS, PROVIDERS, find_class
from agent.models.resolve import build_model, load_model_class
from agent.models.spec import ModelSpec
from agent.models.wire_messages import OMITTED_FILE, OMITTED_IMAGE, TOOL_IMAGES, tidy_messages

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low", "x": 1}}


def call(name: str = "f", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def test_only_published_fields_remain() -> None:
    told = [
        {"role": "developer", "content": [{"type": "text", "text": "s"}], "name": "n"},
        {"role": "user", "content": "q", "name": "Ann"},
        {"role": "assistant", "content": "a", "name": "lead", "tool_calls": [call(index=0)], "audio": {}},
        {"role": "tool", "content": "r", "tool_call_id": "c1", "status": "error"},
    ]
    assert tidy_messages(told, images=True) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a", "tool_calls": [call()]},
        {"role": "tool", "content": "r", "tool_call_id": "c1"},
    ]


def test_images_are_shown_or_named() -> None:
    asked = [{"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE, {"type": "file"}]}]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}
    file = {"type": "text", "text": OMITTED_FILE}
    shown = [{"type": "text", "text": "see"}, image, file]
    assert tidy_messages(asked, images=True) == [{"role": "user", "content": shown}]
    text = f"see\n{OMITTED_IMAGE}\n{OMITTED_FILE}"
    assert tidy_messages(asked, images=False) == [{"role": "user", "content": text}]


@pytest.mark.parametrize("others", [[], [{"role": "assistant", "content": "ok"}]])
def test_images_of_parallel_results_follow_the_last_of_them(others: list[dict[str, Any]]) -> None:
    results = [{"role": "tool", "tool_call_id": one, "content": ["r", PICTURE]} for one in ("c1", "c2")]
    tidy = tidy_messages([*results, *others], images=True)
    assert [message["role"] for message in tidy] == ["tool", "tool", "user", *(["assistant"] * len(others))]
    assert [message["content"] for message in tidy[:2]] == ["r", "r"]
    assert [part["type"] for part in tidy[2]["content"]] == ["text", "image_url", "image_url"]
    assert tidy[2]["content"][0]["text"] == TOOL_IMAGES


def test_an_empty_answer_is_dropped_and_a_call_is_made_readable() -> None:
    said = [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": [{"type": "thinking"}]},
        {"role": "assistant", "content": "", "tool_calls": [call("read file!", '{"a": ')]},
        {"role": "assistant", "content": None, "tool_calls": [call("", "[1]")]},
    ]
    tidy = tidy_messages(said, images=True)
    assert [one["tool_calls"][0]["function"] for one in tidy] == [
        {"name": "read_file_", "arguments": "{}"},
        {"name": "unknown", "arguments": "{}"},
    ]
    assert [one["content"] for one in tidy] == [None, None]


@given(st.text())
def test_ids_for_mistral_are_valid_and_always_the_same(one: str) -> None:
    short = shorten_id(one)
    assert len(short) == 9
    assert set(short) <= set(string.ascii_letters + string.digits)
    assert shorten_id(short) == short == shorten_id(one)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("openai", OpenAIChat),
        ("gemini", GeminiChat),
        ("deepseek", DeepSeekChat),
        ("mistral", MistralChat),
        ("groq", GroqChat),
        ("openrouter", OpenRouterChat),
    ],
)
def test_an_older_entry_gets_the_class_of_its_provider(name: str, chosen: type[CompatibleChat]) -> None:
    provider = next(one for one in PROVIDERS if one.name == name)
    settings = {"base_url": provider.base_url, "api_key": "k"} if provider.base_url else {"api_key": "k"}
    found = provider.find_model({provider.variables[0]: "k"})
    assert found is not None
    assert load_model_class(find_class(found)) is chosen
    spec = ModelSpec(name="m", use=OPENAI_CLASS, model="m", display_name="M", settings=settings)
    assert type(build_model(spec)).__bases__[-1] is chosen


@pytest.mark.parametrize(
    ("use", "address", "chosen"),
    [
        (OPENAI_CLASS, "http://127.0.0.1:8000/v1", "agent.models.compatible_chat:GatewayChat"),
        (OPENAI_CLASS, "https://api.openai.com/v1", "agent.models.compatible_chat:OpenAIChat"),
        (OPENAI_CLASS, None, "agent.models.compatible_chat:OpenAIChat"),
        ("x:Y", "https://api.groq.com/openai/v1", "x:Y"),
    ],
)
def test_other_addresses_get_the_class_for_openai_and_other_classes_stay(
    use: str, address: str | None, chosen: str
) -> None:
    spec = ModelSpec(name="m", use=use, model="m", display_name="M", settings={"base_url": address})
    assert find_class(spec) == chosen


@pytest.mark.parametrize("variable", ["OPENAI_API_BASE", "OPENAI_BASE_URL"])
def test_the_address_in_the_environment_counts(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:8000/v1")
    spec = ModelSpec(name="m", use=OPENAI_CLASS, model="m", display_name="M", settings={})
    assert find_class(spec) == "agent.models.compatible_chat:GatewayChat"


def test_servers_at_other_addresses_get_no_cache_key() -> None:
    """They reject it: anomalyco/opencode issue 4386, sipeed/picoclaw issue 1019."""
    settings = {"base_url": "http://127.0.0.1:8000/v1", "api_key": "k"}
    spec = ModelSpec(name="m", use=OPENAI_CLASS, model="m", display_name="M", settings=settings)
    model = build_model(spec)
    assert isinstance(model, GatewayChat)
    assert (model.takes_cache_key, OpenAIChat.takes_cache_key) == (False, True)


@pytest.mark.guard(
    "a stop that meets a piece of the answer is not lost",
    "agent/models/compatible_chat.py",
    "                if task is not None and task.cancelling():",
    "                if False:",
    against="every provider",
)
async def test_a_stop_that_meets_a_chunk_ends_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with asyncio.wait_for in Python 3.11, which returns the chunk and drops the cancellation."""
    told: list[int] = []

    async def stream(*_: object, **__: object) -> AsyncIterator[ChatGenerationChunk]:
        for number in range(50):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)
            told.append(number)
            yield ChatGenerationChunk(message=AIMessageChunk(f"{number} "))

    monkeypatch.setattr(ChatOpenAI, "_astream", stream)
    settings = {"base_url": "http://127.0.0.1:9/v1", "api_key": "k"}
    spec = ModelSpec(name="m", use=OPENAI_CLASS, model="m", display_name="M", settings=settings)
    model = await asyncio.to_thread(build_model, spec)

    async def listen() -> None:
        async for _ in model.astream("Tell me a story."):
            heard.set()

    heard = asyncio.Event()
    running = asyncio.create_task(listen())
    await heard.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(told) < 5


def test_fragments_of_reasoning_are_joined_by_kind_and_index() -> None:
    thought = {"type": "reasoning.text", "index": 0, "format": "f"}
    fragments = [
        {**thought, "text": "They ", "signature": None},
        {**thought, "text": "ask."},
        {"type": "reasoning.encrypted", "index": 0, "data": "ab"},
        {**thought, "text": None, "signature": "s"},
        {"type": "reasoning.summary", "summary": "x"},
        {"type": "reasoning.summary", "summary": "y"},
    ]
    assert join_fragments(fragments) == [
        {**thought, "text": "They ask.", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 0, "data": "ab"},
        {"type": "reasoning.summary", "summary": "x"},
        {"type": "reasoning.summary", "summary": "y"},
    ]


def test_files_are_kept_where_the_api_has_them() -> None:
    file = {"type": "file", "file": {"file_id": "f"}}
    asked = [{"role": "user", "content": [file]}]
    assert tidy_messages(asked, images=True, files=True) == asked
    assert tidy_messages(asked, images=True) == [{"role": "user", "content": OMITTED_FILE}]


def test_a_portable_conversation_has_texts_and_calls_only() -> None:
    call = {"name": "f", "args": {}, "id": "c1", "type": "tool_call"}
    image = {"type": "image", "base64": "AA", "mime_type": "image/png"}
    blocks: list[Any] = [{"type": "thinking", "thinking": "x"}, {"type": "text", "text": "Moment."}]
    told = [
        HumanMessage([{"type": "text", "text": "see"}, image]),
        AIMessage(blocks, id="a", tool_calls=[call], additional_kwargs={"reasoning_content": "x"}),
        ToolMessage([{"type": "text", "text": "r"}, image], tool_call_id="c1"),
        HumanMessage([{"type": "text", "text": "and this"}, image]),
    ]
    portable = to_portable(told)
    assert portable is not None
    assert portable[0].text == f"see{CAPABILITY_NOTE}"
    assert (portable[1].id, portable[1].content, portable[1].additional_kwargs) == ("a", "Moment.", {})
    assert portable[1].tool_calls == [call]
    assert portable[2].content == f"r{CAPABILITY_NOTE}"
    assert portable[3] is told[3]
    assert to_portable(portable) is None


def test_a_plain_conversation_is_portable_already() -> None:
    plain = [HumanMessage("q"), AIMessage("a", additional_kwargs={"refusal": None}), HumanMessage("q")]
    assert to_portable(plain) is None
    assert to_portable([]) is None
