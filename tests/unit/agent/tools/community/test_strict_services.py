"""Web tools of services with a key, against doubles as strict as the services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import respx
from langchain_core.tools import BaseTool
from lxml import html

from agent.errors import WebFailed
from agent.tools.community import duckduckgo, firecrawl, jina, tavily
from agent.tools.community.duckduckgo_page import parse_results
from agent.tools.community.service import WebService, bearer
from tests.unit.agent.tools.community.duckduckgo_site import result
from tests.unit.agent.tools.community.local_site import PUBLIC, guard
from tests.unit.agent.tools.community.strict_services import FIRECRAWL, TAVILY, StrictServices

PAGE = "https://site.test/page"
BY = guard(site_test=PUBLIC)
ARTICLE = (
    f"<html><head><title>News</title></head><body><main><p>{'All of it. ' * 30}</p></main></body></html>"
)


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    with respx.mock(assert_all_called=False) as router:
        yield router


@pytest.fixture(autouse=True)
def public_site(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tavily, jina, firecrawl):
        monkeypatch.setattr(module, "Guard", lambda: BY)


def reader(kind: str, key: str = "") -> BaseTool:
    """The page tool of a service as it is configured."""
    if kind == "tavily":
        return tavily.web_fetch_tool(api_key=key or "tvly-x")
    if kind == "firecrawl":
        return firecrawl.web_fetch_tool(api_key=key or "fc-x", timeout_seconds=1)
    return jina.web_fetch_tool(timeout_seconds=300, **({"api_key": key} if key else {}))


@pytest.mark.guard(
    "Jina: the time limit is at most 180 seconds",
    "agent/tools/community/jina.py",
    "str(min(math.ceil(settings.timeout_seconds), MOST_SECONDS))",
    "str(math.ceil(settings.timeout_seconds))",
    against="rejected requests",
)
@pytest.mark.parametrize("kind", ["tavily", "jina", "firecrawl"])
async def test_each_service_reads_a_page(api: respx.MockRouter, kind: str) -> None:
    services = StrictServices(api, {PAGE: ARTICLE if kind == "jina" else "# News\n\nAll of it."})
    text = await reader(kind).ainvoke({"url": PAGE})
    assert "All of it." in text
    assert services.refusals == []
    with pytest.raises(WebFailed):
        await reader(kind).ainvoke({"url": "https://site.test/gone"})


@pytest.mark.parametrize("kind", ["tavily", "jina", "firecrawl"])
async def test_a_wrong_key_is_told(api: respx.MockRouter, kind: str) -> None:
    services = StrictServices(api, {PAGE: ARTICLE})
    with pytest.raises(WebFailed, match=r"API key|api_key"):
        await reader(kind, "wrong").ainvoke({"url": PAGE})
    assert services.refusals == ["Unauthorized: missing or invalid API key."]


@pytest.mark.guard(
    "Tavily: a question has at most 400 characters",
    "agent/tools/community/tavily.py",
    '" ".join(query.split())[:QUERY_CHARACTERS]',
    "query",
    against="rejected requests",
)
@pytest.mark.parametrize("query", ["weather", "天气 " * 300, " \n".join(["word"] * 500), "x" * 401])
async def test_every_question_is_accepted(api: respx.MockRouter, query: str) -> None:
    services = StrictServices(api)
    services.results = [{"title": "T", "url": PAGE, "content": "C", "score": 0.5, "raw_content": None}]
    tool = tavily.web_search_tool(api_key="tvly-x", max_results=20)
    assert await tool.ainvoke({"query": query}) == f"1. T\n   {PAGE}\n   C"
    assert services.refusals == []


def test_every_search_tool_has_the_same_name_and_arguments() -> None:
    tools = [tavily.web_search_tool(api_key="tvly-x"), duckduckgo.web_search_tool()]
    assert {(tool.name, *tool.args) for tool in tools} == {("web_search", "query")}
    assert len({tool.description for tool in tools}) == 1, "a model can't tell which one is configured"
    assert {reader(kind).name for kind in ("tavily", "jina", "firecrawl")} == {"web_fetch"}


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        (f"{TAVILY}/search", {"query": "x" * 401}, "too long"),
        (f"{TAVILY}/search", {"query": "q", "max_results": 21}, "max_results"),
        (f"{TAVILY}/search", {"query": "q", "search_depth": "deep"}, "search_depth"),
        (f"{TAVILY}/search", {"query": "q", "api_key": "x"}, "api_key"),
        (f"{TAVILY}/search", {}, "query"),
        (f"{TAVILY}/extract", {"urls": []}, "urls"),
        (f"{TAVILY}/extract", {"urls": [PAGE], "format": "html"}, "format"),
        (f"{FIRECRAWL}/v2/scrape", {"url": PAGE, "timeout": 900}, "timeout"),
        (f"{FIRECRAWL}/v2/scrape", {"url": PAGE, "timeout": 1_000.5}, "timeout"),
        (f"{FIRECRAWL}/v2/scrape", {"url": PAGE, "pageOptions": {}}, "pageOptions"),
        (f"{FIRECRAWL}/v2/scrape", {"url": "https://localhost/"}, "top-level domain"),
        (f"{FIRECRAWL}/v2/scrape", {"url": PAGE, "formats": ["md"]}, "formats"),
    ],
)
async def test_the_doubles_are_strict(api: respx.MockRouter, path: str, body: Any, why: str) -> None:
    services = StrictServices(api, {PAGE: "text"})
    key = "tvly-x" if path.startswith(TAVILY) else "fc-x"
    async with httpx.AsyncClient(headers=bearer(key)) as client:
        response = await client.post(path, json=body)
    assert response.status_code == 400
    assert [why in refusal for refusal in services.refusals] == [True]


@pytest.mark.parametrize(
    "headers", [{"x-return-format": "pdf"}, {"x-timeout": "181"}, {"accept": "application/json"}]
)
async def test_the_reader_is_strict(api: respx.MockRouter, headers: dict[str, str]) -> None:
    StrictServices(api, {PAGE: "text"})
    service = WebService("Jina", "https://r.jina.ai", 5.0, {"accept": "text/plain", **headers})
    with pytest.raises(WebFailed):
        await service.text("POST", "/", body={"url": PAGE})


def test_the_open_client_reads_the_same_results() -> None:
    """ddgs (ddgs/engines/duckduckgo.py) finds results by these paths."""
    listed = [("A & B", "https://a.test/?q=1&x=2", "About <b>it</b>"), ("B", "https://b.test/", "")]
    page = "".join(result(html_escape(title), url, about) for title, url, about in listed)
    page = f"<html><body><div id='links' class='results'>{page}</div></body></html>"
    found = parse_results(page)
    assert found is not None
    items = html.fromstring(page).xpath("//div[contains(@class, 'body')]")
    titles = ["".join(text for text in item.xpath(".//h2//text()") if text.strip()) for item in items]
    bodies = ["".join(text for text in item.xpath("./a//text()") if text.strip()) for item in items]
    assert [one.title for one in found] == titles == ["A & B", "B"]
    assert [one.snippet for one in found] == bodies == ["About it", ""]
    assert [one.url for one in found] == [url for _, url, _ in listed]


def html_escape(text: str) -> str:
    return text.replace("&", "&amp;")
