"""Jina Reader renders a page in a browser; what is readable in it is found here (https://jina.ai/reader)."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import Any

from langchain_core.tools import BaseTool

from agent.tools.community.guard import Guard, checked_url
from agent.tools.community.readable import readable
from agent.tools.community.rendering import fetch_tool, titled
from agent.tools.community.service import Service, bearer
from agent.tools.community.settings import FetchSettings, ServiceSettings


class JinaFetch(FetchSettings, ServiceSettings):
    """Further keys of the fetch; without `api_key` Jina answers a few calls a minute."""

    base_url: str = "https://r.jina.ai"


def web_fetch_tool(**keys: Any) -> BaseTool:
    """The tool `web_fetch`. Raises ValueError for keys that do not fit."""
    settings = JinaFetch.of(keys)
    headers = {
        "x-return-format": "html",
        "x-timeout": str(math.ceil(settings.timeout_seconds)),
        "accept": "text/plain",
        **bearer(settings.key),
    }
    service = Service("Jina", settings.base_url, settings.timeout_seconds, headers)
    return fetch_tool(partial(read, service=service, guard=Guard()), most=settings.max_characters)


async def read(url: str, *, service: Service, guard: Guard) -> str:
    """The text of a page. Raises WebRefused or WebFailed."""
    await guard.addresses(checked_url(url))
    page = await service.text("POST", "/", body={"url": url.strip()})
    found = await asyncio.to_thread(readable, page, url.strip())
    return titled(found.title, found.text)
