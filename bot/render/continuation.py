"""What has to stand before the rest of a text that was cut, so that it is read as before."""

from __future__ import annotations

import re

from bot.render.block_scanner import Container, State
from bot.render.parser import split_row

_BLOCK_START = re.compile(
    r"#{1,6}(?=[ \t]|$)|>|[-+*](?=[ \t]|$)|[-_=~]{3}|`{3}(?=[^`\n]*$)|(\d{1,9})(?=[.)](?:[ \t]|$))",
    re.MULTILINE,
)


def least_head(state: State) -> tuple[str, ...]:
    """The shortest head that keeps a fence a fence and a table a table."""
    if state.fence:
        return (state.fence[:3],)
    columns = len(split_row(state.head[1]))
    return "|" + " |" * columns, "|" + "-|" * columns


def openers(containers: tuple[Container, ...]) -> str:
    """The markers that open `containers` again, on one line."""
    return "".join(container.reopen for container in containers)


def blank(source: str, at: int) -> int:
    """How many spaces and tabs stand at `at`."""
    end = at
    while end < len(source) and source[end] in " \t":
        end += 1
    return end - at


def escaped(source: str, at: int) -> tuple[str, int]:
    """What to write instead of the next characters so that text there stays text, and how many those are."""
    skipped = blank(source, at)
    found = _BLOCK_START.match(source, at + skipped)
    if found is None:
        return "", skipped
    if found[1]:
        return found[1] + "\\", skipped + len(found[1])
    return "\\", skipped
