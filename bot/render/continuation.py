"""Prefixes that keep the meaning of the rest of a cut text."""

from __future__ import annotations

import re

from bot.render.block_scanner import Container, State
from bot.render.parser import split_row

_BLOCK_START = re.compile(
    r"#{1,6}(?=[ \t]|$)|>|[-+*](?=[ \t]|$)|[-_=~]{3}|`{3}(?=[^`\n]*$)|(\d{1,9})(?=[.)](?:[ \t]|$))",
    re.MULTILINE,
)


def least_head(state: State) -> tuple[str, ...]:
    """Return the shortest head that keeps a fence a fence and a table a table."""
    if state.fence:
        return (state.fence[:3],)
    columns = len(split_row(state.head[1]))
    return "|" + " |" * columns, "|" + "-|" * columns


def openers(containers: tuple[Container, ...]) -> str:
    """Return the markers that reopen `containers`, on one line."""
    return "".join(container.reopen for container in containers)


def blank(source: str, at: int) -> int:
    """Count the spaces and tabs at `at`."""
    end = at
    while end < len(source) and source[end] in " \t":
        end += 1
    return end - at


def escaped(source: str, at: int) -> tuple[str, int]:
    """Return an escape for the next characters that keeps them text, and the number of characters it
    replaces.
    """
    skipped = blank(source, at)
    found = _BLOCK_START.match(source, at + skipped)
    if found is None:
        return "", skipped
    if found[1]:
        return found[1] + "\\", skipped + len(found[1])
    return "\\", skipped
