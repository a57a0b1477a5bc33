"""Read web pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from agent.shared.html_charset import decode_html, guess_charset
from agent.uploads.documents.tables import cell


def read_web_page(file: BinaryIO, _notes: list[str]) -> Iterator[str]:
    """Yield the Markdown. A page without a first-level heading starts with its title."""
    data = file.read()
    yield from _render(decode_html(data, guess_charset(data)))


def render_fragment(fragment: str) -> str:
    """Render a piece of HTML as Markdown that ends with a newline; "" if it has no text."""
    return "".join(_render(fragment))


def _render(page: str) -> Iterator[str]:
    from agent.shared.html import parse_html, render_markdown

    root = parse_html(page, refuse_deep=True)
    if root is None:
        return
    title = cell(root.findtext(".//title") or "")
    if title and root.find(".//h1") is None:
        yield f"# {title}\n\n"
    for picture in root.iter("img"):
        picture.tag, picture.text = "span", picture.get("alt")
    if text := render_markdown(root):
        yield f"{text}\n"
