"""Search images with DuckDuckGo as its web page does: a token from the page, then the list. No API key.

There is no published API; requests and answers follow open clients (2026-11).
"""

from __future__ import annotations

import re
from typing import Any

from langchain_core.tools import BaseTool, tool
from pydantic import Field

from agent.errors import WebFailed
from agent.tools.community.rendering import format_results
from agent.tools.community.service import SearchSettings, ServiceSettings, WebService

_TOKEN = re.compile(r"vqd=[\"']?(?P<token>\d[\d-]{5,80})")


class DuckDuckGoImages(SearchSettings, ServiceSettings):
    """Settings: `region` such as us-en or cn-zh (wt-wt: none), and `safe_search`."""

    base_url: str = "https://duckduckgo.com"
    region: str = Field("wt-wt", pattern=r"^[a-z]{2}-[a-z]{2,4}$")
    safe_search: bool = True


def image_search_tool(**keys: Any) -> BaseTool:
    """Create the tool `image_search`. Raises ValueError for invalid keys."""
    settings = DuckDuckGoImages.of(keys)

    @tool
    async def image_search(query: str) -> str:
        """Search the web for images. Returns titles and the addresses of images and their pages.

        Args:
            query: A few words that describe the images.
        """
        return await search(query, settings)

    image_search.metadata = {"idempotent": True}
    return image_search


async def search(query: str, settings: DuckDuckGoImages) -> str:
    """Search images and return them as a list. Raises WebFailed."""
    headers = {"referer": f"{settings.base_url}/"}
    service = WebService("DuckDuckGo", settings.base_url, settings.timeout_seconds, headers)
    page = await service.text("GET", "/", params={"q": query, "iax": "images", "ia": "images"})
    token = _TOKEN.search(page)
    if token is None:
        raise WebFailed("DuckDuckGo did not return a search token; its rate limit may have been reached")
    query_params = {
        "q": query,
        "l": settings.region,
        "o": "json",
        "f": ",,,,,",
        "p": "1" if settings.safe_search else "-1",
        "vqd": token["token"],
    }
    found = (await service.json("GET", "/i.js", params=query_params)).get("results") or []
    images = [one for one in found if str(one.get("image") or "").startswith(("http://", "https://"))]
    return format_results(_result(one) for one in images[: settings.max_results])


def _result(one: dict[str, Any]) -> tuple[str, list[str]]:
    size = f" ({one['width']}x{one['height']})" if one.get("width") and one.get("height") else ""
    lines = [f"image: {one['image']}", f"page: {one['url']}" if one.get("url") else ""]
    return f"{one.get('title') or ''}{size}", lines
