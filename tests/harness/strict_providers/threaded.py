"""Strict providers on a loop of their own thread, for tests with several event loops or with none.

They answer with the last message. `[tool=NAME {…}]` in a message of a person is answered with a call of that
tool, several of them with parallel calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.core.background_loop import BackgroundLoop
from agent.models.providers import PROVIDERS
from tests.harness.strict_providers import STRICT
from tests.harness.strict_providers.server import Body, Reply, StrictProvider

PACKAGES = ("openai", "anthropic")
"""The providers that are used through LangChain's packages for them."""
_OURS = "agent.models.compatible_chat"
CLASSES = {
    "openai": "langchain_openai:ChatOpenAI",
    "responses": "langchain_openai:ChatOpenAI",
    "anthropic": "langchain_anthropic:ChatAnthropic",
    "gemini": f"{_OURS}:GeminiChat",
    "deepseek": f"{_OURS}:DeepSeekChat",
    "mistral": f"{_OURS}:MistralChat",
    "groq": f"{_OURS}:GroqChat",
    "openrouter": f"{_OURS}:OpenRouterChat",
    "ollama": f"{_OURS}:OllamaChat",
}
_TOOL = re.compile(r"\[tool=(?P<name>\w+) (?P<args>\{.*?\})\]")


@dataclass
class EchoProviders:
    """The providers that are served, by name, and their addresses."""

    served: dict[str, StrictProvider] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)

    def entry(self, provider: str, **settings: Any) -> dict[str, Any]:
        """Return the configuration of a model of this provider."""
        own = {"use_responses_api": True} if provider == "responses" else {}
        model = next((one.model for one in PROVIDERS if one.name == provider), "some-model")
        known = {"name": provider, "use": CLASSES[provider], "model": model, "api_key": "sk-test"}
        return {**known, "base_url": self.urls[provider], **own, **settings}

    @property
    def requests(self) -> Sequence[Body]:
        """Return the requests of all providers."""
        return [body for one in self.served.values() for body in one.requests]

    def assert_nothing_failed(self, requests: int | None = None) -> None:
        """Check that no request was rejected or sent again."""
        assert {name: one.rejections for name, one in self.served.items() if one.rejections} == {}
        assert {call.attempt for one in self.served.values() for call in one.calls} <= {0}
        assert requests in (None, len(self.requests))


@contextmanager
def echo_providers(*names: str) -> Iterator[EchoProviders]:
    """Serve these providers, or all of them."""
    loop, stack = BackgroundLoop("strict-providers"), AsyncExitStack()
    made = EchoProviders({name: STRICT[name]() for name in names or STRICT})

    async def start() -> None:
        for name, provider in made.served.items():
            provider.answer_with(echo)
            made.urls[name] = await stack.enter_async_context(provider.serve())

    loop.run(start())
    try:
        yield made
    finally:
        loop.run(stack.aclose())
        loop.close()


def echo(body: Body) -> Reply:
    """Return the last message, or the calls that it asks for."""
    last = (body.get("messages") or body["input"])[-1]
    content = last.get("content") or last.get("output") or ""
    blocks = content if isinstance(content, list) else []
    text = _text_of(content)
    is_result = last.get("role") != "user" or any(one.get("type") == "tool_result" for one in blocks)
    wanted = [] if is_result or not body.get("tools") else list(_TOOL.finditer(text))
    return Reply(
        text="" if wanted else text, calls=tuple((one["name"], json.loads(one["args"])) for one in wanted)
    )


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text") or _text_of(block.get("content") or "") for block in content)
