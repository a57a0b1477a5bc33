"""Read web pages without a service, only from the public internet; see `guard`."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import Field

from agent.tools.community.fetching import FetchLimits, fetch
from agent.tools.community.guard import Guard
from agent.tools.community.rendering import fetch_tool, page_text
from agent.tools.community.service import FetchSettings


class DirectSettings(FetchSettings):
    """Settings of the tool; `max_bytes` is the largest body."""

    max_characters: int = Field(16_000, ge=200, le=200_000)
    max_bytes: int = Field(2_000_000, ge=10_000, le=20_000_000)


def web_fetch_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_fetch`. Raises ValueError for invalid keys."""
    settings = DirectSettings.of(keys)
    limits = FetchLimits(settings.timeout_seconds, settings.max_bytes)
    return fetch_tool(partial(read, guard=Guard(), limits=limits), most=settings.max_characters)


async def read(url: str, *, guard: Guard, limits: FetchLimits) -> str:
    """Return the text of a page. Raises WebRefused or WebFailed."""
    return await page_text(await fetch(url, guard=guard, limits=limits))
