"""markdown-it-py set up so that no text is ever lost: no HTML, no definitions, bounded nesting, wide rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block, table

BlockRule = Callable[[StateBlock, int, int, bool], bool]

MAX_DEPTH = 32
"""Deepest nesting of lists (two each) and quotes (one each); what goes deeper stays text."""


def _bounded(rule: BlockRule) -> BlockRule:
    """Refuse `rule` below MAX_DEPTH, where markdown-it would drop the text."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < MAX_DEPTH and rule(state, start, end, silent)

    return bounded


def split_row(line: str) -> list[str]:
    r"""The cells of a table row: outer pipes dropped, `\|` unescaped."""
    if "\\" not in line:
        cells = line.strip(" \t").split("|")
        return [cell.strip(" \t") for cell in cells[not cells[0] : -1 if not cells[-1] else None]]
    cells, current, escaped = [], "", False
    for char in line.strip(" \t"):
        if char == "|" and escaped:
            current = current[:-1] + char
        elif char == "|":
            cells.append(current)
            current = ""
        else:
            current += char
        escaped = char == "\\"
    cells.append(current)
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [cell.strip(" \t") for cell in cells]


def _wide_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The table rule, but cells beyond the header's join the last column instead of vanishing."""
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


@cache
def grammar() -> MarkdownIt:
    """The parser shared by the whole process; parsing keeps no state in it."""
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_DEPTH + 20})
    md.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])
    alt = ["paragraph", "reference"]
    md.block.ruler.at("table", _wide_table, {"alt": alt})
    md.block.ruler.at("blockquote", _bounded(blockquote), {"alt": [*alt, "blockquote", "list"]})
    md.block.ruler.at("list", _bounded(list_block), {"alt": [*alt, "blockquote"]})
    return md
