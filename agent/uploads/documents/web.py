"""Web pages as Markdown."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from agent.uploads.documents.tables import cell

if TYPE_CHECKING:
    from markdownify import MarkdownConverter

# Not the head: where its end is left out, as it may be, the body is taken for a part of it.
_NOT_TEXT = ["script", "style", "noscript", "template", "title", "svg", "iframe", "object"]


def read(file: BinaryIO, _notes: list[str]) -> Iterator[str]:
    """The Markdown; a page without a heading of its own begins with its title."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(file.read(), "html.parser")
    title = cell(soup.title.get_text()) if soup.title else ""
    if title and soup.find("h1") is None:
        yield f"# {title}\n\n"
    yield markdown_of(soup)


def markdown_of(page: object) -> str:
    """The Markdown of a parsed page, or of its text. Pictures are left out, their descriptions stay."""
    from bs4 import BeautifulSoup

    soup = page if isinstance(page, BeautifulSoup) else BeautifulSoup(str(page), "html.parser")
    for tag in soup.find_all(_NOT_TEXT):
        tag.decompose()
    for picture in soup.find_all("img"):
        picture.replace_with(str(picture.get("alt") or ""))
    text: str = _converter().convert_soup(soup)
    return f"{text}\n" if text else ""


@functools.cache
def _converter() -> MarkdownConverter:
    from markdownify import MarkdownConverter

    return MarkdownConverter(heading_style="ATX", bullets="-", table_infer_header=True)
