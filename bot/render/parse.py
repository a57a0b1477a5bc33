"""Parse Markdown with markdown-it-py into nodes without losing text: no HTML, bounded nesting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from bot.render.addresses import is_spelled_out, spell_address
from bot.render.ast import (
    Align,
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
    MarkdownDocument,
    Paragraph,
    Quote,
    Rule,
    ScriptText,
    Strike,
    Strong,
    Table,
    Text,
)
from bot.render.block_scanner import MAX_DEPTH, split_row
from bot.render.inline_scanner import flanks
from bot.render.inline_tags import read_tag
from bot.render.measure import sound
from bot.render.opaque import OpaqueKind, find_opaque
from bot.render.references import resolve_references

BlockRule = Callable[[StateBlock, int, int, bool], bool]


def _bounded(rule: BlockRule) -> BlockRule:
    """Reject `rule` below MAX_DEPTH, where markdown-it would drop the text."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < MAX_DEPTH and rule(state, start, end, silent)

    return bounded


def _wide_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply the table rule, but append cells beyond the header's to the last column instead of dropping
    them.
    """
    first = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    if silent:
        return True
    cells: list[int] = []
    line = start
    for index in range(first, len(state.tokens)):
        token = state.tokens[index]
        if token.type == "tr_open" and token.map:
            cells, line = [], token.map[0]
        elif token.type == "inline":
            cells.append(index)
        elif token.type == "tr_close":
            source = split_row(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]])
            extra = [cell for cell in source[len(cells) :] if cell]
            if extra:
                last = state.tokens[cells[-1]]
                last.content = " | ".join([last.content, *extra])
    return True


class _InlineState(StateInline):
    """Inline state with `opaque` constructs by their start, and emphasis beside Chinese characters."""

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> None:
        super().__init__(src, md, env, tokens)
        self.opaque = {one.start: one for one in find_opaque(src)}
        self.starts = list(self.opaque)

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        del canSplitWord
        end = start
        while end < self.posMax and self.src[end] == self.src[start]:
            end += 1
        opens, closes = flanks(self.src, start, end, self.posMax)
        return Scanned(opens, closes, end - start)


class _Inline(ParserInline):
    """The inline parser with `_InlineState`."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _text(state: StateInline, silent: bool) -> bool:
    """Skip to the next special character or opaque construct."""
    assert isinstance(state, _InlineState)
    found = state.md.inline.terminator_re.search(state.src, state.pos)
    end = found.start() if found else state.posMax
    index = bisect_right(state.starts, state.pos)
    if index < len(state.starts):
        end = min(end, state.starts[index])
    end = min(end, state.posMax)
    if end <= state.pos:
        return False
    if not silent:
        state.append_pending(state.src[state.pos : end])
    state.pos = end
    return True


def _opaque(state: StateInline, silent: bool) -> bool:
    """Take a formula, an address or a path as it is; an address becomes a link."""
    assert isinstance(state, _InlineState)
    found = state.opaque.get(state.pos)
    if found is None or found.end > state.posMax:
        return False
    if not silent:
        _push_opaque(state, found.kind, state.src[found.start : found.end])
    state.pos = found.end
    return True


def _push_opaque(state: StateInline, kind: OpaqueKind, source: str) -> None:
    if kind is OpaqueKind.FORMULA:
        state.push("formula", "", 0).content = source
        return
    address = f"https://{source}" if source.startswith("www.") else source
    href = state.md.normalizeLink(address) if is_web_link(address) else ""
    if kind is not OpaqueKind.ADDRESS or state.linkLevel or not href or not state.md.validateLink(href):
        state.append_pending(source)
        return
    state.push("link_open", "a", 1).attrs = {"href": href}
    state.push("text", "", 0).content = source
    state.push("link_close", "a", -1)


@cache
def grammar() -> MarkdownIt:
    """Return the parser shared by the whole process; it is stateless."""
    md = MarkdownIt()
    md.inline = _Inline()
    md.configure("commonmark", {"html": False, "maxNesting": MAX_DEPTH + 20})
    md.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])
    md.inline.ruler.at("text", _text)
    md.inline.ruler.before("text", "opaque", _opaque)
    md.inline.ruler.before("autolink", "tag", read_tag)
    alt = ["paragraph", "reference"]
    md.block.ruler.at("table", _wide_table, {"alt": alt})
    md.block.ruler.at("blockquote", _bounded(blockquote), {"alt": [*alt, "blockquote", "list"]})
    md.block.ruler.at("list", _bounded(list_block), {"alt": [*alt, "blockquote"]})
    return md


_ALIGN: dict[str, Align] = {
    "text-align:left": "left",
    "text-align:center": "center",
    "text-align:right": "right",
}
_WRAPPERS: dict[str, Callable[[tuple[Inline, ...]], Inline]] = {
    "em_open": Emphasis,
    "strong_open": Strong,
    "s_open": Strike,
    "sup_open": partial(ScriptText, is_raised=True),
    "sub_open": partial(ScriptText, is_raised=False),
}
_LEAVES: dict[str, Callable[[str], Inline]] = {"code_inline": Code, "formula": Formula}


def parse(markdown: str) -> MarkdownDocument:
    """Parse CommonMark with tables and strikethrough. Never fails.

    Tags that format text within a line are markup; other HTML is plain text. Images, bare addresses and the
    first reference to each definition are links. Formulas stay as written, nesting is limited by
    `bot.render.block_scanner.MAX_DEPTH`, and lists are neither loose nor tight.
    """
    return MarkdownDocument(_blocks(iter(grammar().parse(resolve_references(sound(markdown)))), ""))


def _blocks(tokens: Iterator[Token], closing: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for token in tokens:
        if token.type == closing:
            break
        block = _block(token, tokens)
        if block is not None:
            blocks.append(block)
    return tuple(blocks)


def _block(token: Token, tokens: Iterator[Token]) -> Block | None:
    match token.type:
        case "bullet_list_open" | "ordered_list_open":
            return _list(token, tokens)
        case "blockquote_open":
            return Quote(_blocks(tokens, "blockquote_close"))
        case "table_open":
            return _table(tokens)
        case _:
            return _leaf(token, tokens)


def _leaf(token: Token, tokens: Iterator[Token]) -> Block | None:
    match token.type:
        case "inline":
            return Paragraph(_inlines(token))
        case "heading_open":
            return HeadingNode(int(token.tag[1:]), _inlines(next(tokens)))
        case "fence" | "code_block":
            return CodeBlock(token.content.removesuffix("\n"), (token.info.split() or [""])[0])
        case "hr":
            return Rule()
        case _:
            return None


def _list(opening: Token, tokens: Iterator[Token]) -> ListBlock:
    items = []
    for token in tokens:
        if token.type in ("bullet_list_close", "ordered_list_close"):
            break
        items.append(_item(_blocks(tokens, "list_item_close")))
    start = None if opening.type == "bullet_list_open" else int(opening.attrs.get("start", 1))
    return ListBlock(tuple(items), start)


def _item(blocks: tuple[Block, ...]) -> ListItem:
    if blocks and isinstance(blocks[0], Paragraph) and blocks[0].children:
        first, *rest = blocks[0].children
        if isinstance(first, Text) and first.text[:4].lower() in ("[ ] ", "[x] ", "[ ]", "[x]"):
            body = Paragraph((Text(first.text[4:]), *rest))
            return ListItem((body, *blocks[1:]), first.text[1] != " ")
    return ListItem(blocks, None)


def _table(tokens: Iterator[Token]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    cells: list[Cell] = []
    align: list[Align] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "th_open":
            align.append(_ALIGN.get(str(token.attrs.get("style", "")), ""))
        elif token.type == "inline":
            cells.append(_inlines(token))
        elif token.type == "tr_close":
            rows.append(tuple(cells))
            cells = []
    return Table(tuple(align), rows[0], tuple(rows[1:]))


def _inlines(token: Token) -> tuple[Inline, ...]:
    return _children(iter(token.children or ()), "", 0)


def _children(tokens: Iterator[Token], closing: str, depth: int) -> tuple[Inline, ...]:
    out: list[Inline] = []
    dropped: list[str] = []
    for token in tokens:
        if dropped and token.type == dropped[-1]:
            dropped.pop()
        elif closing and token.type == closing:
            break
        elif depth >= MAX_DEPTH and token.type in _WRAPPERS:
            dropped.append(token.type.replace("_open", "_close"))
        else:
            out.append(_inline(token, tokens, depth + 1))
    return _join_texts(out)


def _join_texts(nodes: Sequence[Inline]) -> tuple[Inline, ...]:
    """Return the nodes with neighbouring texts joined, and without empty ones."""
    out: list[Inline] = []
    for is_text, group in groupby(nodes, lambda node: isinstance(node, Text)):
        if not is_text:
            out += group
        elif text := "".join(node.text for node in group if isinstance(node, Text)):
            out.append(Text(text))
    return tuple(out)


def _inline(token: Token, tokens: Iterator[Token], depth: int) -> Inline:
    match token.type:
        case kind if kind in _LEAVES:
            return _LEAVES[kind](token.content)
        case "softbreak" | "hardbreak":
            return Break(token.type == "hardbreak")
        case "link_open":
            return _link(token, _children(tokens, "link_close", depth))
        case "image":
            return Link(str(token.attrs.get("src", "")), _children(iter(token.children or ()), "", depth))
        case kind if kind in _WRAPPERS:
            return _WRAPPERS[kind](_children(tokens, kind.replace("_open", "_close"), depth))
        case _:
            return Text(token.content)


def _link(opening: Token, children: tuple[Inline, ...]) -> Link:
    href = str(opening.attrs.get("href", ""))
    if opening.markup == "autolink":  # markdown-it's text loses bytes that are no UTF-8
        address, is_mail = spell_address(href), ":" not in inline_text(children)
        children = (Text(address.removeprefix("mailto:") if is_mail else address),)
    return Link(href, children)


def link_label(link: Link) -> tuple[Inline, ...]:
    """Return the visible content of a link: its children, or its address if it has none."""
    return link.children or (Text(spell_address(link.href)),)


def is_web_link(href: str) -> bool:
    """Return whether other readers can open `href` (http, https, mailto)."""
    return href.lower().startswith(("http://", "https://", "mailto:"))


def inline_text(nodes: tuple[Inline, ...], line_break: str = "\n") -> str:
    """Return the unformatted visible text of inlines; a link that can't be opened includes its address."""
    out = []
    for node in nodes:
        if isinstance(node, Text | Code | Formula):
            out.append(node.text)
        elif isinstance(node, Break):
            out.append(line_break)
        elif isinstance(node, ScriptText):
            out.append(script_text(node))
        elif isinstance(node, Link):
            label = inline_text(link_label(node), line_break)
            address = _address_beside(label, node)
            out.append(f"{label} ({address})" if address else label)
        else:
            out.append(inline_text(node.children, line_break))
    return "".join(out)


def script_text(script: ScriptText) -> str:
    """Return a superscript or subscript as plain text, such as the end of 10⁶ or x_max."""
    return write_script(inline_text(script.children), is_raised=script.is_raised)


def write_script(text: str, *, is_raised: bool) -> str:
    """Return text as superscript or subscript: as Unicode characters if they exist, else after `^` or `_`."""
    small = _RAISED if is_raised else _LOWERED
    if text and all(sign in small for sign in text):
        return "".join(small[sign] for sign in text)
    sign = "^" if is_raised else "_"
    return f"{sign}{text}" if text.isalnum() else f"{sign}({text})"


_RAISED = dict(zip("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ", strict=True))
_LOWERED = dict(zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True))


def address_of(link: Link) -> str:
    """Return the address to display because the link can't be opened and hides it, or ""."""
    return "" if is_web_link(link.href) else _address_beside(inline_text(link.children), link)


def _address_beside(label: str, link: Link) -> str:
    plain = not link.href or is_web_link(link.href) or not link.children
    return "" if plain or is_spelled_out(label, link.href) else spell_address(link.href)
