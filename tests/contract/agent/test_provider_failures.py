"""Real provider clients against a real fault server: every failure ends in one clear line."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
import structlog
from langgraph.checkpoint.memory import InMemorySaver
from llmock.pytest_plugin import LLMock

from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from agent.management.check.models import probe_model
from agent.mcp.tool import McpTool
from agent.models.calls import ModelCalls
from agent.models.resolve import build_model
from agent.models.retry import ModelRetry
from agent.models.spec import ModelSpec
from agent.shared.schemas import Failing

KEY = "sk-proj-0123456789abcdefghij"
PROVIDERS = ["openai", "anthropic"]
LINE = "\n"


def spec(provider: str, url: str, **settings: Any) -> ModelSpec:
    use = {"openai": "langchain_openai:ChatOpenAI", "anthropic": "langchain_anthropic:ChatAnthropic"}[
        provider
    ]
    base = {"base_url": url, "api_key": KEY, "max_retries": 0, **settings}
    return ModelSpec(name="m", use=use, model="some-model", display_name="M", settings=base)


async def ask(described: ModelSpec, known: dict[str, Failing] | None = None) -> str:
    """The streamed answer, as the runtime would see it."""
    model = await asyncio.to_thread(build_model, described)
    calls = ModelCalls(model_name="m", failing=known)
    graph = create_agent_graph(model, middleware=[calls], checkpointer=InMemorySaver())
    parts: list[str] = []
    async for chunk, _ in graph.astream(
        {"messages": [{"role": "user", "content": "hello there"}]},
        {"configurable": {"thread_id": "t"}},
        stream_mode="messages",
    ):
        parts.append(chunk.text)
    return "".join(parts)


async def failing(described: ModelSpec) -> ModelCallFailed:
    with structlog.testing.capture_logs() as logs, pytest.raises(ModelCallFailed) as caught:
        await ask(described)
    error = caught.value
    text = str(error)
    assert text.startswith('The model "m" failed: ')
    assert "\n" not in text
    assert KEY not in text
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    [logged] = [entry for entry in logs if entry["event"] == "model_call_failed"]
    assert logged["category"] == error.category
    assert KEY not in json.dumps(logged)
    return error


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_whole_answer_passes(llmock: LLMock, provider: str) -> None:
    llmock.reply("All is well.")
    assert await ask(spec(provider, llmock.base_url(provider))) == "All is well."


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "category", "retryable"),
    [
        (lambda mock: mock.fail(401, message=f"Incorrect API key provided: {KEY}"), "auth", False),
        (lambda mock: mock.fail(403), "permission", False),
        (lambda mock: mock.fail(404), "not_found", False),
        (lambda mock: mock.fail(400), "invalid_request", False),
        (lambda mock: mock.rate_limit(retry_after=7), "rate_limit", True),
        (lambda mock: mock.fail(500), "overloaded", True),
        (lambda mock: mock.fail(503), "overloaded", True),
        (lambda mock: mock.fail(529), "overloaded", True),
        (lambda mock: mock.disconnect(after_chunks=2), "connection", True),
        (lambda mock: mock.truncate(after_chunks=3), "truncated", True),
        (lambda mock: mock.corrupt(after_chunks=3), "malformed", True),
        (lambda mock: mock.stall(after_chunks=2, seconds=3), "timeout", True),
    ],
    ids=[
        "401",
        "403",
        "404",
        "400",
        "429",
        "500",
        "503",
        "529",
        "disconnect",
        "truncate",
        "corrupt",
        "stall",
    ],
)
async def test_failures(
    llmock: LLMock, provider: str, fault: Callable[[LLMock], LLMock], category: str, retryable: bool
) -> None:
    fault(llmock)
    patience = 0.5 if category == "timeout" else 10.0
    error = await failing(spec(provider, llmock.base_url(provider), timeout=patience))
    assert (error.category, error.retryable) == (category, retryable)
    if category == "rate_limit":
        assert str(error).endswith("(retry after 7 s).")


async def test_a_stall_between_chunks_ends_by_its_own_limit(llmock: LLMock) -> None:
    llmock.stall(after_chunks=2, seconds=3)
    error = await failing(spec("openai", llmock.base_url(), stream_chunk_timeout=0.3))
    assert error.category == "timeout"


async def test_the_context_window_is_named(llmock: LLMock) -> None:
    llmock.context_overflow()
    error = await failing(spec("openai", llmock.base_url()))
    assert error.category == "context"
    assert "`new`" in str(error)


async def test_a_used_up_quota_is_not_a_rate_limit(llmock: LLMock) -> None:
    llmock.fail(429, code="insufficient_quota", message="You exceeded your current quota")
    error = await failing(spec("openai", llmock.base_url()))
    assert (error.category, error.retryable) == ("quota", False)


async def test_a_refused_connection(llmock: LLMock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = await failing(spec("openai", f"http://127.0.0.1:{port}/v1"))
    assert (error.category, error.retryable) == ("connection", True)


async def test_a_rejected_tool_is_left_out_of_the_conversation_and_reported(llmock: LLMock) -> None:
    reasons: list[str] = []
    tools = [
        McpTool(
            name=name,
            description="A tool.",
            args_schema={},
            remote_name=name,
            call=never,
            leave_out=reasons.append,
        )
        for name in ("good", "bad", "worse")
    ]
    model = await asyncio.to_thread(build_model, spec("openai", llmock.base_url()))
    chain = [ModelRetry(retries=0), ModelCalls(model_name="m")]
    graph = create_agent_graph(model, tools, middleware=chain, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    llmock.fail(400, message="Invalid schema for function 'bad': 'x' is not valid.")
    llmock.fail(400, message="Invalid 'tools[1].function.parameters': too deep.")
    llmock.reply("All is well.")
    llmock.reply("Still well.")
    for text in ("All is well.", "Still well."):
        values = await graph.ainvoke({"messages": [{"role": "user", "content": "hello there"}]}, config)
        assert values["messages"][-1].text == text
    sent = [[one["function"]["name"] for one in request.body["tools"]] for request in llmock.requests]
    assert sent == [["good", "bad", "worse"], ["good", "worse"], ["good"], ["good"]]
    assert [reason.partition(": ")[0] for reason in reasons] == ["the model m rejected it"] * 2


async def never(*_: Any) -> Any:
    raise AssertionError("no call is made")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_probe_says_which_host_was_asked_and_nothing_else_of_the_address(provider: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = await probe_model(spec(provider, f"http://somebody:hidden-word@127.0.0.1:{port}/v1"))
    assert found.detail is not None
    assert found.detail.endswith(f"or the connection was lost (address: 127.0.0.1:{port}).")
    assert "hidden-word" not in found.detail


async def test_a_probe_of_an_overloaded_provider_says_it_too(llmock: LLMock) -> None:
    llmock.fail(503, times=None)
    url = llmock.base_url()
    found = await probe_model(spec("openai", url))
    assert found.detail is not None
    assert found.detail.endswith(f"unavailable (address: {urlsplit(url).netloc}).")


async def test_a_probe_that_runs_out_of_time_says_what_the_settings_say() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        found = await probe_model(spec("openai", f"http://127.0.0.1:{port}/v1"), seconds=0.2)
    assert found.detail is not None
    assert found.detail.endswith(f"in time (address: 127.0.0.1:{port}).")


async def test_a_refusal_is_not_about_the_address(llmock: LLMock) -> None:
    llmock.fail(401, times=None)
    found = await probe_model(spec("openai", llmock.base_url()))
    assert found.detail is not None
    assert found.detail.endswith("Replace the key.")


@pytest.mark.parametrize(
    ("status", "why"),
    [(401, "key"), (403, "refused"), (404, "refused"), (429, "refused"), (503, "unavailable")],
)
async def test_a_failing_model_is_known_until_it_answers(llmock: LLMock, status: int, why: Failing) -> None:
    wanted, known = spec("openai", llmock.base_url()), dict[str, Failing](another="key")
    for calls in (lambda: probe_model(wanted, failing=known), lambda: ask(wanted, known)):
        llmock.reset()
        llmock.fail(status, times=None)
        with suppress(ModelCallFailed):
            await calls()
        assert known == {"another": "key", "m": why}
        llmock.reset()
        llmock.reply("OK")
        await calls()
        assert known == {"another": "key"}


async def test_an_empty_answer_is_a_failure(llmock: LLMock) -> None:
    llmock.reply(" ")
    error = await failing(spec("openai", llmock.base_url()))
    assert error.category == "empty"


async def test_a_passing_limit_is_waited_out(llmock: LLMock) -> None:
    llmock.rate_limit(times=1, retry_after=0.1).reply("at last")
    patient = spec("openai", llmock.base_url())
    patient = replace(patient, settings={**patient.settings, "max_retries": 2})
    assert await ask(patient) == "at last"
    llmock.assert_resilient()


@pytest.mark.parametrize("seconds", [61, 900])
async def test_a_limit_beyond_all_patience_is_told_at_once(llmock: LLMock, seconds: int) -> None:
    llmock.rate_limit(retry_after=seconds, times=None)
    patient = spec("anthropic", llmock.base_url("anthropic"))
    async with asyncio.timeout(20):
        error = await failing(replace(patient, settings={**patient.settings, "max_retries": 2}))
    assert str(error).endswith(f"(retry after {seconds} s).")
    assert len(llmock.requests) == 1


@asynccontextmanager
async def serve_events(events: Sequence[str]) -> AsyncIterator[str]:
    """A server that answers each request with these events and status 200."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        writer.write(f"{head}{''.join(f'{event}{LINE * 2}' for event in events)}".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def chunk(text: str = "", finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}"


async def test_a_content_filter_is_named() -> None:
    async with serve_events([chunk(), chunk(finish="content_filter"), "data: [DONE]"]) as url:
        error = await failing(spec("openai", f"{url}/v1"))
    assert (error.category, error.retryable) == ("content_filter", False)


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize("said", [[], [chunk("Let me")]], ids=["at once", "after text"])
@pytest.mark.parametrize(
    ("provider", "event", "category", "retryable"),
    [
        ("openai", 'data: {"error": {"message": "quota exceeded"}}', "quota", False),
        (
            "openai",
            'data: {"error": {"message": "Provider returned error", "code": 502}}',
            "overloaded",
            True,
        ),
        ("openai", 'data: {"error": "Rate limit reached"}', "rate_limit", True),
        ("anthropic", f"event: error\ndata: {json.dumps(OVERLOADED)}", "overloaded", True),
    ],
)
async def test_errors_in_a_stream_that_began_well(
    provider: str, event: str, category: str, retryable: bool, said: list[str]
) -> None:
    before = said if provider == "openai" else []
    async with serve_events([*before, event]) as url:
        error = await failing(spec(provider, f"{url}/v1" if provider == "openai" else url))
    assert (error.category, error.retryable) == (category, retryable)
