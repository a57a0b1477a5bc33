"""The paragraphs of a section that are quoted: its beginning, or those that are about a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.shared.documentation import DocSection, load_documentation

QUOTED, FOCUSED = 1100, 700
"""Characters from which on a section's remaining paragraphs are left out, at its beginning and elsewhere."""
GAIN = 2.0
"""Weight of words that a paragraph must have beyond the whole beginning, to be quoted instead."""
OMITTED = "…"
_ITEM = re.compile(r"^(?=(?:[-*+]|\d+[.)]) )", re.M)


@dataclass(frozen=True, slots=True)
class _Unit:
    """A paragraph, an item of a list or a row of a table, whose first two lines are `head`."""

    block: int
    text: str
    head: str = ""


def quote_section(section: DocSection, words: Sequence[str]) -> tuple[str, bool]:
    """Return the paragraphs of a section that are about these words, and whether that is all of it.

    If its beginning covers most of them, it is quoted from there.
    """
    text, whole = cut_section(section.text)
    if whole or not words:
        return text, whole
    blocks = _split_blocks(section.text)
    units = _split_units(blocks)
    texts = [text, *blocks, *(one.text for one in units)]
    beginning, *weights = load_documentation().weigh_texts(words, texts, f"{section.title} {section.heading}")
    best = weights.index(max(weights[len(blocks) :]), len(blocks)) - len(blocks)
    fits = [at for at, block in enumerate(blocks) if len(block) <= 2 * QUOTED]
    together = max(fits, key=weights.__getitem__, default=0)
    if max(weights[together], weights[len(blocks) + best]) < beginning + GAIN:
        return text, whole
    if weights[together] >= weights[len(blocks) + best] + GAIN:
        return _quote_block(blocks, together), False
    return _focus(units, best), False


def _quote_block(blocks: Sequence[str], at: int) -> str:
    """Return a list or table whose items are about the question together."""
    parts = [OMITTED, *blocks[max(0, at - 1) : at + 1]] if at > 1 else list(blocks[: at + 1])
    return "\n\n".join([*parts, OMITTED] if at + 1 < len(blocks) else parts)


def _focus(units: Sequence[_Unit], best: int) -> str:
    """Return the paragraphs from the best one on."""
    first = best
    while first and re.match(r"\d+[.)] ", units[first].text) and units[first - 1].block == units[first].block:
        first -= 1
    if first and (units[first - 1].text.endswith(":") or units[first].text.startswith("```")):
        first -= 1
    last = best
    while last + 1 < len(units) and sum(len(one.text) for one in units[first : last + 2]) <= FOCUSED:
        last += 1
    parts = [OMITTED] if first else []
    for at in range(first, last + 1):
        unit = units[at]
        if at > first and unit.block == units[at - 1].block:
            parts[-1] += f"\n{unit.text}"
        else:
            parts.append(f"{unit.head}{unit.text}")
    return "\n\n".join([*parts, OMITTED] if last + 1 < len(units) else parts)


def cut_section(text: str) -> tuple[str, bool]:
    """Return the first paragraphs of a section, at least one, and whether that is all of it.

    Code blocks, lists and tables stay whole up to twice the size.
    """
    blocks = _split_blocks(text)
    shown = [blocks[0]]
    for block in blocks[1:]:
        if sum(map(len, shown)) + len(block) > QUOTED and not shown[-1].endswith(":"):
            break
        shown.append(block)
    if len(shown[0]) > 2 * QUOTED:
        lines = shown[0].splitlines()
        while len("\n".join(lines)) > 2 * QUOTED and len(lines) > 1:
            lines.pop()
        shown = ["\n".join(lines)]
    result = "\n\n".join(shown)
    return result, len(result) == len("\n\n".join(blocks))


def _split_blocks(text: str) -> list[str]:
    """Return the paragraphs; a code block is one of them."""
    blocks: list[str] = []
    fenced = False
    for block in re.split(r"\n\s*\n", text):
        if fenced:
            blocks[-1] += f"\n\n{block}"
        else:
            blocks.append(block)
        fenced ^= len(re.findall(r"^ *```", block, re.M)) % 2 == 1
    return blocks


def _split_units(blocks: Sequence[str]) -> list[_Unit]:
    units: list[_Unit] = []
    for at, block in enumerate(blocks):
        lines = block.splitlines()
        if block.startswith("|") and len(lines) > 2:
            head = "\n".join([*lines[:2], ""])
            units += [_Unit(at, line, head) for line in lines[2:]]
        elif block.startswith("```"):
            units.append(_Unit(at, block))
        else:
            units += [_Unit(at, item.rstrip("\n")) for item in _ITEM.split(block) if item.strip()]
    return units
