"""Read pages with Firecrawl, which returns Markdown (https://docs.firecrawl.dev, API v2, 2026-11)."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import Field

from agent.errors import WebFailed
from agent.tools.community.guard import Guard, parse_url
from agent.tools.community.page_reader import add_title
from agent.tools.community.rendering import fetch_tool
from agent.tools.community.service import FetchSettings, ServiceSettings, WebService, bearer


class FirecrawlFetch(FetchSettings, ServiceSettings):
    """Settings of the tool; a self-hosted Firecrawl needs `base_url` but no `api_key`."""

    base_url: str = "https://api.firecrawl.dev"
    timeout_seconds: float = Field(40.0, gt=0, le=300)


def web_fetch_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_fetch`. Raises ValueError for invalid keys."""
    settings = FirecrawlFetch.of(keys)
    service = WebService("Firecrawl", settings.base_url, settings.timeout_seconds, bearer(settings.key))
    return fetch_tool(partial(read, service=service, guard=Guard()), most=settings.max_characters)


async def read(url: str, *, service: WebService, guard: Guard) -> str:
    """Return the text of a page. Raises WebRefused or WebFailed."""
    await guard.addresses(parse_url(url))
    body = {
        "url": url.strip(),
        "formats": ["markdown"],
        "onlyMainContent": True,
        "timeout": max(1_000, int(service.seconds * 900)),
    }
    found = await service.json("POST", "/v2/scrape", body=body)
    data = found.get("data")
    if not found.get("success") or not isinstance(data, dict):
        raise WebFailed(
            f"Firecrawl can't read the page: {str(found.get('error') or 'no reason given')[:120]}"
        )
    about = data.get("metadata") or {}
    if isinstance(status := about.get("statusCode"), int) and status >= 400:
        raise WebFailed(f"the page returned status {status}")
    return add_title(str(about.get("title") or ""), str(data.get("markdown") or ""))
