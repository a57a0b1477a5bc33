"""Summaries against servers as strict as the real ones: none rejects what is left of a conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.run_context import RunOptions
from agent.harness.compaction import build_compaction_graph
from agent.middleware.summarization import SummarizationMiddleware
from agent.models.http import shared_client
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from tests.contract.agent.test_strict_providers import CALLS, THREAD, build_graph, find_spec, say
from tests.harness.strict_providers import STRICT, Reply, StrictProvider


@pytest.fixture(params=STRICT)
async def served(request: pytest.FixtureRequest) -> AsyncIterator[tuple[StrictProvider, ModelSpec]]:
    provider = STRICT[request.param]()
    async with shared_client(), provider.serve() as url:
        yield provider, await find_spec(request.param, url)


async def test_a_conversation_goes_on_after_cuts_between_and_within_turns(
    served: tuple[StrictProvider, ModelSpec],
) -> None:
    provider, spec = served
    summaries = SummarizationMiddleware(trigger=("messages", 9), keep=("messages", 3))
    graph = await build_graph(spec, InMemorySaver(), summarization=summaries)
    answers = [Reply(text="Let me see.", calls=CALLS), Reply(text="It rains.")]
    provider.reply(*answers)
    await say(graph, "The weather in Oslo and Rome?")
    # The second call of the turn is the ninth message: the beginning of the same turn goes.
    provider.reply(answers[0], Reply(text="FIRST"), answers[1])
    assert (await say(graph, "And now?")).text == "It rains."
    provider.reply(answers[0], Reply(text="SECOND"), Reply(calls=CALLS[:1]), answers[1])
    assert (await say(graph, "And now?")).text == "It rains."
    # The question is the ninth message: everything before it goes.
    provider.reply(Reply(text="THIRD"), *answers)
    assert (await say(graph, "Still?")).text == "It rains."
    said = (await graph.aget_state(THREAD)).values["messages"]
    assert "THIRD" in said[0].text
    assert provider.rejections == []
    assert provider.is_done


async def test_a_conversation_goes_on_after_a_summary_on_request(
    served: tuple[StrictProvider, ModelSpec],
) -> None:
    provider, spec = served
    saver = InMemorySaver()
    graph = await build_graph(spec, saver)
    model = await asyncio.to_thread(build_model, spec)

    async def prepare(_: RunOptions) -> tuple[Any, SummarizationMiddleware]:
        return model, SummarizationMiddleware()

    compaction = build_compaction_graph(prepare).copy({"checkpointer": saver})
    long = "word " * 300
    for _ in range(3):
        provider.reply(Reply(text="Let me see.", calls=CALLS), Reply(text="It rains."))
        await say(graph, f"The weather? {long}")
    provider.reply(Reply(text="Rain everywhere."))
    values = await compaction.ainvoke({"messages": []}, THREAD)
    assert values["compaction"]["after"] < values["compaction"]["before"] // 2
    provider.reply(Reply(calls=CALLS), Reply(text="Still rain."))
    assert (await say(graph, "And now?")).text == "Still rain."
    assert "Rain everywhere." in json.dumps(provider.requests[-1])
    assert provider.rejections == []
    assert provider.is_done
