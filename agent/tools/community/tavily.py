"""Tavily: search, and pages by its extraction (https://docs.tavily.com, seen 2026-11)."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import SecretStr

from agent.errors import WebFailed
from agent.tools.community.guard import Guard, checked_url
from agent.tools.community.rendering import fetch_tool, format_results, titled
from agent.tools.community.service import Service, bearer
from agent.tools.community.settings import FetchSettings, SearchSettings, ServiceSettings

ROOT = "https://api.tavily.com"
SNIPPET = 1_000
"""Characters of a result that the model sees."""


class TavilySearch(SearchSettings, ServiceSettings):
    """Further keys of the search."""

    api_key: SecretStr
    base_url: str = ROOT


class TavilyFetch(FetchSettings, ServiceSettings):
    """Further keys of the fetch."""

    api_key: SecretStr
    base_url: str = ROOT


def web_search_tool(**keys: Any) -> BaseTool:
    """The tool `web_search`. Raises ValueError for keys that do not fit."""
    settings = TavilySearch.of(keys)
    service = _service(settings)

    @tool
    async def web_search(query: str) -> str:
        """Search the web: titles, addresses and what the pages say about it.

        Args:
            query: What to look for, in a few words or as a question.
        """
        asked = {"query": query, "max_results": settings.max_results, "search_depth": "basic"}
        found = (await service.json("POST", "/search", body=asked)).get("results") or []
        return format_results(_result(one) for one in found[: settings.max_results])

    web_search.metadata = {"idempotent": True}
    return web_search


def web_fetch_tool(**keys: Any) -> BaseTool:
    """The tool `web_fetch`. Raises ValueError for keys that do not fit."""
    settings = TavilyFetch.of(keys)
    reading = partial(read, service=_service(settings), guard=Guard())
    return fetch_tool(reading, most=settings.max_characters)


async def read(url: str, *, service: Service, guard: Guard) -> str:
    """The text of a page. Raises WebRefused or WebFailed."""
    await guard.addresses(checked_url(url))
    asked = {"urls": [url.strip()], "extract_depth": "basic", "format": "markdown"}
    found = await service.json("POST", "/extract", body=asked)
    if failed := found.get("failed_results"):
        raise WebFailed(f"Tavily can't read it: {str(failed[0].get('error') or 'no reason given')[:120]}")
    if not (results := found.get("results")):
        raise WebFailed("Tavily found no text there")
    return titled(str(results[0].get("title") or ""), str(results[0].get("raw_content") or ""))


def _service(settings: ServiceSettings) -> Service:
    return Service("Tavily", settings.base_url, settings.timeout_seconds, bearer(settings.key))


def _result(one: dict[str, Any]) -> tuple[str, list[str]]:
    snippet = " ".join(str(one.get("content") or "").split())
    if len(snippet) > SNIPPET:
        snippet = f"{snippet[: SNIPPET - 1]}…"
    return str(one.get("title") or ""), [str(one.get("url") or ""), snippet]
