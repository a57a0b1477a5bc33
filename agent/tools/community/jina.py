"""Read pages with Jina Reader, which renders them in a browser (https://jina.ai/reader)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool

from agent.tools.community.guard import Guard, parse_url
from agent.tools.community.page_reader import read_article
from agent.tools.community.rendering import fetch_tool
from agent.tools.community.service import FetchSettings, ServiceSettings, WebService, bearer

MOST_SECONDS = 180
"""Longest time limit of the service (header X-Timeout)."""


class JinaFetch(FetchSettings, ServiceSettings):
    """Settings of the tool; without `api_key` Jina answers only a few calls per minute."""

    base_url: str = "https://r.jina.ai"


def web_fetch_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_fetch`. Raises ValueError for invalid keys."""
    settings = JinaFetch.of(keys)
    headers = {
        "x-return-format": "html",
        "x-timeout": str(min(math.ceil(settings.timeout_seconds), MOST_SECONDS)),
        "accept": "text/plain",
        **bearer(settings.key),
    }
    service = WebService("Jina", settings.base_url, settings.timeout_seconds, headers)
    return fetch_tool(partial(read, service=service, guard=Guard()), most=settings.max_characters)


async def read(url: str, *, service: WebService, guard: Guard) -> str:
    """Return the text of a page. Raises WebRefused or WebFailed."""
    await guard.addresses(parse_url(url))
    page = await service.text("POST", "/", body={"url": url.strip()})
    return await read_article(page.encode("utf-8", "replace"), url.strip(), "utf-8")
