"""Doubles of Tavily, Jina Reader and Firecrawl that reject what the services reject.

Sources, read 2026-11:

- Tavily: the OpenAPI document of its REST API as in tryAGI/Tavily (src/libs/Tavily/openapi.yaml); the limit
  of 400 characters in its page "Best Practices for Search"; errors as tavily-python reads them.
- Jina Reader: jina-ai/reader, src/dto/crawler-options.ts (formats and headers; "Max 180" for the time limit).
- Firecrawl: firecrawl/firecrawl, apps/api/src/controllers/v2/types.ts (`strictObject`: unknown keys are
  refused; `timeout` is an integer of at least 1,000; a URL needs a top-level domain or an IP address).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import httpx
import respx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Answer = dict[str, Any]
BodyT = TypeVar("BodyT", bound="Strict")
TAVILY, JINA, FIRECRAWL = "https://api.tavily.com", "https://r.jina.ai", "https://api.firecrawl.dev"
_FORMATS = frozenset({"content", "markdown", "html", "text", "pageshot", "screenshot"})
_HOST = re.compile(r"^https?://(?:[^/?#@]+\.[a-z]{2,}|\d+(?:\.\d+){3})(?::\d+)?(?:[/?#]|$)", re.IGNORECASE)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TavilySearchBody(Strict):
    query: str = Field(min_length=1)
    search_depth: Literal["basic", "advanced", "fast", "ultra-fast"] = "basic"
    max_results: int = Field(5, ge=0, le=20)
    topic: Literal["general", "news", "finance"] = "general"


class TavilyExtractBody(Strict):
    urls: str | Annotated[list[str], Field(min_length=1, max_length=20)]
    extract_depth: Literal["basic", "advanced"] = "basic"
    format: Literal["markdown", "text"] = "markdown"
    timeout: float | None = Field(None, ge=1, le=60)


class FirecrawlBody(Strict):
    url: str
    formats: list[Literal["markdown", "html", "rawHtml", "links", "images", "summary"]] = ["markdown"]
    onlyMainContent: bool = True
    timeout: int | None = Field(None, ge=1_000)
    waitFor: int = Field(0, ge=0, le=60_000)


class Refused(Exception):
    """The service answers with this status and text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class StrictServices:
    """Answers by service; `pages` are Markdown (Tavily, Firecrawl) or HTML (Jina) by address."""

    def __init__(self, router: respx.MockRouter, pages: dict[str, str] | None = None) -> None:
        self.pages = pages or {}
        self.results: list[Answer] = []
        self.refusals: list[str] = []
        self._route(router, f"{TAVILY}/search", self._search, _tavily_error)
        self._route(router, f"{TAVILY}/extract", self._extract, _tavily_error)
        self._route(router, f"{FIRECRAWL}/v2/scrape", self._scrape, _firecrawl_error)
        self._route(router, f"{JINA}/", self._render, _jina_error)

    def _route(
        self,
        router: respx.MockRouter,
        url: str,
        answer: Callable[[httpx.Request], httpx.Response],
        to_error: Callable[[str], Answer],
    ) -> None:
        def respond(request: httpx.Request) -> httpx.Response:
            try:
                if request.headers.get("content-type") != "application/json":
                    raise Refused(415, "expected application/json")
                return answer(request)
            except Refused as refused:
                self.refusals.append(str(refused))
                return httpx.Response(refused.status, json=to_error(str(refused)))

        router.post(url).mock(side_effect=respond)

    def _search(self, request: httpx.Request) -> httpx.Response:
        _check_key(request, "tvly-")
        body = _read(TavilySearchBody, request)
        if len(body.query) > 400:
            raise Refused(400, "Query is too long. Max query length is 400 characters.")
        answer = {"query": body.query, "answer": None, "images": [], "follow_up_questions": None}
        results = self.results[: body.max_results]
        return httpx.Response(
            200, json={**answer, "results": results, "response_time": 1.1, "request_id": "1"}
        )

    def _extract(self, request: httpx.Request) -> httpx.Response:
        _check_key(request, "tvly-")
        body = _read(TavilyExtractBody, request)
        urls = [body.urls] if isinstance(body.urls, str) else body.urls
        known = [{"url": url, "raw_content": self.pages[url]} for url in urls if url in self.pages]
        failed = [{"url": url, "error": "Failed to fetch url"} for url in urls if url not in self.pages]
        answer = {"results": known, "failed_results": failed, "response_time": 0.02, "request_id": "1"}
        return httpx.Response(200, json=answer)

    def _scrape(self, request: httpx.Request) -> httpx.Response:
        _check_key(request, "fc-")
        body = _read(FirecrawlBody, request)
        if not _HOST.match(body.url):
            raise Refused(400, "URL must have a valid top-level domain or be an IP address")
        if body.url not in self.pages:
            raise Refused(500, "The URL failed to load in the browser")
        about = {"title": "A page", "sourceURL": body.url, "statusCode": 200, "contentType": "text/html"}
        return httpx.Response(
            200, json={"success": True, "data": {"markdown": self.pages[body.url], "metadata": about}}
        )

    def _render(self, request: httpx.Request) -> httpx.Response:
        if "authorization" in request.headers:
            _check_key(request, "jina_")
        body = json.loads(request.content)
        if set(body) != {"url"} or not _HOST.match(body["url"]):
            raise Refused(400, "Invalid URL")
        form = request.headers.get("x-return-format", "content")
        if form not in _FORMATS:
            raise Refused(400, f"unknown format {form}")
        if not 0 < int(request.headers.get("x-timeout", "1")) <= 180:
            raise Refused(400, "Invalid timeout")
        if request.headers.get("accept") != "text/plain":
            raise Refused(406, "this double answers with text only")
        if body["url"] not in self.pages:
            raise Refused(422, f"Failed to goto {body['url']}")
        return httpx.Response(200, text=self.pages[body["url"]], headers={"content-type": "text/plain"})


def _tavily_error(text: str) -> Answer:
    return {"detail": {"error": text}}


def _firecrawl_error(text: str) -> Answer:
    return {"success": False, "error": text}


def _jina_error(text: str) -> Answer:
    return {"data": None, "code": 400, "name": "ParamValidationError", "message": text}


def _read(schema: type[BodyT], request: httpx.Request) -> BodyT:
    try:
        return schema.model_validate_json(request.content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Refused(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _check_key(request: httpx.Request, start: str) -> None:
    if not request.headers.get("authorization", "").startswith(f"Bearer {start}"):
        raise Refused(401, "Unauthorized: missing or invalid API key.")
