"""Measured figures beside what they may be at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value and its limit, both in `unit` ("x" is a ratio to the peer of the same run)."""

    name: str
    value: float
    limit: float
    unit: str = "x"
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit


def table(figures: Sequence[Figure]) -> str:
    """The figures as text, one a line."""
    width = max(len(figure.name) for figure in figures)
    lines = [f"{'':{width}}  measured     at most"]
    for figure in figures:
        value, limit = f"{figure.value:.2f} {figure.unit}", f"{figure.limit:.2f} {figure.unit}"
        verdict = "ok  " if figure.holds else "MISS"
        lines.append(f"{figure.name:{width}}  {value:>11}  {limit:>11}  {verdict}  {figure.detail}".rstrip())
    return "\n".join(lines)
