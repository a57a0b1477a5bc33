"""Resolution of reference links (`[plan][1]` with `[1]: https://…`), which platforms show as written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.render.block_scanner import list_prose
from bot.render.inline_scanner import scan_inline

_DEFINITION = re.compile(
    r" {0,3}\[((?:[^\[\]\\]|\\.){1,300})\]:[ \t]+(<)?((?:https?://|mailto:)[^\s<>]+)(?(2)>)"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*"
)
_HALF_DEFINITION = re.compile(r" {0,3}\[(?:[^\[\]\\]|\\.){1,300}\]:")
_REFERENCE = re.compile(r"\[((?:[^\[\]\\]|\\.){1,300})\](?:\[((?:[^\[\]\\\n]|\\.){0,300})\])?(?![\[(:])")


def is_half_definition(line: str) -> bool:
    """Return whether the last line of a growing text may be an incomplete definition."""
    return _HALF_DEFINITION.match(line) is not None


def resolve_references(markdown: str) -> str:
    """Replace reference links with inline links, and remove their definitions.

    Only the first reference to each definition becomes a link; later ones become plain text, so the result is
    never longer than the input. References without a definition, and definitions whose target is neither
    http(s) nor mailto, are unchanged. So are definitions without a reference, which may be in an earlier part
    of the answer.
    """
    if "]:" not in markdown:
        return markdown
    lines = markdown.split("\n")
    blocks = list(list_prose(lines))
    definitions = {
        _normalize(found[1]): (number, found[3])
        for number, found in reversed([one for block in blocks for one in _list_definitions(lines, block)])
    }
    if not definitions:
        return markdown
    resolved: set[str] = set()
    numbers = {number for number, _ in definitions.values()}
    for block in blocks:
        if not (prose := [number for number in block if number not in numbers]):
            continue
        text = _resolve("\n".join(lines[number] for number in prose), definitions, resolved)
        for number, line in zip(prose, text.split("\n"), strict=True):
            lines[number] = line
    obsolete = {definitions[label][0] for label in resolved}
    result = "\n".join(line for number, line in enumerate(lines) if number not in obsolete)
    return result.rstrip() if resolved and len(result) <= len(markdown) else markdown


def _list_definitions(lines: list[str], block: range) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the line number and the match of each definition in a block."""
    for number in block:
        if "]:" in lines[number] and (found := _DEFINITION.fullmatch(lines[number])):
            yield number, found


def _resolve(text: str, definitions: dict[str, tuple[int, str]], resolved: set[str]) -> str:
    """Return a block with its references resolved, adding their labels to `resolved`."""
    if "[" not in text:
        return text
    spans = sorted((span.start, span.end) for span in scan_inline(text).spans if not span.opener.strip("`"))
    pieces: list[str] = []
    at = index = 0
    for found in _REFERENCE.finditer(text):
        while index < len(spans) and spans[index][1] <= found.start():
            index += 1
        label = _normalize(found[2] or found[1])
        if label not in definitions or (index < len(spans) and _cuts(spans[index], found)):
            continue
        link = found[1] if found[2] else found[0]
        if label not in resolved:
            number = "" if found[2] else found[1].removeprefix("^")
            words = rf"\[{number}\]" if number.isdecimal() else found[1]
            address = definitions[label][1]
            link = f"[{words}](<{address}>)" if "(" in address or ")" in address else f"[{words}]({address})"
        pieces += [text[at : found.start()], link]
        resolved.add(label)
        at = found.end()
    return "".join([*pieces, text[at:]])


def _cuts(span: tuple[int, int], found: re.Match[str]) -> bool:
    """Return whether a reference is inside the span, or overlaps it without containing it."""
    start, end = span
    return start < found.end() and (start <= found.start() or found.end() < end)


def _normalize(label: str) -> str:
    return " ".join(label.casefold().split())
