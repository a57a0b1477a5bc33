"""Telegram rich messages (Bot API 10.1 and later): Markdown regenerated from the tree, within the limits.

The server reads only the first 35,000 bytes of the Markdown and drops the rest without an error (tdlib,
`clean_input_string`). A refused text that is too long for entities raises `TooLong`, and the core splits the
part: several messages for one part would leave it half sent after a failure, with unknown ids. Telegram also
refuses more than some 5,800 pieces of formatting (`RICH_MESSAGE_TOO_LARGE`, unpublished), which go out as
entities, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from markdown_it import MarkdownIt

from bot.domain import Mention
from bot.platforms.telegram.entity_renderer import is_telegram_person
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
    ScriptText,
    Strike,
    Strong,
    Table,
    Text,
)
from bot.render.measure import utf8_bytes
from bot.render.mentions import MAX_MENTIONS, MentionPlace, find_mentions, names_in
from bot.render.parse import address_of, inline_text, is_web_link, link_label, parse, script_text
from bot.render.renderer import MarkdownRenderer, Renderer, length_limit
from bot.render.split import GrowingSplit

RICH_TEXT_LIMIT = 32_768
"""Characters of text in a rich message, markup not counted (core.telegram.org/bots/api, "Rich message
limits").
"""

RICH_BLOCK_LIMIT = 500
"""Blocks in a rich message; nested ones, list items, table rows and quotes count (same source)."""

RICH_COLUMN_LIMIT = 20
"""Columns of a table in a rich message (same source)."""

RICH_DEPTH_LIMIT = 16
"""Nesting levels of formatting and blocks in a rich message (same source)."""

RICH_SOURCE_LIMIT = 34_996
"""Bytes of a rich message's Markdown: the server silently drops what follows (tdlib, misc.cpp,
`clean_input_string`, which stops at 35,000 less the longest character).
"""

_INNERMOST = (
    RICH_DEPTH_LIMIT - 6
)  # below the deepest list or quote: paragraph, strong, emphasis, strike, link
_BLOCK_WEIGHT = 69
_WEIGHT_LIMIT = RICH_BLOCK_LIMIT * _BLOCK_WEIGHT + 4
"""A little less than `RICH_SOURCE_LIMIT`, so that bytes, characters and blocks share one scale; the rest is
for rounding and the end of the last line.
"""
_SPECIAL = re.compile(r"[\\`*_~\[\]<>&$|=#^!]")
_LINE_START = re.compile(r"^([-+])|^(\d{1,9})(?=[.)])", re.MULTILINE)
_MARKERS = re.compile(r"(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t])))+")
_DOUBTFUL = re.compile(r"(?<!\\)[*~]+(?=[^\w\s*~])|[^\w\s*~][*~]|[*~]{3}|[*~] |\w\*+\w")
_JOINER = "\u2060"
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\uffef\U00020000-\U0003fffd]")
_DELIMITERS = {"": "---", "left": ":--", "center": ":-:", "right": "--:"}
_WRAPPERS: dict[type[Inline], str] = {Strong: "**", Emphasis: "*", Strike: "~~"}


@dataclass(frozen=True, slots=True)
class _PersonLink(Link):
    """A link that mentions a person; a text's own links never become one."""


def rich_markdown(markdown: str, mentions: Sequence[Mention] = ()) -> str:
    """Return sanitized Markdown for `sendRichMessage`.

    Only the tree's own constructs are written, everything else is escaped, so neither HTML nor the marks of a
    wider dialect (formulas, spoilers, media) come through. Tables beyond `RICH_COLUMN_LIMIT` become code;
    lists and quotes too deep for `RICH_DEPTH_LIMIT` are flattened. The people in `mentions` are mentioned
    where text outside quotes and tables names them (grammy.dev/ref/types/inputrichmessage, "Rich Markdown
    style").
    """
    blocks = parse(markdown).blocks
    return _blocks(_PersonLinks(mentions).add(blocks) if mentions else blocks, 0)


def thinking_block(text: str) -> str:
    """Return plain text as a draft's animated block, which messages can't contain
    (core.telegram.org/bots/api#richblockthinking). HTML and Markdown decode numeric characters in the same
    way.
    """
    return f"<tg-thinking>{_SPECIAL.sub(lambda found: f'&#{ord(found[0])};', text)}</tg-thinking>"


@dataclass(slots=True)
class _PersonLinks:
    """Links people mentioned in a message; `left` further ones are allowed."""

    mentions: Sequence[Mention]
    left: int = MAX_MENTIONS

    def add(self, blocks: Sequence[Block]) -> tuple[Block, ...]:
        """Return the blocks with links."""
        return tuple(self._add_to_block(one) for one in blocks)

    def _add_to_block(self, block: Block) -> Block:
        match block:
            case Paragraph() | HeadingNode():
                return replace(block, children=self._add_to_text(block.children))
            case ListBlock():
                items = tuple(replace(item, blocks=self.add(item.blocks)) for item in block.items)
                return replace(block, items=items)
            case _:
                return block

    def _add_to_text(self, nodes: tuple[Inline, ...]) -> tuple[Inline, ...]:
        """Find names across the whole text, so that none is part of a word that is split by formatting."""
        text = inline_text(nodes)
        places = find_mentions(text, names_in(text, self.mentions))
        return tuple(self._link(nodes, 0, [one for one in places if is_telegram_person(one.mention)]))

    def _link(self, nodes: Sequence[Inline], start: int, places: Sequence[MentionPlace]) -> Iterator[Inline]:
        """Yield the nodes, which start at `start` in the text, with links at the places that code, links and
        formatting boundaries allow.
        """
        for node in nodes:
            match node:
                case Text(text):
                    yield from self._split(text, start, places)
                case Strong() | Emphasis() | Strike():
                    yield replace(node, children=tuple(self._link(node.children, start, places)))
                case _:
                    yield node
            start += len(inline_text((node,)))

    def _split(self, text: str, start: int, places: Sequence[MentionPlace]) -> Iterator[Inline]:
        done = 0
        for place in places:
            first, last = place.start - start, place.end - start
            if first < 0 or last > len(text) or not self.left:
                continue
            self.left -= 1
            yield from [Text(text[done:first])] if first > done else []
            yield _PersonLink(f"tg://user?id={place.mention.id}", (Text(text[first:last]),))
            done = last
        yield from [Text(text[done:])] if text[done:] else []


def _blocks(blocks: Sequence[Block], depth: int) -> str:
    out: list[str] = []
    for index, block in enumerate(blocks):
        if index and isinstance(block, ListBlock | Quote) and type(blocks[index - 1]) is type(block):
            out.append("---")  # or the two would become one
        out.append(_block(block, depth))
    return "\n\n".join(out)


def _block(block: Block, depth: int) -> str:
    match block:
        case Paragraph() | HeadingNode():
            return _running(block)
        case CodeBlock(text, language):
            return _fenced(text.expandtabs(4), language)  # a tab would become one space
        case Quote(blocks):
            inner = _blocks(blocks, depth + 1)
            return inner if depth >= _INNERMOST else re.sub("^", "> ", inner, flags=re.MULTILINE)
        case ListBlock():
            return _list(block, depth)
        case Table():
            return _table(block)
        case _:
            return "---"


def _running(block: Paragraph | HeadingNode) -> str:
    text = _LINE_START.sub(_kept_text, _written(block.children))
    return text if isinstance(block, Paragraph) else "#" * block.level + " " + text.replace("\n", " ")


def _kept_text(found: re.Match[str]) -> str:
    """Escape a list marker at the start of a line of text."""
    return "\\" + found[0] if found[1] else found[0] + "\\"


def _fence_run(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def _fenced(text: str, language: str) -> str:
    run = _fence_run(text, 3)
    return f"{run}{language.replace('`', '')}\n{text}\n{run}"


def _list(block: ListBlock, depth: int) -> str:
    items = []
    for index, item in enumerate(block.items):
        marker = "- " if block.start is None else f"{block.start + index}. "
        items.append(_item(item, marker, depth))
    return "\n".join(items)


def _item(item: ListItem, marker: str, depth: int) -> str:
    inner = _blocks(item.blocks, depth + 2)
    if item.checked is not None:
        inner = ("[x] " if item.checked else "[ ] ") + inner
    return inner if depth >= _INNERMOST else marker + inner.replace("\n", "\n" + " " * len(marker))


def _table(table: Table) -> str:
    rows = (table.header, *table.rows)
    if len(table.align) > RICH_COLUMN_LIMIT:
        return _fenced("\n".join(" | ".join(inline_text(cell, " ") for cell in row) for row in rows), "")
    lines = [_row(row) for row in rows]
    lines.insert(1, "|" + "|".join(_DELIMITERS[align] for align in table.align) + "|")
    return "\n".join(lines)


def _row(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_written(cell, cell=True) for cell in cells) + " |"


def _written(nodes: Sequence[Inline], *, cell: bool = False) -> str:
    """Return inlines as Markdown.

    Emphasis beside Chinese, Japanese or Korean text that plain CommonMark would not recognize gets word
    joiners within its delimiters; other such emphasis is omitted.
    """
    text = _inlines(nodes, cell=cell)
    if not _DOUBTFUL.search(text) or _is_readable(text, nodes):
        return text
    padded = _inlines(_pad_emphasis(nodes), cell=cell) if _WIDE.search(text) else ""
    return padded if padded and _is_readable(padded, nodes) else _inlines(_bare(nodes), cell=cell)


@cache
def _commonmark() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def _is_readable(text: str, nodes: Sequence[Inline]) -> bool:
    """Return whether CommonMark shows `text` without stray delimiters, like the inlines without emphasis."""
    return _read(text) == _read(_inlines(_bare(nodes)))


def _read(text: str) -> str:
    (paragraph,) = _commonmark().parseInline(text)
    return _squeeze("".join(token.content for token in paragraph.children or ()))


def _squeeze(text: str) -> str:
    return "".join(text.replace(_JOINER, "").split())


def _pad_emphasis(nodes: Sequence[Inline]) -> tuple[Inline, ...]:
    return tuple(map(_pad, nodes))


def _pad(node: Inline) -> Inline:
    match node:
        case Strong() | Emphasis() | Strike():
            return replace(node, children=(Text(_JOINER), *_pad_emphasis(node.children), Text(_JOINER)))
        case Link():
            return replace(node, children=_pad_emphasis(node.children))
        case _:
            return node


def _bare(nodes: Sequence[Inline]) -> list[Inline]:
    """Return inlines without emphasis."""
    out: list[Inline] = []
    for node in nodes:
        match node:
            case Strong() | Emphasis() | Strike():
                out += _bare(node.children)
            case Link():
                out.append(replace(node, children=tuple(_bare(node.children))))
            case _:
                out.append(node)
    return out


def _inlines(nodes: Sequence[Inline], *, cell: bool = False) -> str:
    return "".join(_inline(node, cell) for node in nodes)


def _inline(node: Inline, cell: bool) -> str:
    match node:
        case Text(text) | Formula(text):
            return _SPECIAL.sub(r"\\\g<0>", text)
        case ScriptText():
            return _SPECIAL.sub(r"\\\g<0>", script_text(node))
        case Code(text):
            return _code(text.replace("|", r"\|") if cell else text)
        case Break(hard):
            return " " if cell else "\\\n" if hard else "\n"
        case Link():
            return _link(node, cell)
        case Strong() | Emphasis() | Strike():
            mark = _WRAPPERS[type(node)]
            return mark + _inlines(node.children, cell=cell) + mark


def _code(text: str) -> str:
    run = _fence_run(text, 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return run + pad + text + pad + run


def _link(link: Link, cell: bool) -> str:
    label = _inlines(link_label(link), cell=cell)
    if isinstance(link, _PersonLink):
        return f"[{label}]({link.href})"
    if address := address_of(link):
        return label + " (" + _SPECIAL.sub(r"\\\g<0>", address) + ")"
    return f"[{label}](<{link.href.replace('|', '%7C')}>)" if is_web_link(link.href) else label


def _scale_weight(source_bytes: int, characters: int, blocks: int) -> int:
    """Return the largest share of the three limits, in units of `_WEIGHT_LIMIT`."""
    scaled = -(-characters * (_WEIGHT_LIMIT - 4) // RICH_TEXT_LIMIT)
    return max(source_bytes, scaled, _BLOCK_WEIGHT * blocks)


@dataclass(frozen=True, slots=True)
class RichWeigher:
    """Upper bounds for rich messages: escaped bytes, characters or blocks, whichever is closest to its
    limit.
    """

    def text(self, line: str) -> int:
        if not line.strip():
            return 0
        markers = _MARKERS.match(line)
        blocks = 1 + (2 * len(re.findall(r">|[-+*]|\d+[.)]", markers[0])) if markers else 0)
        size = utf8_bytes(line)
        size += len(_SPECIAL.findall(line)) + 3 * line.count("|") + 5
        if "<" in line or "://" in line or "www." in line:  # an address becomes label and target
            size += utf8_bytes(line) + 6 * (line.count("://") + line.count("www."))
        return _scale_weight(size, len(line) + 1, blocks)

    def code(self, line: str) -> int:
        line = line.expandtabs(4)
        return _scale_weight(utf8_bytes(line) + 1, len(line) + 1, 0)

    def cells(self, row: str) -> tuple[int, ...]:
        del row
        return ()

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return sum(widths) * rows


def _weight(markdown: str) -> int:
    blocks = parse(markdown).blocks
    return _scale_weight(utf8_bytes(_blocks(blocks, 0)), _count_characters(blocks), _count_blocks(blocks))


def _count_blocks(blocks: Sequence[Block]) -> int:
    """Count blocks conservatively like the limit: a list is one, and so is each item and its content."""
    return sum(1 + _count_inner(block) for block in blocks)


def _count_inner(block: Block) -> int:
    match block:
        case Quote(blocks):
            return _count_blocks(blocks)
        case ListBlock(items):
            return sum(1 + _count_blocks(item.blocks) for item in items)
        case Table(rows=rows):
            return 1 + len(rows)
        case _:
            return 0


def _count_characters(blocks: Sequence[Block]) -> int:
    """Count the visible characters, including a line break for each block."""
    return sum(1 + _count_block_characters(block) for block in blocks)


def _count_block_characters(block: Block) -> int:
    match block:
        case Paragraph(children) | HeadingNode(children=children):
            return len(inline_text(children))
        case CodeBlock(text):
            return len(text.expandtabs(4))
        case Quote(blocks):
            return _count_characters(blocks)
        case ListBlock(items):
            return sum(_count_characters(item.blocks) for item in items)
        case Table(header=header, rows=rows):
            return sum(len(inline_text(cell)) + 1 for row in (header, *rows) for cell in row)
        case _:
            return 0


def growing_for_rich() -> GrowingSplit:
    """Return `split_for_rich` for a growing text."""
    return GrowingSplit(limit=_WEIGHT_LIMIT, measure=_weight, weigher=RichWeigher(), loose=True)


def split_for_rich(markdown: str) -> list[str]:
    """Split into parts within the limits of a rich message, counting blocks and bytes conservatively."""
    return growing_for_rich().split(markdown)


TELEGRAM_RICH: Renderer = MarkdownRenderer(
    "telegram-rich",
    growing_for_rich,
    f"Tables of more than {RICH_COLUMN_LIMIT} columns become code blocks. "
    + length_limit(f"{RICH_TEXT_LIMIT:,} characters"),
)
"""The parts are as long as Telegram allows: its apps fold a message after some 7,500 characters behind "Show
more", and people expect one message to unfold. One version of the macOS app cut it off there
(NousResearch/hermes-agent#69444).
"""
