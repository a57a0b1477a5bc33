"""Parsing of HTML pages and rendering as Markdown. Needs the packages of the extra `web` or `documents`.

The functions block, for seconds on a hostile page; other threads run in the meantime.

html-to-markdown (MIT, in Rust) is pinned below its next major version, of which there are many; its own
preprocessing is off, as it drops forms with all their content. Quotes and lists are flattened below eight
levels: each indents all its lines, so 2 MB of nested quotes would become 40 MB. A 2 MB page takes 1.1 s
(links) to 2.4 s (tables) on two cores. libxml2 drops what is nested more than 256 levels deep.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert
from lxml import etree, html  # type: ignore[import-untyped]

from agent.shared.html_meaning import keep_meaning, restore_points, unwrap_cdata

_LINK_SCHEMES = frozenset({"http", "https", "mailto"})
_WITHOUT_TEXT = (
    *("script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas"),
    *("audio", "video", "button", "select", "textarea", "input", "title"),
)
# Each level indents all of its lines, so that 2 MB of nested quotes would become 40 MB of Markdown.
_TOO_DEEP = (
    ".//*[self::blockquote or self::ul or self::ol]"
    "[count(ancestor::blockquote | ancestor::ul | ancestor::ol) > 8]"
)


def parse_html(page: str, *, refuse_deep: bool = False) -> Any:
    """Parse a page into an lxml tree without comments and processing instructions; None if it is empty.

    libxml2 drops everything nested deeper than 256 levels; with `refuse_deep` such a page raises
    RecursionError.
    """
    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False
    )
    data = unwrap_cdata(page).encode("utf-8", "replace")
    try:
        root = html.document_fromstring(data, parser=parser) if data.strip() else None
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    if refuse_deep and any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log):
        raise RecursionError("the page is nested too deeply")
    if root is not None:
        keep_meaning(root)
    return root


def render_markdown(root: Any, url: str = "") -> str:
    """Render an element and its content as Markdown. Modifies the tree.

    `url` makes links absolute. Links with schemes other than http, https and mailto become plain text.
    Images, scripts, form controls and embedded content are dropped.
    """
    etree.strip_elements(root, *_WITHOUT_TEXT, with_tail=False)
    for element in root.xpath(_TOO_DEEP):
        element.tag = "div"
    for element in root.xpath(".//pre[not(normalize-space())]"):
        element.drop_tree()
    clean_links(root, url)
    markdown = convert(etree.tostring(root, encoding="unicode", method="html", with_tail=False), _options())
    return restore_points((markdown.content or "").strip())


def clean_links(root: Any, url: str) -> None:
    """Make the links of an element absolute, and turn those with other schemes into plain text."""
    for link in root.iter("a"):
        _clean_link(link, url)


def _clean_link(link: Any, url: str) -> None:
    target = str(link.get("href") or "").strip()
    try:
        whole = urljoin(url, target) if target and not target.startswith("#") else ""
        keep = urlsplit(whole).scheme in _LINK_SCHEMES
    except ValueError:
        keep = False
    if keep:
        link.set("href", whole)
    else:
        link.attrib.clear()


@cache
def _options() -> ConversionOptions:
    return ConversionOptions(
        bullets="-",
        compact_tables=True,
        autolinks=False,
        br_in_tables=True,
        expand_abbreviations=False,
        extract_metadata=False,
        highlight_style="none",
        include_blockquote_citations=False,
        preprocessing=PreprocessingOptions(enabled=False),
        skip_images=True,
    )
