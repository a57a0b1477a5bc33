"""Building models, naming failures, fitting a conversation into a small window."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core import exceptions as lc
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from pydantic import ConfigDict

from agent.catalog.source import ModelSource
from agent.errors import ModelCallFailed, ModelUnavailable, redact_line
from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls, find_answer_problem, reached_limit
from agent.models.capabilities import MESSAGE_TOKENS, estimate_tokens, fit_messages
from agent.models.errors import describe_error, parse_retry_after
from agent.models.failure_texts import Category
from agent.models.resolve import CHUNK_SECONDS, TIMEOUT_SECONDS, build_model, load_model_class
from agent.models.spec import ModelSpec
from roebot_testing.agent import Script, ScriptedChatModel

OPENAI = "langchain_openai:ChatOpenAI"
ANTHROPIC = "langchain_anthropic:ChatAnthropic"


def spec(use: str = "roebot_testing.agent:ScriptedChatModel", **fields: Any) -> ModelSpec:
    return ModelSpec(**{"name": "m", "use": use, "model": "some-model", "display_name": "M", **fields})


def test_a_model_gets_time_outs_and_no_retries_of_its_own_unless_it_is_told() -> None:
    model: Any = build_model(spec(OPENAI, settings={"api_key": "k"}))
    assert (model.model_name, model.max_retries, model.request_timeout) == (
        "some-model",
        0,
        TIMEOUT_SECONDS,
    )
    assert model.stream_chunk_timeout == CHUNK_SECONDS
    anthropic: Any = build_model(spec(ANTHROPIC, settings={"api_key": "k", "max_retries": 5}))
    assert (anthropic.max_retries, anthropic.default_request_timeout) == (5, TIMEOUT_SECONDS)


def test_other_keys_are_passed_on_and_thinking_lays_its_own_over_them() -> None:
    described = spec(
        OPENAI,
        settings={"api_key": "k", "temperature": 0.5},
        when_thinking_enabled={"temperature": 1.0},
    )
    assert build_model(described).temperature == 0.5  # type: ignore[attr-defined]
    assert build_model(described, thinking=True).temperature == 1.0  # type: ignore[attr-defined]
    assert build_model(described, effort="high").reasoning_effort == "high"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ("langchain_nowhere:Chat", "There is no module langchain_nowhere (use: langchain_nowhere:Chat)."),
        ("pathlib:Path", "pathlib:Path is not a chat model"),
        ("agent.harness.lead_prompt:render_prompt", "is not a chat model"),
    ],
)
def test_a_class_that_can_not_be_used_is_named(use: str, text: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        load_model_class(use)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"api_kee": "k-secret"},
            "has the setting api_kee, which {use} does not support; did you mean api_key?",
        ),
        ({"base_ulr": "http://k-secret"}, "does not support; did you mean base_url?"),
        ({"zzz": "k-secret"}, "does not support; put settings for the provider under model_kwargs."),
    ],
)
def test_settings_that_a_class_does_not_know_are_named_without_their_values(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    for described in (spec(OPENAI, settings=settings), spec(OPENAI, when_thinking_enabled=settings)):
        with pytest.raises(ModelUnavailable) as caught:
            build_model(described)
        assert told.format(use=OPENAI) in str(caught.value)
        assert "k-secret" not in str(caught.value)
    [(key, value)] = settings.items()
    path = tmp_path / "config.yaml"
    path.write_text(f"config_version: 1\nmodels: [{{name: m, use: '{OPENAI}', {key}: '{value}'}}]\n")
    with pytest.raises(ModelUnavailable, match="does not support"):
        ModelSource(path, environ={}, cwd=tmp_path).verify()


class TakesAll(ScriptedChatModel):
    """A class of one's own that takes what it is given."""

    model_config = ConfigDict(extra="allow")


def test_settings_are_known_by_field_alias_argument_or_as_others() -> None:
    build_model(
        spec(OPENAI, settings={"api_key": "k", "openai_api_base": "http://x", "model_kwargs": {"zzz": 1}})
    )
    assert build_model(spec(f"{__name__}:TakesAll", settings={"zzz": 1})).zzz == 1  # type: ignore[attr-defined]


def test_settings_that_a_class_refuses_are_named_without_their_values() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        build_model(spec(OPENAI, settings={"api_key": "k", "temperature": "sk-secret"}))
    assert str(caught.value) == f'The model "m" has settings that {OPENAI} rejects: temperature.'


def test_a_class_that_fails_in_its_own_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match=r"can't be created by .* \(OpenAIError: .*api_key"):
        build_model(spec(OPENAI))


LIMITED = Category.RATE_LIMIT
REQUEST = httpx.Request("POST", "http://model.example/v1/chat/completions")


def http(status: int, body: Any = None, code: str | None = None, **headers: str) -> Exception:
    error = RuntimeError(f"status {status} sk-0123456789abcdef")
    error.status_code = status  # type: ignore[attr-defined]
    error.body = body  # type: ignore[attr-defined]
    error.code = code  # type: ignore[attr-defined]
    error.response = SimpleNamespace(headers=headers)  # type: ignore[attr-defined]
    return error


class APITimeoutError(Exception):
    """Named like the one of a provider's package."""


class ReadError(Exception):
    """A kind of TransportError."""


class TransportError(Exception):
    """Named like the one of an HTTP client."""


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (http(402), Category.QUOTA),
        (http(408), Category.TIMEOUT),
        (http(413), Category.CONTEXT),
        (http(418), Category.INVALID_REQUEST),
        (http(502), Category.OVERLOADED),
        (http(400, code="content_policy_violation"), Category.CONTENT_FILTER),
        (http(400, code="tool_use_failed"), Category.MALFORMED),
        (
            http(400, [{"error": {"message": "API key not valid. Please pass a valid API key."}}]),
            Category.AUTH,
        ),
        (
            http(400, [{"error": {"message": "The input exceeds the maximum number of tokens allowed"}}]),
            Category.CONTEXT,
        ),
        (http(200), Category.UNEXPECTED),
        (lc.ContextOverflowError("x"), Category.CONTEXT),
        (lc.ModelInvalidRequestError("your prompt is too long: 3 tokens"), Category.CONTEXT),
        (lc.ModelInvalidRequestError("no"), Category.INVALID_REQUEST),
        (lc.ModelPermissionDeniedError("no"), Category.PERMISSION),
        (lc.ModelNotFoundError("no"), Category.NOT_FOUND),
        (lc.ModelConnectionError("no"), Category.CONNECTION),
        (json.JSONDecodeError("x", "y", 0), Category.MALFORMED),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "no"), Category.MALFORMED),
        (TimeoutError(), Category.TIMEOUT),
        (ConnectionResetError(), Category.CONNECTION),
        (OSError("no route"), Category.CONNECTION),
        (APITimeoutError(), Category.TIMEOUT),
        (TransportError(), Category.CONNECTION),
        (KeyError("choices"), Category.MALFORMED),
        (TypeError("string indices must be integers, not 'str'"), Category.MALFORMED),
        (TypeError("create() got an unexpected keyword argument 'top_x'"), Category.UNEXPECTED),
        (ValueError("No generations found in stream."), Category.MALFORMED),
        (RuntimeError("x"), Category.UNEXPECTED),
    ],
)
def test_categories(error: Exception, category: Category) -> None:
    found = describe_error(error, model="m")
    assert found.category is category
    assert found.message.startswith('The model "m" failed: ')
    assert "sk-" not in found.message
    assert found.to_error().category == category


def streamed(body: Any) -> Exception:
    """The error that the client of OpenAI raises for an event with an error."""
    message = body.get("message") if isinstance(body, dict) else None
    return openai.APIError(message or "An error occurred during streaming", REQUEST, body=body)


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ({"message": "quota exceeded"}, Category.QUOTA),
        ("quota exceeded", Category.QUOTA),
        ({"message": "x", "type": "insufficient_quota", "code": None}, Category.QUOTA),
        ({"message": "Insufficient Balance", "code": "invalid_request_error"}, Category.QUOTA),
        ({"message": "Insufficient Balance"}, Category.QUOTA),
        ({"message": "账户余额不足", "code": "1113"}, Category.QUOTA),
        ({"message": "x", "code": "Arrearage"}, Category.QUOTA),
        (
            {"message": "You exceeded your current quota", "code": 429, "status": "RESOURCE_EXHAUSTED"},
            LIMITED,
        ),
        ({"message": "Rate limit reached for requests"}, LIMITED),
        ({"message": "x", "code": "rate_limit_exceeded"}, LIMITED),
        ({"message": "x", "type": "overloaded_error"}, Category.OVERLOADED),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            Category.OVERLOADED,
        ),
        ({"message": "Provider returned error", "code": 502}, Category.OVERLOADED),
        ({"message": "x", "code": "502"}, Category.OVERLOADED),
        ({"message": "The server had an error while processing your request"}, Category.OVERLOADED),
        ({"message": "x", "code": "UNAVAILABLE"}, Category.OVERLOADED),
        ({"message": "服务繁忙，请稍后重试"}, Category.OVERLOADED),
        ({"message": "Request timed out"}, Category.TIMEOUT),
        ({"message": "x", "code": "504"}, Category.TIMEOUT),
        ({"message": "Incorrect API key provided: sk-0123456789abcdef"}, Category.AUTH),
        ({"message": "x", "type": "authentication_error"}, Category.AUTH),
        ({"message": "This model's maximum context length is 8192 tokens"}, Category.CONTEXT),
        ({"message": "x", "code": "context_length_exceeded"}, Category.CONTEXT),
        ({"message": "The model `gpt-9` does not exist"}, Category.NOT_FOUND),
        ({"message": "x", "code": "content_filter"}, Category.CONTENT_FILTER),
        ({"message": "maximum context length is 8192 tokens", "code": 400}, Category.CONTEXT),
        ({"message": "bad field", "code": 400}, Category.INVALID_REQUEST),
        ({"message": "bad field", "type": "invalid_request_error"}, Category.INVALID_REQUEST),
        ({"message": "x", "type": "server_error"}, Category.OVERLOADED),
        ({"message": "a new kind of trouble", "code": "E17"}, Category.UNEXPECTED),
        ({}, Category.UNEXPECTED),
    ],
)
def test_errors_that_are_reported_without_a_status(body: Any, category: Category) -> None:
    found = describe_error(streamed(body), model="m")
    assert found.category is category
    assert found.retryable is (
        category in {LIMITED, Category.OVERLOADED, Category.TIMEOUT, Category.UNEXPECTED}
    )
    assert "sk-" not in found.message
    whole = describe_error(ValueError(body), model="m").category
    assert whole is category or not isinstance(body, dict) or not body


def test_details_that_help_are_passed_on_without_keys() -> None:
    body = {"message": "Unknown parameter: 'foo' for key sk-live-0123456789abcdef\nsee docs"}
    assert describe_error(http(400, body), model="m").message.endswith(
        "rejected the request (Unknown parameter: 'foo' for key … see docs)."
    )
    limited = describe_error(http(429, **{"retry-after": "20"}), model="m").message
    assert limited.endswith("(retry after 20 s).")
    date, until = "Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:30 GMT"
    dated = describe_error(http(429, **{"retry-after": until, "date": date}), model="m")
    assert dated.message.endswith("(retry after 30 s).")
    assert (dated.retry_after, dated.to_error().retry_after) == (30.0, 30.0)
    alone = describe_error(http(429, **{"retry-after": until}), model="m").message
    assert alone.endswith("its provider's rate limit has been reached; try again later.")
    assert describe_error(http(404, {"message": 3}), model="m").message.endswith("Check the model's name.")


@pytest.mark.parametrize(
    "body",
    [
        [{"error": {"code": 400, "message": "Unknown name foo", "status": "INVALID_ARGUMENT"}}],
        {"object": "error", "message": "Unknown name foo"},
        {"message": {"detail": [{"msg": "Unknown name foo"}]}},
    ],
)
def test_details_are_found_in_the_bodies_of_other_providers(body: Any) -> None:
    assert "Unknown name foo" in describe_error(http(400, body), model="m").message
    assert describe_error(http(400, []), model="m").message.endswith("rejected the request.")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon", "date": "now"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:09 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
    ],
)
def test_what_a_provider_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


def test_a_wait_is_told_rounded_up() -> None:
    limited = describe_error(http(429, **{"retry-after": "6.2"}), model="m").message
    assert limited.endswith("(retry after 7 s).")
    assert describe_error(http(429, **{"retry-after-ms": "250"}), model="m").message.endswith(
        "(retry after 0.25 s)."
    )


def test_our_own_errors_keep_their_text() -> None:
    given = ModelCallFailed("as it is", category="empty", retryable=True, retry_after=3.0)
    assert (describe_error(given, model="m").message, describe_error(given, model="m").retry_after) == (
        "as it is",
        3.0,
    )
    missing = describe_error(ModelUnavailable("get it so"), model="m")
    assert (missing.category, missing.message, missing.retryable) == (
        Category.UNAVAILABLE,
        "get it so",
        False,
    )


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abc123def456",
        "gsk_0123456789abcdefghijkl",
        "AIzaSyA0123456789abcdefghijklmnop",
        "0123456789abcdef0123456789",
    ],
)
def test_scrubbing(secret: str) -> None:
    assert secret not in redact_line(f"bad key {secret} given")
    assert len(redact_line("word " * 200)) == 160


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (AIMessage("fine"), None),
        (AIMessage(" "), Category.EMPTY),
        (AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]), None),
        (AIMessage("half", response_metadata={"model_provider": "openai"}), Category.TRUNCATED),
        (AIMessage("x", response_metadata={"model_provider": "openai", "status": "completed"}), None),
        (AIMessage("x", response_metadata={"model_provider": "anthropic", "stop_reason": "end_turn"}), None),
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), Category.CONTENT_FILTER),
        (AIMessage("", response_metadata={"finish_reason": "length"}), Category.LENGTH),
        (AIMessage("", response_metadata={"stop_reason": "max_tokens"}), Category.LENGTH),
        (AIMessage("half", response_metadata={"finish_reason": "length"}), None),
        (ToolMessage("", tool_call_id="1"), None),
    ],
)
def test_answers_that_only_look_whole(message: Any, problem: Category | None) -> None:
    assert find_answer_problem(message) is problem


@pytest.mark.parametrize(
    ("metadata", "is_cut"),
    [
        ({"finish_reason": "length"}, True),
        ({"finish_reason": "model_length"}, True),
        ({"finish_reason": "MAX_TOKENS"}, True),
        ({"stop_reason": "max_tokens"}, True),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, True),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, False),
        ({"status": "completed", "incomplete_details": None}, False),
        ({"finish_reason": "stop"}, False),
        ({}, False),
    ],
)
def test_an_answer_at_the_limit_of_tokens_is_recognized(metadata: Any, is_cut: bool) -> None:
    assert reached_limit(AIMessage("half", response_metadata=metadata)) is is_cut


class Interrupting(ScriptedChatModel):
    async def _agenerate(self, *_: Any, **__: Any) -> Any:
        raise GraphInterrupt(())


async def test_an_interrupt_is_no_failure() -> None:
    graph = create_agent_graph(Interrupting(), middleware=[ModelCalls(model_name="m")])
    result = await graph.ainvoke({"messages": [HumanMessage("x")]})
    assert [message.text for message in result["messages"]] == ["x"]


def turns(count: int, size: int) -> list[Any]:
    return [kind(f"{number}" + "a" * size) for number in range(count) for kind in (HumanMessage, AIMessage)]


def test_the_newest_that_fit_are_shown_from_a_human_one_on() -> None:
    messages = [*turns(10, 29), HumanMessage("last")]
    shown = fit_messages(messages, 80)
    assert shown == messages[-3:]
    assert fit_messages(messages, 10_000) == messages
    assert fit_messages([], 10) == []


@given(st.text(min_size=50, max_size=400), st.integers(40, 100))
def test_a_message_that_is_too_long_is_cut_in_its_middle(text: str, tokens: int) -> None:
    [shown] = fit_messages([HumanMessage(text)], tokens)
    assert MESSAGE_TOKENS + estimate_tokens(shown.text) <= tokens
    if shown.text != text:
        head, mark, tail = shown.text.partition(" […] ")
        assert mark
        assert text.startswith(head)
        assert text.endswith(tail)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("汉字", 6), ("é" * 5, 15)])
def test_the_estimate_is_rather_high(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


async def test_a_scripted_model_is_built_from_plain_settings() -> None:
    chat = build_model(spec(settings={"script": {"reply": "plain"}}))
    assert isinstance(chat, ScriptedChatModel)
    assert chat.script == Script(reply="plain")
