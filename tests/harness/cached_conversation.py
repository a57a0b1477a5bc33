"""A conversation of the lead agent with a strict provider that counts the tokens of its cache."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.core.run_context import RunOptions
from agent.lead import Additions, LeadAgent
from tests.harness.strict_providers import StrictProvider

KINDS = {
    "anthropic": ("langchain_anthropic:ChatAnthropic", "claude-sonnet-5-5"),
    "openai": ("agent.models.compatible_chat:OpenAIChat", "gpt-5.4-mini"),
    "responses": ("agent.models.compatible_chat:OpenAIChat", "gpt-5.4-mini"),
    "deepseek": ("agent.models.compatible_chat:DeepSeekChat", "deepseek-v4-flash"),
    "mistral": ("agent.models.compatible_chat:MistralChat", "mistral-medium-latest"),
    "openrouter": ("agent.models.compatible_chat:OpenRouterChat", "anthropic/claude-sonnet-4.5"),
}
WORDS = "The report names costs, dates and people, and says what was decided about each of them. "


@tool
async def lookup(topic: str) -> str:
    """Look a topic up in the company's handbook."""
    return f"{topic}: {WORDS * 6}"


QUIET = {
    "sandbox": {"enabled": False},
    "tools": [{"name": "lookup", "group": "g", "use": "tests.harness.cached_conversation:lookup"}],
    "title": {"enabled": False},
    "memory": {"enabled": False},
    "summarization": {"enabled": False},
    "web_tools": {"enabled": False},
    "guardrails": {"enabled": False},
}


@dataclass
class Conversation:
    """One thread of the lead agent; `today` and the configuration can change between messages."""

    provider: StrictProvider
    agent: LeadAgent
    config_file: Path
    today: date = date(2026, 11, 23)
    clock: float = 0.0
    context: dict[str, Any] = field(default_factory=dict)

    async def say(self, text: str, **changes: Any) -> dict[str, Any]:
        """Send a message and return the thread's values."""
        graph = await self.agent.get_graph(RunOptions.of(changes))
        values: dict[str, Any] = await graph.ainvoke(
            {"messages": [HumanMessage(text)]},
            {"configurable": {"thread_id": "t", **self.context, **changes}, "recursion_limit": 200},
            context={"thread_id": "t", **self.context},
        )
        return values

    def wait_days(self, days: int) -> None:
        """Let days pass."""
        self.today += timedelta(days=days)


@asynccontextmanager
async def converse(
    provider: StrictProvider, home: Path, *, price: dict[str, float] | None = None, **config: Any
) -> AsyncIterator[Conversation]:
    """Serve the provider and yield a conversation with the lead agent, whose model it is."""
    use, model = KINDS[provider.name]
    async with provider.serve() as url:
        entry = {"name": "m", "use": use, "model": model, "api_key": "k", "base_url": url}
        entry |= {"stream_usage": True} if provider.name != "anthropic" else {}
        entry |= {"use_responses_api": True} if provider.name == "responses" else {}
        entry |= {"price": price} if price else {}
        path = home / "config.yaml"
        path.write_text(yaml.safe_dump({"models": [entry], **QUIET, **config}))
        made: list[Conversation] = []
        source = ModelSource(path, environ={}, cwd=home, clock=lambda: made[0].clock if made else 0.0)
        agent = LeadAgent(
            source,
            home / "home",
            additions=Additions(checkpointer=InMemorySaver()),
            today=lambda: made[0].today,
        )
        made.append(Conversation(provider, agent, path))
        try:
            yield made[0]
        finally:
            await agent.aclose()
            await agent.close_sandboxes()
