"""Format pages and search results for a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from langchain_core.tools import BaseTool

from agent.core.argument_coercion import ALIASES
from agent.core.tool_order import ORDER, Order
from agent.errors import WebFailed
from agent.shared.html_charset import decode_html
from agent.shared.text import to_one_line
from agent.tools.community.fetching import FetchedPage
from agent.tools.community.page_reader import read_article
from agent.tools.documented_tool import documented_tool

Read = Callable[[str], Awaitable[str]]
"""Returns the text of the page at an address. Raises WebError."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = frozenset({"application/json", "application/xml", "application/javascript", "application/yaml"})


def fetch_tool(read: Read, *, most: int) -> BaseTool:
    """Create the tool `web_fetch` from a function that reads pages, returning up to `most` characters."""

    @documented_tool
    async def web_fetch(url: str, start: int = 0) -> str:
        """Read the text of a web page as Markdown. A long page is cut, and the end says where it goes on.

        Use only addresses that people gave you or that a tool returned; do not make them up. Pages that
        require signing in and addresses in private networks can't be read.

        Args:
            url: The full address, with https://.
            start: Number of characters to skip, to read on in a long page.
        """
        return shorten(await read(url), most, start)

    web_fetch.metadata = {
        "idempotent": True,
        ORDER: Order.FREE,
        ALIASES: {"start": ["offset", "start_index"]},
    }
    return web_fetch


def search_tool(search: Callable[[str], Awaitable[str]]) -> BaseTool:
    """Create the tool `web_search` from a function that returns the results of a query."""

    @documented_tool
    async def web_search(query: str) -> str:
        """Search the web. Returns titles, addresses and excerpts of pages.

        Args:
            query: A few keywords or a question.
        """
        return await search(query)

    web_search.metadata = {"idempotent": True, ORDER: Order.FREE}
    return web_search


def shorten(text: str, most: int, start: int = 0) -> str:
    """Return the text from `start`, cut to `most` characters with a note. Raises WebFailed without any."""
    text = text.strip()
    if not text:
        raise WebFailed("the page contains no text")
    if start >= len(text):
        raise WebFailed(f"the text of the page has only {len(text):,} characters")
    begin = max(start, 0)
    end = begin + most
    if end >= len(text):
        return text[begin:]
    return f"{text[begin:end].rstrip()}\n\n[{len(text) - end:,} more characters; go on with start={end}]"


def format_results(found: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Format results, each with a title and further lines, as a numbered list."""
    lines: list[str] = []
    for number, (title, more) in enumerate(found, 1):
        lines.append(f"{number}. {to_one_line(title) or '(no title)'}")
        lines += [f"   {to_one_line(line)}" for line in more if line]
    return "\n".join(lines) or "No results found."


async def page_text(fetched: FetchedPage) -> str:
    """Return a page's text, for HTML the article as Markdown. Raises WebFailed."""
    kind = fetched.media_type
    html = kind in _HTML or (not kind and fetched.body.lstrip()[:1] == b"<")
    is_text = kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))
    if not html and not is_text and (kind or b"\x00" in fetched.body[:1_024]):
        raise WebFailed(f"content of this type can't be read here ({kind or 'not text'})")
    if html:
        text = await read_article(fetched.body, fetched.url, fetched.charset)
    else:
        text = await asyncio.to_thread(decode_html, fetched.body, fetched.charset)
    note = "\n\n[the page was cut off because it is too long]" if fetched.cut else ""
    return f"{text}{note}" if text.strip() else ""
