"""Web tools as the configuration names them, and in a run of the agent."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.config.harness import ToolEntry
from agent.errors import ToolUnavailable
from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.tools.assembly import load_tool
from agent.tools.community import direct
from agent.tools.community.fetching import FetchLimits
from agent.tools.community.rendering import fetch_tool
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.unit.agent.tools.community.local_site import PUBLIC, guard, site

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "add-web-tools.md"
BASE = "agent.tools.community."


def entry(use: str, **keys: Any) -> ToolEntry:
    return ToolEntry.model_validate({"name": "mine", "group": "web", "use": BASE + use, **keys})


@pytest.mark.parametrize(
    "use",
    [
        "tavily:web_search_tool",
        "tavily:web_fetch_tool",
        "jina:web_fetch_tool",
        "firecrawl:web_fetch_tool",
        "direct:web_fetch_tool",
        "duckduckgo:web_search_tool",
        "duckduckgo:image_search_tool",
    ],
)
def test_each_is_made_of_an_entry_and_on_the_page(use: str) -> None:
    keys = {"api_key": "k"} if use.startswith(("tavily", "jina", "firecrawl")) else {}
    tool = load_tool(entry(use, timeout_seconds="7", **keys))
    assert tool.name == "mine"
    assert (tool.metadata or {})["idempotent"]
    assert set(tool.args) in ({"url", "start"}, {"query"})
    assert f"| `{use}` |" in PAGE.read_text()


@pytest.mark.parametrize(
    ("use", "keys", "told"),
    [
        ("tavily:web_search_tool", {}, "api_key: Field required"),
        ("tavily:web_search_tool", {"api_key": "tvly-sec", "max_result": 5}, "max_result: Extra inputs"),
        (
            "tavily:web_search_tool",
            {"api_key": "tvly-sec", "max_results": 50},
            "max_results: Input should be less",
        ),
        ("tavily:web_fetch_tool", {"api_key": "tvly-sec", "base_url": "ftp://x"}, "the root of an API"),
        ("jina:web_fetch_tool", {"base_url": "https://h/?a=b"}, "the root of an API"),
        ("firecrawl:web_fetch_tool", {"timeout_seconds": 0}, "timeout_seconds: Input should be greater"),
        ("direct:web_fetch_tool", {"api_key": "k"}, "api_key: Extra inputs"),
        ("direct:web_fetch_tool", {"max_bytes": 1}, "max_bytes: Input should be greater"),
        ("duckduckgo:web_search_tool", {"safe_search": False}, "safe_search: Extra inputs"),
        ("duckduckgo:image_search_tool", {"region": "everywhere"}, "region: String should match"),
        ("nowhere:web_fetch_tool", {}, "no module agent.tools.community.nowhere"),
    ],
)
def test_keys_that_do_not_fit_stop_the_start(use: str, keys: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolUnavailable, match=told) as error:
        load_tool(entry(use, **keys))
    assert "tvly-sec" not in str(error.value)


@pytest.mark.parametrize(
    "use", ["direct:web_fetch_tool", "jina:web_fetch_tool", "duckduckgo:web_search_tool"]
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, use: str) -> None:
    for name in ("direct", "jina", "page_reader", "rendering", "duckduckgo", "duckduckgo_page"):
        monkeypatch.delitem(sys.modules, BASE + name, raising=False)
    monkeypatch.delitem(sys.modules, "agent.shared.html", raising=False)
    monkeypatch.setitem(sys.modules, "lxml", None)  # type: ignore[arg-type]
    with pytest.raises(ToolUnavailable, match=r"needs the package lxml.*pip install 'roebot\[web\]'"):
        load_tool(entry(use))


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    settings = direct.DirectSettings()
    assert f"`max_characters: {settings.max_characters}`, `max_bytes: {settings.max_bytes}`" in text
    assert f"(default: {settings.timeout_seconds:g}; Firecrawl: 40)" in text


async def test_a_run_reads_a_page_and_hears_why_it_cannot(tmp_path: Path) -> None:
    async with site() as here:
        here.page("/", "<title>News</title><p>It rains.</p>", "Content-Type: text/html")
        here.leads("/trap", f"http://127.0.0.2:{here.port}/")
        reading = partial(direct.read, guard=guard(site_test=PUBLIC), limits=FetchLimits())
        uses = [ToolUse("web_fetch", {"url": here.url(path)}) for path in ("/", "/trap", "/none")]
        model = ScriptedChatModel(steps=(Script(tools=tuple(uses)), Script(reply="read")), environ={})
        graph = create_agent_graph(
            model,
            [fetch_tool(reading, most=4_096)],
            features=RuntimeFeatures(sandbox=False),
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": "t"}}
        found = await graph.ainvoke({"messages": [HumanMessage("news?")]}, config)
    results = [message for message in found["messages"] if isinstance(message, ToolMessage)]
    assert [message.status for message in results] == ["success", "error", "error"]
    assert results[0].text == "# News\n\nIt rains."
    assert "The tool web_fetch failed: " in results[1].text
    assert "site.test returned 404" in results[2].text
    assert [head.split()[1] for head in here.heads].count("/") == 1
