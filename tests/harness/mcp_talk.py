"""Conversations of the embedded client with MCP servers, in front of a provider as strict as the real one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from agent.client import AgentClient
from agent.core.client_events import StreamEvent
from tests.harness.mcp import PATIENT
from tests.harness.strict_providers import STRICT, Reply, StrictProvider

CLASSES = {"openai": "langchain_openai:ChatOpenAI", "anthropic": "langchain_anthropic:ChatAnthropic"}
QUIET: dict[str, Any] = {
    "title": {"enabled": False},
    "memory": {"enabled": False},
    "web_tools": {"enabled": False},
}
THREAD = "t"


@dataclass(frozen=True, slots=True)
class Use:
    """A call of a tool, a pattern that its result matches, and the answers to the server's questions."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    result: str = ""
    answers: Sequence[str] = ()
    failed: bool = False


class StrictTalk:
    """A thread of a client whose only MCP server is `server`."""

    def __init__(self, client: AgentClient, provider: StrictProvider, server: str) -> None:
        self.client, self.provider, self._server = client, provider, server
        self.used: set[str] = set()

    async def say(self, text: str) -> list[StreamEvent]:
        """Send a message, and return the events of the turn."""
        return await asyncio.to_thread(lambda: list(self.client.stream(text, THREAD)))

    async def answers(self) -> bool:
        """Whether the thread answers a further message."""
        self.provider.reply(Reply(text="Still here."))
        events = await self.say("Are you there?")
        assert self.provider.rejections == []
        return _last_text(events) == "Still here."

    async def find_tools(self) -> set[str]:
        """The server's tools in the model's list, once the server has started."""
        async with asyncio.timeout(PATIENT):
            while True:
                assert await self.answers()
                if found := self.offered:
                    return found

    @property
    def offered(self) -> set[str]:
        """The server's tools in the last request."""
        tools = [tool.get("function", tool) for tool in self.provider.requests[-1].get("tools") or ()]
        start = f"{self._server}_"
        return {tool["name"].removeprefix(start) for tool in tools if tool["name"].startswith(start)}

    async def use(self, *uses: Use) -> list[str]:
        """Let the model make these calls in one answer, check the results and return them."""
        calls = tuple((f"{self._server}_{one.tool}", one.arguments) for one in uses)
        self.provider.reply(Reply(calls=calls), Reply(text="done"))
        events = await self.say("go")
        for answer in [answer for one in uses for answer in one.answers]:
            assert events[-1].data["interrupts"], [event.data for event in events if _is_result(event)]
            events += await self.say(answer)
        assert not events[-1].data["interrupts"], events[-1].data
        assert self.provider.rejections == []
        assert _last_text(events) == "done"
        results = [event.data for event in events if _is_result(event)]
        assert [one["name"] for one in results] == [name for name, _ in calls]
        for one, found in zip(uses, results, strict=True):
            assert re.search(one.result, found["content"], re.S), f"{one.tool}: {found['content'][:500]}"
            assert found["status"] == ("error" if one.failed else "success"), found
        self.used |= {one.tool for one in uses}
        return [str(one["content"]) for one in results]

    def files(self, text: str) -> list[bytes]:
        """The files of the thread that a result names."""
        paths = re.findall(r"stored in (/mnt\S+?)[;\]]", text)
        return [self.client.get_artifact(THREAD, path)[0] for path in paths]


@asynccontextmanager
async def talking(provider: str, server: str, entry: dict[str, Any], home: Path) -> AsyncIterator[StrictTalk]:
    """A client with a strict provider and one server, whose programs have ended afterwards."""
    strict, before = STRICT[provider](), programs()
    async with strict.serve() as url:
        model = {"name": "m", "use": CLASSES[provider], "model": "some-model", "api_key": "sk-test"}
        config = {**QUIET, "models": [{**model, "base_url": url, "supports_vision": True}]}
        client = await asyncio.to_thread(AgentClient, config, read_file=False, home=home, environ={})
        try:
            published = {"mcpServers": {server: {"start_seconds": PATIENT, **entry}}}
            await asyncio.to_thread(client.update_mcp_config, published)
            yield StrictTalk(client, strict, server)
        finally:
            await asyncio.to_thread(client.close)
    left = programs() - before
    assert not left, f"left behind: {left}"


def programs() -> set[int]:
    """The programs that this process has started itself and that still run."""
    found = psutil.Process().children()
    return {child.pid for child in found if child.status() != psutil.STATUS_ZOMBIE}


def _is_result(event: StreamEvent) -> bool:
    return event.type == "messages-tuple" and event.data["type"] == "tool"


def _last_text(events: Sequence[StreamEvent]) -> str:
    """The text of the last answer."""
    values = [event.data for event in events if event.type == "values"]
    content = values[-1]["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)
