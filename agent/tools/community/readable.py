"""Extract the article of a web page as Markdown, without navigation. Functions block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from agent.shared.html import parse_html, render_markdown

ENOUGH = 200
"""Characters that a `main` or `article` element needs to be used."""
SHARE = 0.4
"""Share of the text of all paragraphs that an element needs to be the article."""
CANDIDATES = 40
_MAIN = "//main | //article | //*[@role='main']"
_AROUND = "//nav | //aside | //footer | //*[@role='navigation' or @role='banner' or @role='search']"
_HIDDEN = "//*[@hidden or @aria-hidden='true' or contains(translate(@style, ' ', ''), 'display:none')]"


@dataclass(frozen=True, slots=True)
class ReadablePage:
    """Title of a page ("" for none), and its text as Markdown."""

    title: str
    text: str


def extract_article(page: str, url: str = "") -> ReadablePage:
    """Extract the article of a page without hidden elements; `url` is the base of relative links."""
    root = parse_html(page)
    if root is None:
        return ReadablePage("", "")
    title = " ".join(root.xpath("string(//head/title)").split()) or " ".join(
        root.xpath("string(//h1)").split()
    )
    for found in [*root.xpath(_HIDDEN), *root.xpath(_AROUND)]:
        if found.tag not in {"html", "body"}:
            found.clear(keep_tail=True)
    return ReadablePage(title[:300], render_markdown(_find_article(root), url))


def _find_article(root: Any) -> Any:
    """Return the main element: by its tag, else the one with most paragraphs, else the body."""
    named = root.xpath(_MAIN)[:CANDIDATES]
    best = max(named, key=_length, default=None)
    if best is not None and _length(best) >= ENOUGH:
        return best
    holders: Counter[Any] = Counter()
    for paragraph in root.iter("p"):
        length = _length(paragraph)
        parent = paragraph.getparent()
        if parent is not None:
            holders[parent] += length
            if parent.getparent() is not None:
                holders[parent.getparent()] += length // 2
    if holders:
        holder, most = holders.most_common(1)[0]
        if most >= ENOUGH and most >= SHARE * sum(_length(one) for one in root.iter("p")):
            return holder
    body = root.find("body")
    return root if body is None else body


def _length(element: Any) -> int:
    """Return the number of characters outside of links."""
    whole = sum(len(text) for text in element.itertext())
    linked = sum(len(text) for link in element.iter("a") for text in link.itertext())
    return whole - linked
