"""The strict providers of OpenAI and Anthropic on one address, served from a thread of their own.

So no test's event loop is involved, and programs that block can use them. An answer repeats the last message;
`[tool=NAME {...}]` in it is answered with a call of that tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from anyio.from_thread import start_blocking_portal

from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.openai import StrictOpenAI
from tests.harness.strict_providers.server import Body, Call, Reply, StrictProvider, listen

CLASSES = {"openai": "langchain_openai:ChatOpenAI", "anthropic": "langchain_anthropic:ChatAnthropic"}
_TOOL = re.compile(r"\[tool=(?P<name>\w+) (?P<args>\{.*?\})\]")


class EchoOpenAI(StrictOpenAI):
    """Repeats the last message."""

    def next_reply(self, body: Body) -> Reply:
        return _repeat(body)


class EchoAnthropic(StrictAnthropic):
    """Repeats the last message."""

    def next_reply(self, body: Body) -> Reply:
        return _repeat(body)


@dataclass
class ProviderServer:
    """Both providers at `address`, what was sent to them, and why requests were refused."""

    address: str = ""
    providers: tuple[StrictProvider, ...] = field(default_factory=lambda: (EchoOpenAI(), EchoAnthropic()))
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        for provider in self.providers:
            provider.calls = self.calls

    @property
    def refusals(self) -> list[str]:
        """Return why requests were refused."""
        return [one for provider in self.providers for one in provider.rejections]

    def model(self, provider: str, **settings: Any) -> dict[str, Any]:
        """The configuration of a model of the provider."""
        base = f"{self.address}/v1" if provider == "openai" else self.address
        entry = {"name": provider, "use": CLASSES[provider], "model": "some-model"}
        return {**entry, "api_key": "sk-test", "base_url": base, **settings}


@contextmanager
def provider_server() -> Iterator[ProviderServer]:
    """Serve both APIs."""
    served = ProviderServer()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listen(*served.providers)) as address,
    ):
        served.address = address
        yield served


def _repeat(body: Body) -> Reply:
    last = body["messages"][-1]
    text, asked = _read_text(last["content"]), last["role"] == "user"
    if not isinstance(last["content"], str) and last["content"][0]["type"] == "tool_result":
        asked = False
    wanted = _TOOL.search(text) if asked and body.get("tools") else None
    return Reply(calls=((wanted["name"], json.loads(wanted["args"])),)) if wanted else Reply(text=text)


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text") or _read_text(block.get("content") or "") for block in content)
