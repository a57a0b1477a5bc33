"""Search and read pages with Tavily (https://docs.tavily.com, 2026-11)."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import SecretStr

from agent.errors import WebFailed
from agent.shared.text import shorten, to_one_line
from agent.tools.community.guard import Guard, parse_url
from agent.tools.community.page_reader import add_title
from agent.tools.community.rendering import fetch_tool, format_results, search_tool
from agent.tools.community.service import FetchSettings, SearchSettings, ServiceSettings, WebService, bearer

ROOT = "https://api.tavily.com"
QUERY_CHARACTERS = 400
"""Longest query that the service accepts ("Best Practices for Search")."""
SNIPPET = 1_000
"""Characters of a search result for the model."""


class TavilySearch(SearchSettings, ServiceSettings):
    """Settings of the search tool."""

    api_key: SecretStr
    base_url: str = ROOT


class TavilyFetch(FetchSettings, ServiceSettings):
    """Settings of the fetch tool."""

    api_key: SecretStr
    base_url: str = ROOT


def web_search_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_search`. Raises ValueError for invalid keys."""
    settings = TavilySearch.of(keys)
    return search_tool(partial(search, service=_service(settings), most=settings.max_results))


async def search(query: str, *, service: WebService, most: int) -> str:
    """Search the web and return the results as a list. Raises WebFailed."""
    words = " ".join(query.split())[:QUERY_CHARACTERS]
    body = {"query": words, "max_results": most, "search_depth": "basic"}
    found = (await service.json("POST", "/search", body=body)).get("results") or []
    return format_results(_result(one) for one in found[:most])


def web_fetch_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_fetch`. Raises ValueError for invalid keys."""
    settings = TavilyFetch.of(keys)
    reading = partial(read, service=_service(settings), guard=Guard())
    return fetch_tool(reading, most=settings.max_characters)


async def read(url: str, *, service: WebService, guard: Guard) -> str:
    """Return the text of a page. Raises WebRefused or WebFailed."""
    await guard.addresses(parse_url(url))
    body = {"urls": [url.strip()], "extract_depth": "basic", "format": "markdown"}
    found = await service.json("POST", "/extract", body=body)
    if failed := found.get("failed_results"):
        raise WebFailed(
            f"Tavily can't read the page: {str(failed[0].get('error') or 'no reason given')[:120]}"
        )
    if not (results := found.get("results")):
        raise WebFailed("Tavily found no text on the page")
    return add_title(str(results[0].get("title") or ""), str(results[0].get("raw_content") or ""))


def _service(settings: ServiceSettings) -> WebService:
    return WebService("Tavily", settings.base_url, settings.timeout_seconds, bearer(settings.key))


def _result(one: dict[str, Any]) -> tuple[str, list[str]]:
    snippet = shorten(to_one_line(str(one.get("content") or "")), SNIPPET)
    return str(one.get("title") or ""), [str(one.get("url") or ""), snippet]
