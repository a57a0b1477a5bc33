"""Failed calls are made again, through providers' real clients against a real fault server."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from llmock.pytest_plugin import LLMock

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from agent.lead import LeadAgent
from agent.models.calls import ModelCalls
from agent.models.resolve import build_model
from agent.models.retry import EMPTY_ANSWER, ModelRetry
from agent.models.spec import ModelSpec

CLASSES = {"openai": "langchain_openai:ChatOpenAI", "anthropic": "langchain_anthropic:ChatAnthropic"}
PROVIDERS = list(CLASSES)
RED = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Waits(list[float]):
    """A sleep that takes no time."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


class Chat:
    """What a client sees of one run: the pieces of each message, and what updates say in the end."""

    def __init__(self) -> None:
        self.streamed: dict[str, str] = {}
        self.shown: list[str] = []
        self.values: dict[str, Any] = {}

    def take(self, mode: str, part: Any) -> None:
        texts = dict(self.streamed)
        if mode == "messages" and isinstance(part[0], AIMessageChunk):
            texts[part[0].id] = texts.get(part[0].id, "") + part[0].text
        elif mode == "updates" and "model" in part:
            updates = part["model"] if isinstance(part["model"], list) else [part["model"]]
            texts |= {
                message.id: message.text for update in updates for message in update.get("messages", ())
            }
        elif mode == "values":
            self.values = part
        if texts != self.streamed:
            self.streamed = texts
            self.shown.append("\n".join(texts.values()))


async def follow(graph: Any, content: Any = "hello there", chat: Chat | None = None) -> Chat:
    chat = chat or Chat()
    given = {"messages": [HumanMessage(content)]}
    async for mode, part in graph.astream(given, CONFIG, stream_mode=["messages", "updates", "values"]):
        chat.take(mode, part)
    return chat


async def with_waits(
    llmock: LLMock, provider: str, waits: Waits, *, standby: str = "", chance: float = 0.0, **settings: Any
) -> Chat:
    """Ask once, through the middleware alone."""

    async def made(name: str) -> Any:
        given = {"base_url": llmock.base_url(name), "api_key": "k", **(settings if name == provider else {})}
        spec = ModelSpec(name=name, use=CLASSES[name], model=name, display_name="M", settings=given)
        return await asyncio.to_thread(build_model, spec)

    fallbacks = [await made(standby)] if standby else []
    attempts = ModelRetry(delay=1.0, fallbacks=fallbacks, sleep=waits, chance=lambda: chance)
    chain: list[AgentMiddleware[Any, Any]] = [attempts, ModelCalls(model_name="m")]
    graph = create_agent_graph(await made(provider), middleware=chain, checkpointer=InMemorySaver())
    return await follow(graph)


async def lead(folder: Path, llmock: LLMock, text: str, *entries: str) -> Any:
    """The lead agent's graph. An entry is a provider, and further keys of its model after a comma."""
    models = ""
    for entry in entries:
        name, _, more = entry.partition(",")
        address = llmock.base_url(name)
        models += f"  - {{name: {name}, use: '{CLASSES[name]}', model: x, api_key: k, base_url: '{address}'"
        models += f", {more}}}\n" if more else "}\n"
    path = folder / "config.yaml"
    path.write_text(f"config_version: 1\nmodels:\n{models}title: {{enabled: false}}\n{text}")
    agent = LeadAgent(ModelSource(path, environ={}, cwd=folder), folder / "home")
    llmock.tool_mode("off")
    return (await agent.get_graph(RunOptions())).copy({"checkpointer": InMemorySaver()})


AT_ONCE = "model_calls: {retry_delay_seconds: 0}\n"
SPARE = "model_calls: {retry_delay_seconds: 0, retries: 1, fallback_models: anthropic}\n"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_provider_is_waited_for_as_long_as_it_asks_and_the_log_says_so(
    llmock: LLMock, provider: str
) -> None:
    llmock.rate_limit(times=1, retry_after=7).reply("at last")
    waits = Waits()
    with structlog.testing.capture_logs() as logs:
        chat = await with_waits(llmock, provider, waits)
    assert chat.values["messages"][-1].text == "at last"
    assert waits == [7.0]
    [told] = [entry for entry in logs if entry["event"] == "model_call_again"]
    assert (told["model"], told["category"], told["retry"], told["seconds"]) == (
        provider,
        "rate_limit",
        1,
        7.0,
    )


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_waits_are_doubled_and_spread_by_chance(llmock: LLMock, provider: str) -> None:
    llmock.fail(503, times=2).reply("at last")
    waits = Waits()
    await with_waits(llmock, provider, waits, chance=1.0)
    assert waits == [1.25, 2.5]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_wait_beyond_all_patience_ends_the_call(llmock: LLMock, provider: str) -> None:
    llmock.rate_limit(times=None, retry_after=61)
    waits = Waits()
    with pytest.raises(ModelCallFailed, match="retry after 61 s") as caught:
        await with_waits(llmock, provider, waits)
    assert caught.value.retry_after == 61.0
    assert (waits, len(llmock.requests)) == ([], 1)


async def test_a_standby_is_asked_rather_than_waiting_for_long(llmock: LLMock) -> None:
    llmock.rate_limit(times=1, retry_after=11, provider="openai").reply("from the other")
    waits = Waits()
    chat = await with_waits(llmock, "openai", waits, standby="anthropic")
    assert chat.values["messages"][-1].text == "from the other"
    assert (waits, [request.provider for request in llmock.requests]) == ([], PROVIDERS)


async def test_the_last_standby_is_waited_for_like_an_only_model(llmock: LLMock) -> None:
    llmock.fail(401, provider="openai").rate_limit(times=1, retry_after=11, provider="anthropic")
    llmock.reply("from the other")
    waits = Waits()
    chat = await with_waits(llmock, "openai", waits, standby="anthropic")
    assert chat.values["messages"][-1].text == "from the other"
    assert waits == [11.0]


@pytest.mark.parametrize(
    ("settings", "requests"), [({}, 3), ({"max_retries": 1}, 2), ({"max_retries": 0}, 3)]
)
async def test_tries_are_not_multiplied(llmock: LLMock, settings: dict[str, int], requests: int) -> None:
    """One layer tries again: the class where its entry says so, otherwise we."""
    llmock.outage()
    waits = Waits()
    with pytest.raises(ModelCallFailed, match="overloaded"):
        await with_waits(llmock, "openai", waits, **settings)
    assert len(llmock.requests) == requests
    assert len(waits) == (0 if settings.get("max_retries") else 2)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_what_will_not_work_later_is_asked_once(llmock: LLMock, provider: str) -> None:
    llmock.fail(401, times=None)
    waits = Waits()
    with pytest.raises(ModelCallFailed, match="rejected the API key"):
        await with_waits(llmock, provider, waits)
    assert (waits, len(llmock.requests)) == ([], 1)


WHOLE = "one two three four five six seven eight"
BREAKS: dict[str, Callable[[LLMock], LLMock]] = {
    "truncated": lambda mock: mock.truncate(after_chunks=4),
    "cut off": lambda mock: mock.disconnect(after_chunks=4),
    "malformed": lambda mock: mock.corrupt(after_chunks=4),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", BREAKS)
async def test_an_answer_that_breaks_off_is_never_shown_twice(
    tmp_path: Path, llmock: LLMock, provider: str, fault: str
) -> None:
    graph = await lead(tmp_path, llmock, AT_ONCE, provider)
    BREAKS[fault](llmock.reply(WHOLE, times=None))
    chat = await follow(graph)
    assert chat.shown[-1] == WHOLE
    assert len(chat.shown) > 2
    assert all(WHOLE.startswith(text) for text in chat.shown)
    assert [message.type for message in chat.values["messages"]] == ["human", "ai"]
    assert len(llmock.requests) == 2


async def test_another_model_s_answer_takes_the_place_of_what_broke_off(
    tmp_path: Path, llmock: LLMock
) -> None:
    graph = await lead(tmp_path, llmock, SPARE, *PROVIDERS)
    llmock.reply(WHOLE, times=None).truncate(after_chunks=4, times=2)
    chat = await follow(graph)
    assert (chat.shown[-1], len(chat.streamed)) == (WHOLE, 1)
    assert all(WHOLE.startswith(text) for text in chat.shown)
    assert [request.provider for request in llmock.requests] == ["openai", "openai", "anthropic"]


async def test_when_every_try_breaks_off_its_text_stood_once(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, AT_ONCE, "openai")
    llmock.reply(WHOLE, times=None).truncate(after_chunks=4, times=None)
    chat = Chat()
    with pytest.raises(ModelCallFailed, match="cut off"):
        await follow(graph, chat=chat)
    assert len(llmock.requests) == 3
    [text] = chat.streamed.values()
    assert text
    assert WHOLE.startswith(text)


async def test_after_a_failure_without_a_word_the_answer_is_streamed(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, AT_ONCE, "openai")
    llmock.fail(503).reply(WHOLE)
    chat = await follow(graph)
    assert "one " in chat.shown, "the first word comes at once; later ones may be joined"
    assert chat.shown[-1] == WHOLE


@pytest.mark.guard(
    "an empty answer is asked for with a note",
    "agent/models/retry.py",
    'with_note(request, EMPTY_ANSWER, "empty_answer")',
    "request",
    against="truthful results",
)
async def test_refused_answers_are_counted(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, AT_ONCE, "openai, stream_usage: true")
    llmock.reply(" ").reply(WHOLE)
    chat = await follow(graph)
    used, [answer] = chat.values["usage"], chat.values["messages"][1:]
    first, second = (request.body["messages"] for request in llmock.requests)
    assert second[:-1] == first, "what the provider has in its cache stays"
    assert second[-1] == {"role": "user", "content": EMPTY_ANSWER}
    asked = answer.usage_metadata["input_tokens"]
    assert asked < used["input_tokens"] < 2 * asked
    assert used["output_tokens"] > answer.usage_metadata["output_tokens"]
    assert used["total_tokens"] == used["input_tokens"] + used["output_tokens"]


@pytest.mark.guard(
    "an empty answer is asked for only once more",
    "agent/models/retry.py",
    "                    if asked_again or not self._retries:",
    "                    if not self._retries:",
    against="truthful results",
)
async def test_an_empty_answer_is_asked_for_once_more_and_not_again(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, AT_ONCE, "openai")
    llmock.reply(" ", times=None)
    with pytest.raises(ModelCallFailed, match="empty answer"):
        await follow(graph)
    assert len(llmock.requests) == 2


async def test_the_answer_and_the_log_say_which_model_answered(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, SPARE, *PROVIDERS)
    llmock.outage(provider="openai").reply("from the other", times=None)
    with structlog.testing.capture_logs() as logs:
        chat = await follow(graph)
    answer = chat.values["messages"][-1]
    assert (answer.text, answer.response_metadata["roebot_model"]) == ("from the other", "anthropic")
    [told] = [entry for entry in logs if entry["event"] == "model_fallback"]
    assert (told["model"], told["instead_of"]) == ("anthropic", "openai")


async def test_when_all_have_failed_the_last_is_named(tmp_path: Path, llmock: LLMock) -> None:
    graph = await lead(tmp_path, llmock, SPARE, *PROVIDERS)
    llmock.outage()
    with pytest.raises(ModelCallFailed, match='"anthropic" failed: its provider is overloaded'):
        await follow(graph)
    assert [request.provider for request in llmock.requests] == ["openai"] * 2 + ["anthropic"] * 2


@pytest.mark.parametrize("able", [True, False])
async def test_a_fallback_gets_what_it_can_take(tmp_path: Path, llmock: LLMock, able: bool) -> None:
    flags = f"supports_vision: {str(able).lower()}, supports_tools: {str(able).lower()}"
    graph = await lead(tmp_path, llmock, SPARE, "openai, supports_vision: true", f"anthropic, {flags}")
    llmock.outage(provider="openai").reply("I see.", times=None)
    chat = await follow(graph, [{"type": "text", "text": "what is this?"}, RED])
    assert chat.values["messages"][-1].text == "I see."
    asked, told = llmock.requests[0].body, llmock.requests[-1].body
    assert asked["tools"]
    assert "AAAA" in str(asked)
    assert bool(told.get("tools")) is able
    assert ("AAAA" in str(told)) is able
    assert ("this model can't see" in str(told)) is not able
