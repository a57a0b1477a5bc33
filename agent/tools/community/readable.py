"""Extraction of a web page's article as Markdown, without navigation. Runs in `page_child`.

trafilatura decides what the article is. Of short pages, of large ones, and of those in which it finds none,
the whole main element is used.

On the 181 pages of scrapinghub/article-extraction-benchmark this has an F1 of 0.951 (own rules alone: 0.836,
readability-lxml 0.948, resiliparse 0.833), at 14 ms a page. Of 62 texts of 18 other pages, which the tests
contain, it keeps 61 (readability-lxml 54: no tables of facts or whole forum threads; resiliparse 43, without
Markdown). Comments count as text, because a forum consists of them; those also in the article appear twice.
The import takes 0.25 s and 21 MB, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import trafilatura
from lxml import etree  # type: ignore[import-untyped]
from trafilatura.settings import CUT_EMPTY_ELEMS

from agent.shared.html import clean_links, parse_html, render_markdown
from agent.shared.html_meaning import CALLOUT, NUMBERED

SHORT = 400
"""Characters of Markdown up to which the whole main element is read."""
LARGE = 600_000
"""Characters of a page without scripts from which on trafilatura would take seconds."""
MANY = 1_000
"""Hidden elements from which on trafilatura would take long: it copies the text before each that it drops."""
ENOUGH = 200
"""Characters that a `main` or `article` element needs to be used."""
SHARE = 0.4
"""Share of the text of all paragraphs that an element needs to be the article."""
CANDIDATES = 40
_MAIN = "//main | //article | //*[@role='main']"
_AROUND = "//nav | //aside | //footer | //*[@role='navigation' or @role='banner' or @role='search']"
_BLOCKS = (
    f".//pre | .//blockquote[@class='{CALLOUT}'] | .//div[@class='{NUMBERED}'] | .//table[.//code] | .//ol"
)
_NUMBER = "⟦{}⟧"
_DROPPED = "dropped"
_HIDDEN = "//*[@hidden or @aria-hidden='true' or contains(translate(@style, ' ', ''), 'display:none')]"


@dataclass(frozen=True, slots=True)
class ReadablePage:
    """Title of a page ("" for none), and its text as Markdown; `is_complete`: nothing better follows."""

    title: str
    text: str
    is_complete: bool = True


def extract_article(page: str, url: str = "") -> ReadablePage:
    """Extract a page's article without hidden elements; `url` is the base of relative links."""
    *_, last = extract_steps(page, url)
    return last


def extract_steps(page: str, url: str = "") -> Iterator[ReadablePage]:
    """Yield the main element's text, then the article, which can take long and is complete."""
    root = parse_html(page)
    if root is None:
        yield ReadablePage("", "")
        return
    title = " ".join(root.xpath("string(//head/title)").split()) or " ".join(
        root.xpath("string(//h1)").split()
    )
    emptied = [one for one in [*root.xpath(_HIDDEN), *root.xpath(_AROUND)] if one.tag not in {"html", "body"}]
    for element in emptied:
        element.clear(keep_tail=True)
        # trafilatura drops empty elements, which would join the words around them.
        element.tail = f" {element.tail}" if element.tail else None
    whole = ReadablePage(title[:300], render_markdown(_find_article(deepcopy(root)), url), is_complete=False)
    yield whole
    article = ""
    if len(whole.text) > SHORT:
        if len(emptied) > MANY:
            for element in emptied:
                element.tag = _DROPPED if element.tag in CUT_EMPTY_ELEMS else element.tag
            etree.strip_tags(root, _DROPPED)
        article = _read_article(root, url)
    yield replace(whole, text=article or whole.text, is_complete=True)


def _read_article(root: Any, url: str) -> str:
    """Return the article that trafilatura extracts, or "" if it finds none or the page is too large.

    Modifies the tree.
    """
    etree.strip_elements(root, "noscript", "script", "style", "svg", with_tail=False)
    clean_links(root, url)
    blocks = _set_aside(root)
    html = etree.tostring(root, encoding="unicode", method="html")
    if len(html) > LARGE:
        return ""
    text = trafilatura.extract(
        html,
        output_format="markdown",
        include_comments=True,
        include_formatting=True,
        include_links=True,
        include_tables=True,
        favor_recall=True,
    )
    return _put_back(str(text or "").strip(), blocks, url)


def _set_aside(root: Any) -> list[tuple[Any, bool]]:
    """Replace blocks that trafilatura damages by their numbers, and return them with whether they are in the
    main element: code, callouts, tables with code, and numbered lists.
    """
    main = _find_article(root)
    blocks: list[tuple[Any, bool]] = []
    for element in root.xpath(_BLOCKS):
        parent, ancestors = element.getparent(), set(element.iterancestors())
        if parent is None or not ancestors.isdisjoint({block for block, _ in blocks}):
            continue
        number = etree.Element("p")
        number.text = _NUMBER.format(len(blocks))
        number.tail, element.tail = element.tail, None
        parent.replace(element, number)
        blocks.append((element, main in ancestors and element.tag != "ol"))
    return blocks


def _put_back(text: str, blocks: Sequence[tuple[Any, bool]], url: str) -> str:
    """Replace the numbers by the blocks; "" if one of the main element is missing."""
    if any(is_needed and _NUMBER.format(index) not in text for index, (_, is_needed) in enumerate(blocks)):
        return ""
    text = text.replace(r"\[x\]", "[x]").replace(r"\[ \]", "[ ]")
    for index, (block, _) in enumerate(blocks):
        before, number, after = text.partition(_NUMBER.format(index))
        if number:
            text = f"{before.rstrip()}\n\n{render_markdown(block, url)}\n\n{after.lstrip()}"
    return text.strip()


def _find_article(root: Any) -> Any:
    """Return the main element: by its tag, or else the one with the most paragraphs, or else the body."""
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
    """Return the number of characters outside links."""
    whole = sum(len(text) for text in element.itertext())
    linked = sum(len(text) for link in element.iter("a") for text in link.itertext())
    return whole - linked
