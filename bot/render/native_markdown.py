"""Adaptation of Markdown to platforms that render it themselves, but support neither formulas nor HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bot.render.block_scanner import list_prose
from bot.render.inline_scanner import Span, scan_inline
from bot.render.inline_tags import BREAK_TAG, find_address
from bot.render.measure import characters
from bot.render.parse import is_web_link, write_script

_HINT = re.compile(r"\\[([]|\\begin\{|\$[^$]*[\\*_~][^$]*\$|<[A-Za-z/]|\[\]\(")
_SPECIAL = re.compile(r"[\\*_~]")
_NAME = re.compile(r"<([A-Za-z]+)")
_WORDLESS = re.compile(r"!?\[\]\(<?([^\s()<>]+)>?(?:[ \t][^()\n]*)?\)")
_SIGNS = {"b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "strike": "~~"}
_SIGNS |= {"code": "`", "tt": "`", "samp": "`"}
_Edit = tuple[int, int, str]


def adapt_markdown(
    markdown: str,
    limit: int,
    measure: Callable[[str], int] = characters,
    escape: Callable[[str], str] = str,
) -> str:
    """Return Markdown without tags and with escaped formulas, as far as the result fits in `limit`.

    Tags become Markdown or disappear; links and images without words become their addresses. `escape` is
    applied before and again after, because removing a tag may join the text around it to a mention.
    """
    escaped = escape(markdown)
    if not _HINT.search(escaped):
        return escaped
    adapted = escape(_adapt_lines(escaped, limit, measure))
    return adapted if measure(adapted) <= limit else escaped


def _adapt_lines(markdown: str, limit: int, measure: Callable[[str], int]) -> str:
    room = limit - measure(markdown)
    lines = markdown.split("\n")
    done: list[str] = []
    at = 0
    for block in list_prose(lines):
        text, room = _adapt("\n".join(lines[block.start : block.stop]), room, measure)
        done += [*lines[at : block.start], text]
        at = block.stop
    return "\n".join([*done, *lines[at:]])


def _adapt(text: str, room: int, measure: Callable[[str], int]) -> tuple[str, int]:
    """Return the adapted text and the remaining room."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(_list_edits(text)):
        growth = measure(new) - measure(text[start:end])
        if start >= at and growth <= room:
            room -= growth
            pieces += [text[at:start], new]
            at = end
    return "".join([*pieces, text[at:]]), room


def _list_edits(text: str) -> Iterator[_Edit]:
    found = scan_inline(text)
    for formula in found.formulas:
        source = text[formula.start : formula.end]
        yield formula.start, formula.end, _SPECIAL.sub(r"\\\g<0>", source)
    for span in found.spans:
        source = text[span.start : span.end]
        if BREAK_TAG.fullmatch(source):
            yield span.start, span.end, " " if "|" in text else "\n"
        elif span.opener.startswith("<"):
            yield from _edit_tag(text, span)
        elif wordless := _WORDLESS.fullmatch(source):
            yield span.start, span.end, wordless[1]


def _edit_tag(text: str, span: Span) -> Iterator[_Edit]:
    found = _NAME.match(span.opener)
    name = found[1].lower() if found else ""
    inner = span.start + len(span.opener)
    last = text.rfind("<", inner, span.end)
    if name in ("sup", "sub"):
        yield span.start, span.end, write_script(text[inner:last], is_raised=name == "sup")
        return
    before = after = _SIGNS.get(name, "")
    if name == "a" and is_web_link(address := find_address(span.opener)):
        before, after = "[", f"]({address.replace('(', '%28').replace(')', '%29')})"
    yield span.start, inner, before
    yield last, span.end, after
