"""Cheap, additive upper bounds of the rendered size of a Markdown source line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Weigher(Protocol):
    """Upper bounds of the rendered length of source lines, line end included; each grows with the line."""

    def text(self, line: str) -> int:
        """A line outside code."""

    def code(self, line: str) -> int:
        """A line inside a fence."""

    def cells(self, row: str) -> tuple[int, ...]:
        """The widths of a table row's cells if tables are drawn as a grid; empty if rows weigh as text."""

    def grid(self, widths: Sequence[int], rows: int) -> int:
        """A drawn table of `rows` rows (the rule below the header is one)."""


@dataclass(frozen=True, slots=True)
class SourceWeigher:
    """Weigher for platforms that take Markdown itself: a line weighs its length."""

    measure: Callable[[str], int]

    def text(self, line: str) -> int:
        return self.measure(line) + 1

    def code(self, line: str) -> int:
        return self.measure(line) + 1

    def cells(self, row: str) -> tuple[int, ...]:
        del row
        return ()

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return sum(widths) * rows
