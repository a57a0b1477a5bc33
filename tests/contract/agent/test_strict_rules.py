"""The strict providers are strict: for each rule, a request that breaks it is rejected."""

from __future__ import annotations

import base64
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.harness.mcp_contents import png
from tests.harness.strict_providers import STRICT
from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.chat import ChatProvider
from tests.harness.strict_providers.openrouter import StrictOpenRouter
from tests.harness.strict_providers.responses import StrictResponses
from tests.harness.strict_providers.server import RejectedRequest, StrictProvider

Body = dict[str, Any]
PIXEL = base64.b64encode(png(1, 1)).decode()
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
SIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def call(name: str, one: str) -> Body:
    made: Body = {
        "id": one,
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
    }
    return {**made, "extra_content": SIGNED} if name == "gemini" else made


def request(name: str) -> Body:
    """A request in the middle of a turn with calls, which the provider accepts."""
    if name == "responses":
        return make_responses()
    if name == "anthropic":
        return make_messages()
    thought = {"reasoning_content": "Two cities."} if name == "deepseek" else {}
    result: Body = {"name": "weather"} if name == "gemini" else {}
    calls = [call(name, one) for one in ("aaaaaaaa1", "aaaaaaaa2")]
    messages: list[Body] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "The weather in Oslo and Rome?"},
        {"role": "assistant", "content": None, "tool_calls": calls, **thought},
        {"role": "tool", "tool_call_id": "aaaaaaaa1", "content": "rain", **result},
        {"role": "tool", "tool_call_id": "aaaaaaaa2", "content": "sun", **result},
    ]
    model = "deepseek-v4-flash" if name == "deepseek" else "some-model"
    tool = {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    }
    return {
        "model": model,
        "messages": messages,
        "stream": True,
        "tools": [{"type": "function", "function": tool}],
    }


def make_responses() -> Body:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}"}
    said = {"type": "output_text", "text": "Hello.", "annotations": []}
    items: list[Body] = [
        {"type": "message", "role": "user", "content": "Hello"},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [said]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        call,
        {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
    ]
    return {"model": "some-model", "input": items, "stream": True}


def make_messages() -> Body:
    thinking = {"type": "thinking", "thinking": "Oslo.", "signature": "sig1"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}
    messages: list[Body] = [
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Quick!"}]},
    ]
    thought = {"type": "enabled", "budget_tokens": 1024}
    return {"model": "some-model", "max_tokens": 4096, "messages": messages, "thinking": thought}


def item(at: int, **fields: Any) -> Callable[[Body], object]:
    return lambda body: body["input"][at].update(fields)


def block(at: int, place: int, **fields: Any) -> Callable[[Body], object]:
    def change(body: Body) -> None:
        old = body["messages"][at]["content"][place]
        body["messages"][at]["content"][place] = fields if "type" in fields else {**old, **fields}

    return change


def message(at: int, **fields: Any) -> Callable[[Body], object]:
    return lambda body: body["messages"][at].update(fields)


def top(**fields: Any) -> Callable[[Body], object]:
    return lambda body: body.update(fields)


def without(at: int, *keys: str) -> Callable[[Body], object]:
    def change(body: Body) -> None:
        for key in keys:
            body["messages"][at].pop(key)

    return change


def drop(at: int) -> Callable[[Body], object]:
    return lambda body: body["messages"].pop(at)


def rename(old: str, new: str) -> Callable[[Body], object]:
    def change(body: Body) -> None:
        for one in body["messages"]:
            for made in one.get("tool_calls") or ():
                made["id"] = new if made["id"] == old else made["id"]
            if one.get("tool_call_id") == old:
                one["tool_call_id"] = new

    return change


def in_call(at: int, **fields: Any) -> Callable[[Body], object]:
    return lambda body: body["messages"][4]["tool_calls"][at].update(fields)


def in_tool(parameters: Body) -> Callable[[Body], object]:
    return lambda body: body["tools"][0]["function"].update(parameters=parameters)


def add(*messages: Body) -> Callable[[Body], object]:
    return lambda body: body["messages"].extend(messages)


def unsign(body: Body) -> None:
    body["messages"][4]["tool_calls"][0].pop("extra_content")


FUNCTION = {"name": "weather", "arguments": '{"city": "Os'}
ANYBODY: dict[str, Callable[[Body], object]] = {
    "an unknown parameter": top(made_up=1),
    "an unknown field of an answer": message(2, made_up=1),
    "an unknown part": message(3, content=[{"type": "tool_use", "id": "x"}]),
    "a block with a foreign key": message(3, content=[{"type": "text", "text": "a", "index": 0}]),
    "a picture in an answer": message(2, content=[PICTURE]),
    "a picture in a result": message(5, content=[PICTURE]),
    "a call without a result": drop(6),
    "a result without a call": message(6, tool_call_id="aaaaaaaa9"),
    "arguments that are not JSON": in_call(0, function=FUNCTION),
    "an unknown role": message(1, role="function"),
    "a parameter of the wrong type": top(stream="yes"),
    "a foreign field of a call": in_call(0, index="x"),
}
LENIENT = {
    "openai": {"arguments that are not JSON"},
    "openrouter": {"a picture in an answer", "a picture in a result"},
    "ollama": {
        "a picture in an answer",
        "a picture in a result",
        "a call without a result",
    },
}
"""What the published schema of a provider allows."""
OWN: dict[str, dict[str, tuple[Callable[[Body], object], str]]] = {
    "gemini": {
        "a first call without a signature": (unsign, "missing a thought_signature"),
        "a signature that Gemini never gave": (
            in_call(0, extra_content={"google": {"thought_signature": "forged"}}),
            "Corrupted thought signature",
        ),
        "a result without a name": (without(5, "name"), "has no function name"),
        "the reasoning of DeepSeek": (message(2, reasoning_content="x"), 'Unknown name "reasoning_content"'),
    },
    "deepseek": {
        "a call without its reasoning": (without(4, "reasoning_content"), "must be passed back"),
        "a picture": (message(3, content=[PICTURE]), "Failed to deserialize the JSON body"),
        "a forced choice in thinking mode": (
            top(tool_choice="required"),
            "does not support this tool_choice",
        ),
        "an answer after calls without its reasoning": (
            add({"role": "assistant", "content": "Rain."}, {"role": "user", "content": "Thanks"}),
            "must be passed back",
        ),
        "the limit of OpenAI": (top(max_completion_tokens=9), "max_completion_tokens"),
        "a schema for the answer": (top(response_format={"type": "json_schema"}), "response_format"),
    },
    "mistral": {
        "the name of an answer": (message(2, name="lead_agent"), "messages.2.assistant.name"),
        "an id of OpenAI": (rename("aaaaaaaa1", "call_abcdefghijklmnopqrstuvwx"), "with a length of 9"),
        "two calls with one id": (rename("aaaaaaaa2", "aaaaaaaa1"), "tool call id"),
        "an answer at the end": (
            add({"role": "assistant", "content": "Rain."}),
            "Expected last role User or Tool",
        ),
        "a system message after an answer": (
            lambda body: body["messages"].insert(3, {"role": "system", "content": "x"}),
            "Unexpected role 'system' after role 'assistant'",
        ),
        "a result after a human message": (
            lambda body: body["messages"].insert(
                2, {"role": "tool", "tool_call_id": "aaaaaaaa1", "content": ""}
            ),
            "Unexpected role 'tool' after role 'user'",
        ),
        "the limit of OpenAI": (top(max_completion_tokens=9), "max_completion_tokens"),
        "options of a stream": (top(stream_options={"include_usage": True}), "stream_options"),
        "the seed of OpenAI": (top(seed=1), "seed"),
        "a schema with its dialect": (in_tool({"$schema": "x", "type": "object"}), "Grammar error"),
        "a limit of draft 4": (
            in_tool({"type": "object", "properties": {"n": {"minimum": 0, "exclusiveMinimum": True}}}),
            "Invalid tool schema",
        ),
    },
    "groq": {
        "the name of an answer": (message(2, name="lead_agent"), "property 'name' is unsupported"),
        "the name of a person": (message(1, name="Ann"), "property 'name' is unsupported"),
        "the reasoning of DeepSeek": (
            message(2, reasoning_content="x"),
            "'messages.2' : for 'role:assistant' the following must be satisfied",
        ),
        "a picture for a model without vision": (message(3, content=[PICTURE]), "must be a string"),
        "a schema without properties": (in_tool({"required": ["x"]}), "'properties' is missing"),
        "probabilities": (top(logprobs=True), "'logprobs' is unsupported"),
        "two answers": (top(n=2), "n: "),
    },
    "openai": {
        "the reasoning of DeepSeek": (message(2, reasoning_content="x"), "Unknown parameter"),
        "the signature of Gemini": (in_call(0, extra_content=SIGNED), "Unknown parameter"),
        "an id that is too long": (rename("aaaaaaaa1", "x" * 41), "at most 40 characters"),
        "a call without a result": (drop(6), "did not have response messages: aaaaaaaa2"),
    },
    "openrouter": {
        "reasoning that was changed": (message(4, reasoning_details=[]), "reasoning_details were modified"),
        "reasoning that was left out": (lambda _: None, "missing a thought_signature"),
        "reasoning of an unknown kind": (message(4, reasoning_details=[{"type": "x"}]), "Invalid input"),
    },
    "ollama": {
        "the limit of OpenAI": (top(max_completion_tokens=9), "max_completion_tokens"),
        "a choice of tools": (top(tool_choice="auto"), "tool_choice"),
        "an image by its address": (
            message(3, content=[{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]),
            "image_url",
        ),
        "an answer without anything": (message(2, content=None), "invalid message content type"),
    },
    "responses": {
        "an unknown parameter": (top(stream_options={"include_usage": True}), "Unknown parameter"),
        "the name of a message": (item(0, name="Ann"), "Unknown parameter"),
        "reasoning that was never given": (item(2, id="rs_9"), "Item with id 'rs_9' not found"),
        "a call without its reasoning": (
            lambda body: body["input"].pop(2),
            "was provided without its required 'reasoning' item: 'rs_1'",
        ),
        "two items with one id": (
            lambda body: body["input"].insert(2, body["input"][1]),
            "Duplicate item found with id msg_1",
        ),
        "reasoning without what followed it": (
            lambda body: body["input"].pop(3),
            "without its required following item",
        ),
        "a call without its output": (lambda body: body["input"].pop(4), "No tool output found"),
        "an output without its call": (item(4, call_id="call_9"), "No tool call found"),
        "an id of another provider": (item(3, id="toolu_1"), "id: "),
        "an index of a stream": (item(3, index=0), "Unknown parameter"),
        "a part of chat completions": (item(0, content=[{"type": "text", "text": "x"}]), "Invalid value"),
        "a tool of chat completions": (top(tools=[{"type": "function", "function": {}}]), "tools.0"),
    },
    "anthropic": {
        "an unknown parameter": (top(stream_options={}), "stream_options"),
        "no limit": (lambda body: body.pop("max_tokens"), "max_tokens: Field required"),
        "the name of a message": (message(1, name="lead_agent"), "name: Extra inputs are not permitted"),
        "an answer first": (drop(0), "first message must use the user role"),
        "an answer last": (drop(2), "does not support assistant message prefill"),
        "an empty text": (block(1, 1, type="text", text=" "), "String should match"),
        "an id with other signs": (
            block(1, 1, type="tool_use", id="functions.weather:0", name="weather", input={}),
            "String should match",
        ),
        "a call without its result": (
            message(2, content=[{"type": "text", "text": "Go on"}]),
            "were found without `tool_result` blocks immediately after: toolu_1",
        ),
        "a result without its call": (block(2, 0, type="tool_result", tool_use_id="x"), "immediately after"),
        "an id twice": (
            lambda body: body["messages"].extend(deepcopy(body["messages"][1:])),
            "`tool_use` ids must be unique",
        ),
        "a failure without a text": (block(2, 0, is_error=True, content=""), "content cannot be empty"),
        "a failure with an image": (
            block(
                2,
                0,
                is_error=True,
                content=[
                    {"type": "text", "text": "It failed."},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                    },
                ],
            ),
            "all content must be type `text` if `is_error` is true",
        ),
        "a result after a text": (
            lambda body: body["messages"][2]["content"].reverse(),
            "`tool_result` blocks must come first",
        ),
        "thinking with another signature": (
            block(1, 0, type="thinking", thinking="x", signature="forged"),
            "Invalid `signature`",
        ),
        "a call without thinking": (
            lambda body: body["messages"][1]["content"].pop(0),
            "Expected `thinking`",
        ),
        "an index of a stream": (block(1, 0, index=0), "Extra inputs are not permitted"),
        "an image of an unknown kind": (
            block(2, 1, type="image", source={"type": "base64", "media_type": "image/bmp", "data": "AA"}),
            "media_type",
        ),
    },
}


def make_provider(name: str) -> StrictProvider:
    """A provider that gave what the request repeats."""
    provider = STRICT[name]()
    if isinstance(provider, StrictResponses):
        provider.follows["rs_1"] = "fc_1"
    if isinstance(provider, StrictAnthropic):
        provider.signatures.add("sig1")
    return provider


CHAT = [name for name, provider in STRICT.items() if issubclass(provider, ChatProvider)]


@pytest.mark.parametrize("name", STRICT)
def test_a_request_by_the_rules_is_accepted(name: str) -> None:
    make_provider(name).check(request(name))


@pytest.mark.parametrize("rule", ANYBODY)
@pytest.mark.parametrize("name", CHAT)
def test_what_hardly_any_chat_completions_accept(name: str, rule: str) -> None:
    body = request(name)
    ANYBODY[rule](body)
    if rule in LENIENT.get(name, ()):
        make_provider(name).check(body)
        return
    with pytest.raises(RejectedRequest):
        make_provider(name).check(body)


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name in OWN for rule in OWN[name]])
def test_what_this_provider_rejects(name: str, rule: str) -> None:
    change, text = OWN[name][rule]
    body = request(name)
    change(body)
    provider = make_provider(name)
    if isinstance(provider, StrictOpenRouter):
        provider.details["aaaaaaaa1"] = [{"type": "reasoning.text", "text": "Oslo."}]
    with pytest.raises(RejectedRequest) as caught:
        provider.check(body)
    assert text in str(caught.value)


def test_gemini_does_not_check_the_signatures_of_earlier_turns() -> None:
    body = request("gemini")
    unsign(body)
    add({"role": "user", "content": "And now?"})(body)
    STRICT["gemini"]().check(body)


def test_deepseek_without_thinking_needs_no_reasoning() -> None:
    body = request("deepseek")
    without(4, "reasoning_content")(body)
    top(thinking={"type": "disabled"}, tool_choice="required")(body)
    STRICT["deepseek"]().check(body)
