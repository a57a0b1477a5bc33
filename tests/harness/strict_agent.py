"""The lead agent and the embedded client in front of strict providers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from agent.catalog.source import ModelSource
from agent.client import AgentClient
from agent.core.run_context import RunOptions
from agent.lead import Additions, LeadAgent
from agent.models.discovery import find_ollama
from agent.models.http import shared_client
from agent.models.providers import PROVIDERS, find_class
from agent.models.spec import ModelSpec
from agent.tools.default_web import WebReach
from tests.harness.strict_providers import STRICT, Reply, StrictProvider

CALLS = (("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}))
ENDLESS = (("weather", {"city": "Oslo"}), ("weather", {"city": "Nowhere"}))
PLAIN_CLASS = "tests.harness.strict_agent:PlainOpenAI"
THINKING = {"thinking": {"type": "adaptive"}}
"""Anthropic signs its thinking, so its model thinks in these tests."""
CONFIG: Mapping[str, Any] = {
    "title": {"enabled": False},
    "memory": {"enabled": False},
    "tools": [{"name": "weather", "group": "t", "use": "tests.harness.strict_agent:weather"}],
}


class PlainOpenAI(ChatOpenAI):
    """The class that every compatible provider had before it got its own."""


@tool
async def weather(city: str) -> str:
    """Return the weather in a city."""
    if city == "Nowhere":
        await asyncio.Event().wait()
    return f"rain in {city}"


async def find_spec(name: str, url: str, **changes: Any) -> ModelSpec:
    """What the provider's key in the environment enables, at another address."""
    if name == "ollama":
        spec = await find_ollama({"OLLAMA_HOST": url.removesuffix("/v1")}, seconds=5)
    else:
        provider = next(one for one in PROVIDERS if one.name == ("openai" if name == "responses" else name))
        spec = provider.find_model({provider.variables[0]: "key", f"{name.upper()}_BASE_URL": url})
    assert spec is not None
    own = {"use_responses_api": True} if name == "responses" else {}
    spec = replace(spec, use=find_class(spec))
    return replace(spec, settings={**spec.settings, "base_url": url, **own}, **changes)


def make_entry(name: str, spec: ModelSpec) -> dict[str, Any]:
    """The item of `models` in a configuration for a model that was found."""
    settings = {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in spec.settings.items()
    }
    thinking = THINKING if name == "anthropic" else {}
    named = {"name": name, "use": spec.use, "model": spec.model, "supports_vision": spec.supports_vision}
    return {**named, **settings, **thinking}


@dataclass(frozen=True, slots=True)
class StrictAgent:
    """The agent with a model of each provider; client and lead agent share their threads."""

    providers: Mapping[str, StrictProvider]
    client: AgentClient
    lead: LeadAgent

    async def say(self, name: str, *content: Any, thread: str = "t") -> AnyMessage:
        """Send a message through the lead agent, as the runtime does, and return the last one."""
        message = HumanMessage(content[0] if len(content) == 1 else list(content))
        config: Any = {"configurable": {"thread_id": thread, "model_name": name}}
        graph = await self.lead.get_graph(RunOptions.of(config["configurable"]))
        values = await graph.ainvoke({"messages": [message]}, config)
        last: AnyMessage = values["messages"][-1]
        return last

    async def chat(self, name: str, text: str, thread: str = "t") -> str:
        """Send a text through the embedded client and return the answer."""
        return await self.client.achat(text, thread, model_name=name)

    async def stop(self, name: str, text: str, thread: str = "t") -> None:
        """Send a text and stop when the answer has a word or a call."""
        events: Any = self.client.astream(text, thread, model_name=name)
        async with aclosing(events):
            async for event in events:
                if event.type == "messages-tuple" and event.data["type"] == "ai":
                    break

    @property
    def rejections(self) -> dict[str, list[str]]:
        """Return what each provider rejected."""
        return {name: one.rejections for name, one in self.providers.items() if one.rejections}

    @property
    def is_done(self) -> bool:
        """Whether every answer was given and no request was rejected."""
        return all(provider.is_done for provider in self.providers.values())


@asynccontextmanager
async def strict_agent(
    home: Path, names: Iterable[str] = STRICT, **config: Any
) -> AsyncIterator[StrictAgent]:
    """Serve the providers and build the agent in front of them, with every middleware that it has."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(shared_client())
        providers = {name: STRICT[name]() for name in names}
        models = []
        for name, provider in providers.items():
            url = await stack.enter_async_context(provider.serve())
            models.append(make_entry(name, await find_spec(name, url)))
        whole = {**CONFIG, **config, "models": models}
        saver = InMemorySaver()
        client = AgentClient(whole, read_file=False, home=home, checkpointer=saver, environ={})
        stack.callback(client.close)
        source = ModelSource(None, overrides=whole, read_file=False, environ={})
        reach = WebReach({"ROEBOT_OFFLINE": "1"})
        lead = LeadAgent(source, home, additions=Additions(checkpointer=saver), web=reach)
        stack.push_async_callback(lead.close_sandboxes)
        stack.push_async_callback(lead.aclose)
        yield StrictAgent(providers, client, lead)


def rains(*texts: str) -> tuple[Reply, ...]:
    """Answers of a turn with parallel calls; each text but the last comes with calls."""
    return *(Reply(text=text, calls=CALLS) for text in texts[:-1]), Reply(text=texts[-1])
