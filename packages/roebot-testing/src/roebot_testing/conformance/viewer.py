"""Read Markdown and the page's HTML as people see them, with parsers that the product does not use."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

INVISIBLE = dict.fromkeys(map(ord, "\u2060\u200b"))


@dataclass
class Read:
    """A text without markup, its code blocks, and where its links lead."""

    text: str = ""
    code: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


def read_markdown(markdown: str) -> Read:
    """Return Markdown as shown by a client that supports tables and shows tags literally."""
    read = Read()
    lines: list[str] = []
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for token in parser.parse(markdown.translate(INVISIBLE)):
        if token.type in ("fence", "code_block"):
            read.code.append(token.content.removesuffix("\n"))
            lines.append(read.code[-1])
        elif token.type == "html_block":
            lines.append(token.content.rstrip("\n"))
        elif token.type == "list_item_open" and token.info:
            lines.append(f"{token.info}{token.markup}")
        elif token.type == "inline":
            lines.append("".join(_inline(child, read) for child in token.children or ()))
    read.text = "\n".join(lines)
    return read


def _inline(token: Token, read: Read) -> str:
    if token.type == "link_open":
        read.links.append(str(token.attrs["href"]))
        return ""
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    return token.content


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = Read()
        self._code = False
        self._number = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.read.links.append(given.get("href") or "")
        elif tag == "pre":
            self._code = True
            self.read.code.append("")
        elif tag == "ol":
            self._number = int(given.get("start") or 1)
        elif tag == "ul":
            self._number = 0
        elif tag == "li" and self._number:
            self.read.text += f"{self._number}. "
            self._number += 1
        elif tag == "br":
            self.read.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._code = False
        if tag in ("p", "li", "pre", "h1", "h2", "h3", "h4", "tr", "td", "th"):
            self.read.text += "\n"

    def handle_data(self, data: str) -> None:
        if self._code:
            self.read.code[-1] += data
        elif self.read.text.endswith("\n"):
            data = data.lstrip("\n")
        self.read.text += data


def read_html(html: str) -> Read:
    """Return the page's visible content."""
    page = _Page()
    page.feed(html)
    page.close()
    page.read.text = page.read.text.strip("\n")
    page.read.code = [code.removesuffix("\n") for code in page.read.code]
    return page.read
