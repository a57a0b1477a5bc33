"""A subagent's whole conversation is accepted by every provider: parallel calls, an image, a summary."""

from __future__ import annotations

import asyncio
import base64
import json

from langchain_core.tools import tool

from agent.core.interfaces import SubagentStatus, SubagentTask
from agent.core.run_context import RunContext
from agent.harness.subagent_graphs import SubagentGraphs, SubagentModel, SubagentParts
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from agent.middleware.tool_results import ToolResultMiddleware
from agent.models.calls import ModelCalls
from agent.models.capabilities import capability_middleware
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from agent.subagents.runner import GraphSubagents
from agent.tools.images import show_image
from tests.contract.agent.test_strict_providers import CALLS, PIXEL, served, weather
from tests.harness.strict_providers import Reply, StrictProvider

__all__ = ["served"]


@tool
async def screenshot() -> str:
    """Take a screenshot."""
    show_image("/mnt/user-data/workspace/screen.png", base64.b64decode(PIXEL))
    return "taken"


async def run_task(spec: ModelSpec, prompt: str) -> tuple[SubagentStatus, str]:
    """Run a task on subagents whose conversations are summarized from eight messages on."""
    model = await asyncio.to_thread(build_model, spec)
    calls = [*capability_middleware(spec, strict=False), ModelCalls(model_name=spec.name)]
    own = SubagentModel(model, calls, sees_images=spec.supports_vision)
    chain = [
        CallRepairMiddleware(),
        SummarizationMiddleware(trigger=("messages", 8), keep=("messages", 3)),
        TokenUsageMiddleware(),
        ToolResultMiddleware(),
    ]
    parts = SubagentParts(own, [weather, screenshot], chain, has_sandbox=False)
    task = SubagentTask("call-1", "looks", prompt)
    result = await GraphSubagents(SubagentGraphs(parts)).run(task, RunContext(thread_id="t"))
    return result.status, result.text


async def test_a_long_task(served: tuple[StrictProvider, ModelSpec]) -> None:
    provider, spec = served
    provider.reply(
        Reply(text="Let me see.", calls=CALLS),
        Reply(calls=(("screenshot", {}),)),
        Reply(calls=CALLS[:1]),
        Reply(text="It rained in both so far."),
        Reply(text="It rains."),
    )
    assert await run_task(spec, "Find out about the weather.") == (SubagentStatus.COMPLETED, "It rains.")
    assert provider.rejections == []
    assert provider.is_done
    last = json.dumps(provider.requests[-1])
    assert "It rained in both so far." in last
    assert "Find out about the weather." in last
    assert (PIXEL in json.dumps(provider.requests)) is spec.supports_vision
    assert PIXEL not in last, "an image is shown once"
