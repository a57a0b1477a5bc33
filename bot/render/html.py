"""HTML for the web console, from the tree and through a sanitizer: two safeguards, neither trusted alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import nh3

from bot.render.ast import (
    Block,
    Break,
    Cell,
    Code,
    CodeBlock,
    Emphasis,
    Formula,
    HeadingNode,
    Inline,
    Link,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Rule,
    ScriptText,
    Strike,
    Strong,
    Table,
    Text,
)
from bot.render.parse import address_of, is_web_link, link_label, parse

_TAGS = {"a", "blockquote", "br", "code", "hr", "li", "ol", "p", "pre", "ul"}
_TAGS |= {"del", "em", "strong", "sub", "sup", "h1", "h2", "h3", "h4", "h5", "h6"}
_TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
_ATTRIBUTES = {"a": {"href"}, "code": {"class"}, "ol": {"start"}, "th": {"class"}, "td": {"class"}}
_WRAPPERS: dict[type[Inline], str] = {Strong: "strong", Emphasis: "em", Strike: "del"}
_LANGUAGE = re.compile(r"[^\w+#.-]")


def render_html(markdown: str) -> str:
    """Render `markdown` as sanitized HTML.

    Links open elsewhere (`target=_blank`, `rel="noopener noreferrer nofollow"`) and are http, https or
    mailto; other addresses are shown as text. Images are links. Code blocks carry `class="language-…"`,
    aligned cells `class="align-…"`; there is no inline style. Line ends inside a paragraph are kept.
    """
    return nh3.clean(
        _blocks(parse(markdown).blocks),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _blocks(blocks: Sequence[Block]) -> str:
    return "\n".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    match block:
        case Paragraph(children):
            return f"<p>{_inlines(children)}</p>"
        case HeadingNode(level, children):
            return f"<h{level}>{_inlines(children)}</h{level}>"
        case Quote(blocks):
            return f"<blockquote>{_blocks(blocks)}</blockquote>"
        case ListBlock():
            return _list(block)
        case Table():
            return _table(block)
        case _:
            return _leaf(block)


def _leaf(block: CodeBlock | Rule) -> str:
    if isinstance(block, Rule):
        return "<hr>"
    kind = _LANGUAGE.sub("", block.language)
    attribute = f' class="language-{kind}"' if kind else ""
    return f"<pre><code{attribute}>{escape(block.text)}</code></pre>"


def _list(block: ListBlock) -> str:
    items = "".join(f"<li>{_item(item)}</li>" for item in block.items)
    if block.start is None:
        return f"<ul>{items}</ul>"
    start = "" if block.start == 1 else f' start="{block.start}"'
    return f"<ol{start}>{items}</ol>"


def _item(item: ListItem) -> str:
    """Render a list item; its first paragraph needs no element of its own."""
    box = "" if item.checked is None else "☑ " if item.checked else "☐ "
    first, rest = item.blocks[:1], item.blocks[1:]
    if first and isinstance(first[0], Paragraph):
        return box + _inlines(first[0].children) + _blocks(rest)
    return box + _blocks(item.blocks)


def _table(table: Table) -> str:
    head = _row(table, table.header, "th")
    body = "".join(_row(table, row, "td") for row in table.rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(table: Table, cells: Sequence[Cell], tag: str) -> str:
    out = []
    for cell, align in zip(cells, table.align, strict=True):
        attribute = f' class="align-{align}"' if align else ""
        out.append(f"<{tag}{attribute}>{_inlines(cell)}</{tag}>")
    return f"<tr>{''.join(out)}</tr>"


def _tag(node: Strong | Emphasis | Strike | ScriptText) -> str:
    if isinstance(node, ScriptText):
        return "sup" if node.is_raised else "sub"
    return _WRAPPERS[type(node)]


def _inlines(nodes: Sequence[Inline]) -> str:
    return "".join(_inline(node) for node in nodes)


def _inline(node: Inline) -> str:
    match node:
        case Text(text):
            return escape(text)
        case Formula(text):
            return f'<code class="language-math">{escape(text)}</code>'
        case Code(text):
            return f"<code>{escape(text)}</code>"
        case Break():
            return "<br>\n"
        case Link():
            return _link(node)
        case Strong() | Emphasis() | Strike() | ScriptText():
            tag = _tag(node)
            return f"<{tag}>{_inlines(node.children)}</{tag}>"


def _link(link: Link) -> str:
    label = _inlines(link_label(link))
    if address := address_of(link):
        return f"{label} ({escape(address)})"
    return f'<a href="{escape(link.href)}">{label}</a>' if is_web_link(link.href) else label
