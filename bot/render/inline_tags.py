"""HTML tags that models write within Markdown: breaks, keys, formatting, superscripts, subscripts, links."""

from __future__ import annotations

import re
from html import unescape

from markdown_it.rules_inline import StateInline

BREAK_TAG = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
OPENING_TAG = re.compile(
    r"<(?P<name>strong|strike|small|span|samp|mark|font|code|abbr|sup|sub|kbd|ins|del|tt|em|[bisua])"
    r"(?P<attributes>\s[^<>]{0,300})?>",
    re.IGNORECASE,
)
CLOSING_TAG = re.compile(r"</(?P<name>[a-z]{1,6})\s{0,3}>", re.IGNORECASE)
HALF_TAG = re.compile(
    r"<(?:/?[a-zA-Z]{0,6}|br\s{0,3}/?|(?:a|span|font|abbr|mark)\s[^<>]{0,300})$", re.IGNORECASE
)
_ADDRESS = re.compile(r"\bhref\s{0,3}=\s{0,3}[\"']?([^\s\"'<>]{1,300})", re.IGNORECASE)
_TOKENS = {
    "b": "strong",
    "strong": "strong",
    "i": "em",
    "em": "em",
    "s": "s",
    "del": "s",
    "strike": "s",
    "sup": "sup",
    "sub": "sub",
}
_CODE = frozenset({"code", "tt", "samp"})


def find_address(tag: str) -> str:
    """Return the address (`href`) in an opening tag, or ""."""
    found = _ADDRESS.search(tag)
    return unescape(found[1]) if found else ""


def read_tag(state: StateInline, silent: bool) -> bool:
    """Parse a line break, or a tag with its content; other tags and unclosed ones are text."""
    if state.src[state.pos] != "<":
        return False
    if found := BREAK_TAG.match(state.src, state.pos, state.posMax):
        if not silent:
            state.push("hardbreak", "br", 0)
        state.pos = found.end()
        return True
    opening = OPENING_TAG.match(state.src, state.pos, state.posMax)
    closing = _find_closing(state, opening) if opening else None
    if opening is None or closing is None:
        return False
    if not silent:
        _push_content(state, opening, closing)
    state.pos = closing[1]
    return True


def _find_closing(state: StateInline, opening: re.Match[str]) -> tuple[int, int] | None:
    mark = f"</{opening['name'].lower()}>"
    lowered = state.env.setdefault("lowered", {})
    if lowered.get("source") is not state.src:
        lowered |= {"source": state.src, "text": state.src.lower()}
    start = lowered["text"].find(mark, opening.end(), state.posMax)
    is_code = start >= 0 and state.src.count("`", opening.end(), start) % 2 == 1
    return None if start < 0 or is_code else (start, start + len(mark))


def _push_content(state: StateInline, opening: re.Match[str], closing: tuple[int, int]) -> None:
    name = opening["name"].lower()
    if name in _CODE:
        state.push("code_inline", "code", 0).content = unescape(state.src[opening.end() : closing[0]])
        return
    address = find_address(opening[0]) if name == "a" else ""
    href = state.md.normalizeLink(address) if address else ""
    kind = _TOKENS.get(name, "")
    if href and state.md.validateLink(href) and not state.linkLevel:
        kind = "link"
    if kind:
        state.push(f"{kind}_open", name, 1).attrs = {"href": href} if kind == "link" else {}
    end, state.pos, state.posMax = state.posMax, opening.end(), closing[0]
    state.linkLevel += kind == "link"
    state.md.inline.tokenize(state)
    state.linkLevel -= kind == "link"
    state.posMax = end
    if kind:
        state.push(f"{kind}_close", name, -1)
