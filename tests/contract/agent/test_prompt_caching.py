"""Requests of a conversation repeat the previous one, so that providers read it from their caches.

The strict providers calculate the hits by the published rules. After the first requests, which are shorter
than the providers' minimum, each has to read all that the previous one contained.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.memory.scopes import format_scope
from agent.memory.service import MemoryManagement
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.models.prompt_caching import PromptCachingMiddleware
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore
from tests.harness.cached_conversation import KINDS, Conversation, converse
from tests.harness.strict_providers import STRICT, Reply, StrictProvider
from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.caching import (
    MarkedCache,
    PromptCache,
    SteppedCache,
    UnitCache,
    list_parts,
)
from tests.harness.strict_providers.server import RejectedRequest

MINIMUM, SLACK = 1_024, 192
"""Tokens: the smallest prefix in a cache, and a step of OpenAI's cache with the ends of parts."""
LOOK = ("lookup", {"topic": "travel"})


def cache_of(name: str) -> PromptCache:
    if name == "anthropic":
        return MarkedCache()
    if name == "openrouter":
        return MarkedCache(parts=list_parts)
    return UnitCache() if name == "deepseek" else SteppedCache()


def list_misses(cache: PromptCache, first: int = 1) -> list[tuple[int, int, int]]:
    """The requests that read less than the previous one contained: number, tokens read, tokens expected."""
    pairs = enumerate(pairwise(cache.uses), 1)
    return [
        (number, after.read, before.total)
        for number, (before, after) in pairs
        if number >= first and before.total >= MINIMUM + SLACK and after.read < before.total - SLACK
    ]


async def talk(at: Conversation, turns: int, calls: int = 1, text: str = "What about it?") -> None:
    """Turns with tool calls; each makes two requests."""
    for _ in range(turns):
        at.provider.reply(Reply(calls=(LOOK,) * calls), Reply("It is as the handbook says. " * 8))
        await at.say(text)
    assert at.provider.is_done, at.provider.rejections


def cached(provider: StrictProvider) -> PromptCache:
    assert provider.cache is not None
    return provider.cache


@pytest.fixture
async def claude(tmp_path: Path) -> AsyncIterator[Conversation]:
    provider = StrictAnthropic()
    provider.cache = MarkedCache()
    async with converse(provider, tmp_path) as at:
        await talk(at, 5)
        yield at


@pytest.mark.guard(
    "OpenRouter's requests for Anthropic's models are marked",
    "agent/models/compatible_chat.py",
    'startswith("anthropic/")',
    'startswith("nobody/")',
    against="requests that cost their full price",
    case="openrouter",
)
@pytest.mark.parametrize("name", KINDS)
async def test_every_request_reads_the_previous_one(name: str, tmp_path: Path) -> None:
    provider = STRICT[name]()
    provider.cache = cache_of(name)
    async with converse(provider, tmp_path) as at:
        await talk(at, 8)
        at.wait_days(1)
        await talk(at, 4)
        provider.reply(Reply("Yes."))
        values = await at.say("Really?")
    assert list_misses(provider.cache) == []
    assert provider.cache.hit_ratio(6) > 0.9
    uses = provider.cache.uses
    assert values["usage"]["input_tokens"] == sum(use.total for use in uses)
    assert values["usage"]["cached_tokens"] == sum(use.read for use in uses)


async def test_without_marks_anthropic_caches_nothing(tmp_path: Path) -> None:
    provider = StrictAnthropic()
    provider.cache = MarkedCache()
    async with converse(provider, tmp_path, prompt_caching={"enabled": False}) as at:
        await talk(at, 4)
    assert provider.cache.hit_ratio() == 0


async def test_an_hour_of_lifetime_is_requested(tmp_path: Path) -> None:
    provider = StrictAnthropic()
    async with converse(provider, tmp_path, prompt_caching={"lifetime": "1h"}) as at:
        await talk(at, 1)
    assert provider.requests[0]["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


async def test_requests_of_a_conversation_have_a_key_without_its_name(tmp_path: Path) -> None:
    provider = STRICT["openai"]()
    async with converse(provider, tmp_path) as at:
        await talk(at, 1)
        await talk(at, 1)
    [key] = {request["prompt_cache_key"] for request in provider.requests}
    assert len(key) == 32
    assert key != "t"


@pytest.mark.guard(
    "the system prompt keeps the first day of the conversation",
    "agent/middleware/current_date.py",
    "PROMPT.format(day=_render(days[FIRST]))",
    "PROMPT.format(day=_render(self._today().isoformat()))",
    against="requests that cost their full price",
)
async def test_a_new_day_is_told_in_a_note(claude: Conversation) -> None:
    claude.wait_days(1)
    await talk(claude, 2)
    claude.wait_days(3)
    await talk(claude, 2)
    last = claude.provider.requests[-1]
    assert "Today is Monday, 23 November 2026." in last["system"][-1]["text"]
    told = str(last["messages"])
    assert told.count("today is Tuesday, 24 November 2026") == 1
    assert told.count("today is Friday, 27 November 2026") == 1
    assert list_misses(cached(claude.provider)) == []


@pytest.mark.guard(
    "the end of the previous request is marked",
    "agent/models/prompt_caching.py",
    "for place in (last, answer - 1) if place >= 0",
    "for place in (last,) if place >= 0",
    against="requests that cost their full price",
)
async def test_more_parallel_calls_than_the_cache_looks_back(claude: Conversation) -> None:
    await talk(claude, 2, calls=15)
    await talk(claude, 1)
    assert list_misses(cached(claude.provider)) == []


@pytest.mark.guard(
    "notices of one request are not marked",
    "agent/models/prompt_caching.py",
    "find_marked(request.messages, count_tail(request.messages))",
    "find_marked(request.messages, 0)",
    against="requests that cost their full price",
)
async def test_notices_of_one_request_are_not_cached(tmp_path: Path) -> None:
    provider = StrictAnthropic()
    provider.cache = MarkedCache()
    limits = {"tool_calls": 10, "warn_at": 0.2}
    async with converse(provider, tmp_path, run_limits=limits) as at:
        for _ in range(3):
            provider.reply(*(Reply(calls=(LOOK, LOOK)) for _ in range(2)), Reply("Done."))
            await at.say("Look.")
    assert "This run has used 4 of 10 tool calls" in str(provider.requests[-1]["messages"][-1])
    assert list_misses(provider.cache) == []


@pytest.mark.guard(
    "the system prompt keeps the memory of the conversation's beginning",
    "agent/middleware/memory.py",
    "        if text is not None and context.thread_id is not None:",
    "        if False:",
    against="requests that cost their full price",
)
@pytest.mark.guard(
    "what was removed from the memory leaves the prompt at once",
    "agent/memory/frozen_text.py",
    " and not lacks_content(now.text, self.snapshot.text)",
    "",
    against="forgotten memory in the prompt",
)
async def test_new_memory_waits_and_removed_memory_does_not(tmp_path: Path) -> None:
    provider = StrictAnthropic()
    provider.cache = MarkedCache()
    memory = {"enabled": True, "debounce_seconds": 300}
    scope = MemoryScope("person", "main", "telegram:1")

    async def settings() -> MemoryConfig:
        return MemoryConfig(enabled=True)

    service = MemoryManagement(tmp_path / "home", settings)
    await service.add_fact("Ann lives in Bergen.", scope=format_scope(scope))
    async with converse(provider, tmp_path, memory=memory) as at:
        at.context = {"user_id": "telegram:1", "chat_kind": "private", "account": "main"}
        await talk(at, 4)
        await service.add_fact("Ann plays the tuba.", scope=format_scope(scope))
        await talk(at, 3)
        assert "Bergen" in str(provider.requests[-1]["system"])
        assert "tuba" not in str(provider.requests[-1]["system"])
        assert list_misses(provider.cache) == []
        document = await service.get_memory(format_scope(scope))
        await service.delete_fact(document.facts[0].id, format_scope(scope))
        await talk(at, 3)
    system = str(provider.requests[-1]["system"])
    assert "Bergen" not in system
    assert "tuba" in system
    assert [number for number, _, _ in list_misses(provider.cache)] == [14]


@pytest.mark.guard(
    "what belongs to a conversation follows what all of them share",
    "agent/middleware/model_response.py",
    "add_own(request.system_message, text)",
    "add_shared(request.system_message, text)",
    against="requests that cost their full price",
    case="anthropic",
)
@pytest.mark.guard(
    "what all conversations share has a mark of its own",
    "agent/models/prompt_caching.py",
    "[*marks[:ends], *blocks[ends:]]",
    "[*blocks[:-1], *marks[-1:]]",
    against="requests that cost their full price",
    case="anthropic",
)
@pytest.mark.guard(
    "what all conversations share has a mark of its own at OpenRouter",
    "agent/models/wire_messages.py",
    "for part in texts if at == system else texts[-1:]:",
    "for part in texts[-1:]:",
    against="requests that cost their full price",
    case="openrouter",
)
@pytest.mark.parametrize("name", ["anthropic", "openrouter"])
async def test_conversations_of_different_people_share_the_beginning(name: str, tmp_path: Path) -> None:
    provider = STRICT[name]()
    provider.cache = cache_of(name)

    async def settings() -> MemoryConfig:
        return MemoryConfig(enabled=True)

    service = MemoryManagement(tmp_path / "home", settings)
    clerk = tmp_path / "home" / "agents" / "clerk"
    clerk.mkdir(parents=True)
    (clerk / "SOUL.md").write_text("You keep the minutes of the company's meetings. " * 60)
    async with converse(provider, tmp_path, memory={"enabled": True, "debounce_seconds": 300}) as at:
        for person in ("Ann", "Ben"):
            scope = MemoryScope("person", "main", f"telegram:{person}")
            await service.add_fact(f"{person} lives in Bergen.", scope=format_scope(scope))
            about = {"user_id": scope.key, "chat_kind": "private", "account": "main"}
            at.context = {**about, "thread_id": person}
            provider.reply(Reply("Hello."))
            await at.say("Hello.", agent_name="clerk")
    first, second = provider.cache.uses
    assert "Ben lives in Bergen" in str(provider.requests[-1])
    assert second.read > 0.8 * first.total, "all but the memory, the date and the message"


@pytest.mark.guard(
    "the content of files leaves in steps",
    "agent/uploads/inline_images.py",
    "start = find_first_shown([_measure(message, uploads, limits) for message in messages], limits)",
    "start = 0",
    against="requests that cost their full price",
)
async def test_new_files_do_not_change_earlier_messages(claude: Conversation, tmp_path: Path) -> None:
    store = UploadStore(ThreadFolders(tmp_path / "home"))
    for number in range(14):
        note = tmp_path / f"note{number}.txt"
        note.write_text(f"Note {number}. " * 1_000)
        await store.save_local("t", [note])
        await talk(claude, 1)
    assert "Note 13." in str(claude.provider.requests[-1]["messages"])
    assert "Note 0." not in str(claude.provider.requests[-1]["messages"])
    misses = list_misses(cached(claude.provider))
    assert len(misses) <= 2, "files leave in steps, not with each new one"


def make_tools(count: int) -> list[StructuredTool]:
    def work(topic: str) -> str:
        return f"{topic}: {'done ' * 40}"

    return [
        StructuredTool.from_function(work, name=f"tool{n}", description=f"Do the work {n}. " * 20)
        for n in range(count)
    ]


@pytest.mark.guard(
    "tools that were found come last",
    "agent/middleware/deferred_tools.py",
    "tools=[*kept, *found]",
    "tools=[*found, *kept]",
    against="requests that cost their full price",
)
async def test_a_promoted_tool_costs_one_miss() -> None:
    provider = StrictAnthropic()
    provider.cache = MarkedCache()
    async with provider.serve() as url:
        spec = ModelSpec("m", *KINDS["anthropic"], "", "", settings={"api_key": "k", "base_url": url})
        graph = create_agent_graph(
            await asyncio.to_thread(build_model, spec),
            make_tools(20),
            system_prompt="Be brief. " * 30,
            features=RuntimeFeatures(
                sandbox=False, deferred_tools=DeferredToolFilterMiddleware(threshold=14)
            ),
            extra_middleware=[PromptCachingMiddleware()],
            checkpointer=InMemorySaver(),
        )

        async def say(*replies: Reply) -> None:
            provider.reply(*replies)
            config: Any = {"configurable": {"thread_id": "t"}}
            await graph.ainvoke({"messages": [HumanMessage("go " * 60)]}, config)

        work = Reply(calls=(("tool1", {"topic": "a"}),))
        for _ in range(3):
            await say(work, Reply("Done."))
        await say(Reply(calls=(("tool_search", {"query": "tool18"}),)), work, Reply("Found."))
        for _ in range(3):
            await say(Reply(calls=(("tool18", {"topic": "a"}),)), Reply("Done."))
    assert provider.is_done, provider.rejections
    [(number, read, _)] = list_misses(provider.cache)
    assert number == 7
    assert read > MINIMUM, "the tools before the promoted one are read"
    assert [tool["name"] for tool in provider.requests[-1]["tools"]][-1] == "tool18"


async def test_more_than_four_marks_are_rejected() -> None:
    provider = StrictAnthropic()
    text = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [text] * 4}]}
    provider.check(body)
    with pytest.raises(RejectedRequest, match="A maximum of 4 blocks with cache_control"):
        provider.check({**body, "system": [text]})
