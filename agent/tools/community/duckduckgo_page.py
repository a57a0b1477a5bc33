"""Read the result page of DuckDuckGo's search without JavaScript. Needs the packages of the extra `web`.

There is no published schema. The structure follows two maintained clients, read 2026-11: SearXNG
(searx/engines/duckduckgo.py: `#links` contains the results of class `web-result`; for suspected robots, a
form `challenge-form` replaces them) and ddgs (ddgs/engines/duckduckgo.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from agent.shared.html import parse_html
from agent.tools.community.page_child import SearchResult

_RESULT = ".//div[contains(concat(' ', normalize-space(@class), ' '), ' web-result ')]"
_AD = "result--ad"
_TITLE = ".//h2//a[@href]"
_SNIPPET = ".//*[contains(concat(' ', normalize-space(@class), ' '), ' result__snippet ')]"
_OWN_HOST = "duckduckgo.com"


def parse_results(page: str) -> list[SearchResult] | None:
    """Return the results without advertisements, or None if the page is not a list of results. Blocking."""
    root = parse_html(page)
    if root is None or root.xpath("//form[@id='challenge-form']"):
        return None
    lists = root.xpath("//*[@id='links']")
    return list(_read_results(lists[0])) if lists else None


def _read_results(results: Any) -> Iterator[SearchResult]:
    for result in results.xpath(_RESULT):
        links = [] if _AD in result.get("class") else result.xpath(_TITLE)
        url = _find_target(str(links[0].get("href"))) if links else ""
        if url:
            snippets = result.xpath(_SNIPPET)
            yield SearchResult(_text_of(links[0]), url, _text_of(snippets[0]) if snippets else "")


def _find_target(link: str) -> str:
    """Return a link's target, which may lead through DuckDuckGo; "" if there is none."""
    try:
        whole = urljoin(f"https://{_OWN_HOST}/", link.strip())
        parts = urlsplit(whole)
        host = parts.hostname or ""
        if host == _OWN_HOST or host.endswith(f".{_OWN_HOST}"):
            whole = parse_qs(parts.query).get("uddg", [""])[0]
        return whole if urlsplit(whole).scheme in {"http", "https"} else ""
    except ValueError:
        return ""


def _text_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())
