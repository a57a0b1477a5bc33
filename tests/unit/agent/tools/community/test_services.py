"""The services behind web tools, on answers as they were recorded or are documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest
import respx
from langchain_core.tools import BaseTool

from agent.errors import WebFailed, WebRefused
from agent.tools.community import duckduckgo, firecrawl, jina, tavily
from agent.tools.community.guard import PORTS
from agent.tools.community.rendering import fetch_tool, shorten
from agent.tools.community.service import ANSWER_BYTES, WebService, bearer
from tests.unit.agent.tools.community.local_site import PRIVATE, PUBLIC, guard

BY = guard(site_test=PUBLIC, inner_test=PRIVATE)
PAGE = "https://site.test/page"


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    with respx.mock(assert_all_called=False) as router:
        yield router


def sent(route: respx.Route) -> tuple[Any, httpx.Headers]:
    """Body and headers of the one request."""
    assert route.call_count == 1
    request = route.calls.last.request
    return json.loads(request.content), request.headers


async def used(tool: BaseTool, **arguments: str) -> str:
    found = await tool.ainvoke(arguments)
    assert isinstance(found, str)
    return found


class TestTavily:
    SEARCH, EXTRACT = "https://api.tavily.com/search", "https://api.tavily.com/extract"

    async def test_a_search(self, api: respx.MockRouter) -> None:
        results = [
            {
                "title": f"Title\n {n}",
                "url": f"https://site.test/{n}",
                "content": "About it. " * n,
                "score": 0.9,
            }
            for n in (1, 300, 3, 4, 5, 6)
        ]
        answer = {"query": "q", "answer": None, "images": [], "results": results, "response_time": 1.1}
        route = api.post(self.SEARCH).respond(json=answer)
        text = await used(tavily.web_search_tool(api_key="tvly-x"), query="q")
        assert text.startswith("1. Title 1\n   https://site.test/1\n   About it.\n2. Title 300\n")
        assert "5. Title 5" in text
        assert "6." not in text
        assert max(map(len, text.splitlines())) < 1_100
        body, headers = sent(route)
        assert body == {"query": "q", "max_results": 5, "search_depth": "basic"}
        assert headers["authorization"] == "Bearer tvly-x"

    async def test_a_search_that_finds_nothing(self, api: respx.MockRouter) -> None:
        api.post(self.SEARCH).respond(json={"results": []})
        text = await used(tavily.web_search_tool(api_key="k", max_results=2), query="q")
        assert text == "No results found."

    def reader(self, **more: Any) -> BaseTool:
        service = WebService("Tavily", "https://api.tavily.com", 5.0, bearer("k"))
        return fetch_tool(partial(tavily.read, service=service, guard=BY), most=more.get("most", 4_096))

    async def test_a_page_is_cut_at_four_kilobytes(self, api: respx.MockRouter) -> None:
        page = {"url": PAGE, "title": "A page", "raw_content": "word " * 2_000, "images": []}
        route = api.post(self.EXTRACT).respond(json={"results": [page], "failed_results": []})
        text = await used(self.reader(), url=f" {PAGE} ")
        assert text.startswith("# A page\n\nword word")
        assert text.endswith("[5,913 more characters; go on with start=4096]")
        assert len(text) < 4_200
        assert sent(route)[0] == {"urls": [PAGE], "extract_depth": "basic", "format": "markdown"}

    @pytest.mark.parametrize(
        ("answer", "why"),
        [
            (
                {"results": [], "failed_results": [{"url": PAGE, "error": "Failed to fetch url"}]},
                "Failed to fetch",
            ),
            ({"results": [], "failed_results": [{"url": PAGE}]}, "no reason given"),
            ({"results": []}, "found no text"),
            ({"results": [{"url": PAGE, "raw_content": None}]}, "page contains no text"),
            ([], "unreadable response"),
        ],
    )
    async def test_a_page_that_it_cannot_read(self, api: respx.MockRouter, answer: Any, why: str) -> None:
        api.post(self.EXTRACT).respond(json=answer)
        with pytest.raises(WebFailed, match=why):
            await used(self.reader(), url=PAGE)


class TestJina:
    def reader(self) -> BaseTool:
        service = WebService("Jina", "https://r.jina.ai", 5.0)
        return fetch_tool(partial(jina.read, service=service, guard=BY), most=4_096)

    async def test_the_article_of_what_it_renders(self, api: respx.MockRouter) -> None:
        article = "<p>" + "The text of the article, which is long. " * 10 + "</p>"
        page = (
            f"<html><head><title>News</title></head><body><nav>Menu</nav><main>{article}</main></body></html>"
        )
        route = api.post("https://r.jina.ai/").respond(text=page, headers={"content-type": "text/plain"})
        text = await used(self.reader(), url=PAGE)
        assert text.startswith("# News\n\nThe text of the article")
        assert "Menu" not in text
        assert sent(route)[0] == {"url": PAGE}

    async def test_what_the_tool_asks_for(self, api: respx.MockRouter) -> None:
        route = api.post("https://reader.test/").respond(text="<p>hi</p>")
        tool = jina.web_fetch_tool(api_key="jina_x", base_url="https://reader.test/", timeout_seconds=9.5)
        with pytest.raises((WebRefused, WebFailed)):
            await used(tool, url="http://127.0.0.1/")
        assert route.call_count == 0
        await used(tool, url="http://8.8.8.8/")
        _, headers = sent(route)
        assert (headers["x-return-format"], headers["x-timeout"]) == ("html", "10")
        assert headers["authorization"] == "Bearer jina_x"

    async def test_without_a_key_none_is_sent(self, api: respx.MockRouter) -> None:
        route = api.post("https://r.jina.ai/").respond(text="<p>hi</p>")
        await used(self.reader(), url=PAGE)
        assert "authorization" not in sent(route)[1]


class TestFirecrawl:
    SCRAPE = "https://api.firecrawl.dev/v2/scrape"

    def reader(self) -> BaseTool:
        service = WebService("Firecrawl", "https://api.firecrawl.dev", 40.0, bearer("fc-x"))
        return fetch_tool(partial(firecrawl.read, service=service, guard=BY), most=4_096)

    async def test_a_page(self, api: respx.MockRouter) -> None:
        about = {"title": "A page", "sourceURL": PAGE, "statusCode": 200}
        answer = {"success": True, "data": {"markdown": "# A page\n\nText", "metadata": about}}
        route = api.post(self.SCRAPE).respond(json=answer)
        assert await used(self.reader(), url=PAGE) == "# A page\n\nText"
        body, headers = sent(route)
        asked = {"url": PAGE, "formats": ["markdown"], "onlyMainContent": True, "timeout": 36_000}
        assert (body, headers["authorization"]) == (asked, "Bearer fc-x")

    @pytest.mark.parametrize(
        ("answer", "why"),
        [
            ({"success": False, "error": "This website is not supported"}, "not supported"),
            ({"success": True}, "no reason given"),
            (
                {"success": True, "data": {"markdown": "x", "metadata": {"statusCode": 404}}},
                "returned status 404",
            ),
            ({"success": True, "data": {"markdown": ""}}, "page contains no text"),
        ],
    )
    async def test_a_page_that_it_cannot_read(self, api: respx.MockRouter, answer: Any, why: str) -> None:
        api.post(self.SCRAPE).respond(json=answer)
        with pytest.raises(WebFailed, match=why):
            await used(self.reader(), url=PAGE)


class TestDuckDuckGo:
    PAGE, LIST = "https://duckduckgo.com/", "https://duckduckgo.com/i.js"

    @pytest.mark.parametrize(
        "token", ['vqd="4-12345678901234567890"', "vqd='4-1234567'", "vqd=4-1234567&p=1"]
    )
    async def test_images(self, api: respx.MockRouter, token: str) -> None:
        api.get(self.PAGE).respond(text=f"<script>x;{token};y</script>")
        results = [
            {
                "title": f"Image {n}",
                "image": f"https://img.site.test/{n}.jpg",
                "thumbnail": "https://tse.mm.bing.net/th?id=1",
                "url": f"https://site.test/{n}",
                "width": 800,
                "height": 600,
                "source": "Bing",
            }
            for n in range(9)
        ]
        results[1] = {"image": "javascript:alert(1)"}
        results[2] = {"image": "http://img.site.test/bare.png"}
        route = api.get(self.LIST).respond(json={"query": "cats", "results": results, "next": "i.js?q=cats"})
        text = await used(duckduckgo.image_search_tool(region="us-en"), query="cats")
        first = "1. Image 0 (800x600)\n   image: https://img.site.test/0.jpg\n   page: https://site.test/0\n"
        assert text.startswith(f"{first}2. (no title)\n   image: http://img.site.test/bare.png\n3. Image 3")
        assert "Image 5" in text
        assert "Image 6" not in text
        asked = route.calls.last.request
        params = dict(asked.url.params)
        assert f"vqd={params.pop('vqd')}" in token.replace('"', "").replace("'", "")
        assert params == {"q": "cats", "l": "us-en", "o": "json", "f": ",,,,,", "p": "1"}
        assert asked.headers["referer"] == self.PAGE

    async def test_without_safe_search(self, api: respx.MockRouter) -> None:
        api.get(self.PAGE).respond(text="vqd=4-1234567&")
        route = api.get(self.LIST).respond(json={"results": []})
        tool = duckduckgo.image_search_tool(safe_search=False, max_results=1)
        assert await used(tool, query="cats") == "No results found."
        assert route.calls.last.request.url.params["p"] == "-1"

    async def test_a_page_without_a_token(self, api: respx.MockRouter) -> None:
        api.get(self.PAGE).respond(text="<p>vqd</p>")
        with pytest.raises(WebFailed, match="did not return a search token"):
            await used(duckduckgo.image_search_tool(), query="cats")


@pytest.mark.guard(
    "services with a key are not asked for private addresses",
    "agent/tools/community/tavily.py",
    "await guard.addresses(parse_url(url))",
    "parse_url(url)",
    against="private addresses",
)
@pytest.mark.parametrize(
    "url", ["http://inner.test/", "http://none.test/", "file:///x", "http://site.test:22/"]
)
async def test_no_service_hears_of_an_address_inside(api: respx.MockRouter, url: str) -> None:
    service = WebService("S", "https://s.test", 5.0)
    by = replace(BY, ports=PORTS)
    for read in (tavily.read, jina.read, firecrawl.read):
        with pytest.raises((WebRefused, WebFailed)):
            await read(url, service=service, guard=by)
    assert not api.calls


class TestTrouble:
    service = WebService("S", "https://s.test", 5.0, bearer("secret-key"))

    @pytest.mark.parametrize(
        ("status", "body", "told"),
        [
            (
                401,
                {"detail": {"error": "Unauthorized: missing or invalid API key."}},
                "API key; .*: Unauthorized",
            ),
            (
                402,
                {"code": 402, "message": "Account balance not enough"},
                "quota .* used up: Account balance",
            ),
            (403, {}, "check the `api_key`"),
            (429, {"detail": {"error": "Too many\n requests"}}, "try again later: Too many requests"),
            (432, {"detail": {"error": "over the limit"}}, "quota"),
            (400, {"error": "bad " * 100}, "S returned status 400: bad bad"),
            (404, ["x"], "S returned status 404$"),
            (302, {}, "S returned status 302$"),
            (503, {"error": 5}, r"unavailable \(status 503\)$"),
        ],
    )
    async def test_a_refusal(self, api: respx.MockRouter, status: int, body: Any, told: str) -> None:
        api.post("https://s.test/x").respond(status, json=body, headers={"location": "http://127.0.0.1/"})
        with pytest.raises(WebFailed, match=told) as error:
            await self.service.json("POST", "/x", body={})
        assert len(str(error.value)) < 250
        assert "secret-key" not in str(error.value)
        assert len(api.calls) == 1, "no redirect is followed, nothing is tried again"

    @pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'"x"', b"{"])
    async def test_an_answer_that_is_no_object(self, api: respx.MockRouter, body: bytes) -> None:
        api.get("https://s.test/x").respond(content=body)
        with pytest.raises(WebFailed, match="unreadable response"):
            await self.service.json("GET", "/x")

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (httpx.ConnectError("x"), r"can't be reached \(ConnectError\)"),
            (httpx.ReadTimeout("x"), "did not respond within 5 seconds"),
            (httpx.ReadError("x"), r"can't be reached \(ReadError\)"),
        ],
    )
    async def test_no_answer(self, api: respx.MockRouter, error: Exception, told: str) -> None:
        api.get("https://s.test/x").mock(side_effect=error)
        with pytest.raises(WebFailed, match=told):
            await self.service.text("GET", "/x")

    async def test_an_answer_without_end(self, api: respx.MockRouter) -> None:
        api.get("https://s.test/x").respond(content=b"x" * (ANSWER_BYTES + 1))
        with pytest.raises(WebFailed, match="more than 5,000,000 bytes"):
            await self.service.text("GET", "/x")

    def test_a_key_shows_in_no_repr(self) -> None:
        assert "secret" not in repr(self.service)


@pytest.mark.parametrize(
    ("start", "read"),
    [
        (0, "abcde\n\n[5 more characters; go on with start=5]"),
        (5, "fghij"),
        (8, "ij"),
        (-3, "abcde\n\n[5 more characters; go on with start=5]"),
    ],
)
def test_a_long_page_is_read_in_parts(start: int, read: str) -> None:
    assert shorten("abcdefghij", 5, start) == read


def test_beyond_the_end_of_a_page_the_text_says_how_long_it_is() -> None:
    with pytest.raises(WebFailed, match="has only 10 characters"):
        shorten("abcdefghij", 5, 10)
