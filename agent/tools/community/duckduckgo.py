"""Search the web and images with DuckDuckGo, as its pages do. No API key.

There is no published API; requests and answers follow open clients (2026-11). Web search submits the form
of the page without JavaScript, with the fields of a browser's first request: `q` of at most 499 characters,
an empty `b`, and the region `kl` (SearXNG, searx/engines/duckduckgo.py). An address that sends many
requests, or fields that a browser does not send, gets a CAPTCHA, mostly with status 202, and nothing else
for a while; each further request prolongs that. So requests are spaced, and none is sent for some minutes
after a CAPTCHA. Image search needs a token from the page, then reads the list.

A page that is no list of results is never reported as "nothing found". ddgs (9.16) is not used: its own
client knows neither our certificates nor our limits on time and size, and blocks a thread. The Instant Answer
API has no web results, and public SearXNG instances refuse programs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import Field

from agent.core.tool_order import ORDER, Order
from agent.errors import WebFailed
from agent.tools.community.pace import RequestPace
from agent.tools.community.page_reader import read_results
from agent.tools.community.rendering import format_results, search_tool
from agent.tools.community.service import SearchSettings, ServiceSettings, WebService
from agent.tools.documented_tool import documented_tool

NAME = "DuckDuckGo"
QUERY_CHARACTERS = 499
REGION = r"^[a-z]{2}-[a-z]{2,4}$"
_TOKEN = re.compile(r"vqd=[\"']?(?P<token>\d[\d-]{5,80})")


class DuckDuckGoSearch(SearchSettings, ServiceSettings):
    """Settings: `region` such as us-en or cn-zh (wt-wt: none)."""

    base_url: str = "https://html.duckduckgo.com"
    region: str = Field("wt-wt", pattern=REGION)


def web_search_tool(**keys: Any) -> BaseTool:
    """Create the tool `web_search`. Raises ValueError for invalid keys."""
    settings = DuckDuckGoSearch.of(keys)
    return search_tool(lambda query: search_web(query, settings, pace_of(settings.base_url)))


@cache
def pace_of(base_url: str) -> RequestPace:
    """Return the pace shared by all searches of this process."""
    return RequestPace(NAME)


async def search_web(query: str, settings: DuckDuckGoSearch, pace: RequestPace) -> str:
    """Search the web and return the results as a list. Raises WebFailed."""
    await pace.wait()
    headers = {
        "referer": f"{settings.base_url}/",
        "accept": "text/html",
        "accept-language": "en;q=0.5,*;q=0.1",
    }
    service = WebService(NAME, settings.base_url, settings.timeout_seconds, headers)
    form = {"q": " ".join(query.split())[:QUERY_CHARACTERS], "b": "", "kl": settings.region}
    page = await service.text("POST", "/html/", form=form)
    results = await read_results(page)
    if results is None:
        pace.block()
        raise WebFailed(f"{NAME} returned a CAPTCHA instead of results; use another source for now")
    return format_results((one.title, [one.url, one.snippet]) for one in results[: settings.max_results])


class DuckDuckGoImages(SearchSettings, ServiceSettings):
    """Settings: `region` such as us-en or cn-zh (wt-wt: none), and `safe_search`."""

    base_url: str = "https://duckduckgo.com"
    region: str = Field("wt-wt", pattern=REGION)
    safe_search: bool = True


def image_search_tool(**keys: Any) -> BaseTool:
    """Create the tool `image_search`. Raises ValueError for invalid keys."""
    settings = DuckDuckGoImages.of(keys)

    @documented_tool
    async def image_search(query: str) -> str:
        """Search the web for images. Returns titles and the addresses of images and their pages.

        Args:
            query: A few words that describe the images.
        """
        return await search_images(query, settings)

    image_search.metadata = {"idempotent": True, ORDER: Order.FREE}
    return image_search


async def search_images(query: str, settings: DuckDuckGoImages) -> str:
    """Search images and return them as a list. Raises WebFailed."""
    headers = {"referer": f"{settings.base_url}/"}
    service = WebService(NAME, settings.base_url, settings.timeout_seconds, headers)
    page = await service.text("GET", "/", params={"q": query, "iax": "images", "ia": "images"})
    token = _TOKEN.search(page)
    if token is None:
        raise WebFailed(f"{NAME} did not return a search token; its rate limit may have been reached")
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
