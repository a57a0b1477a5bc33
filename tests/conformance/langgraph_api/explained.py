"""Differences that stay: bugs of the reference, and places where the runtime refuses more."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 12


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains differences whose step and path match two regular expressions."""

    step: str
    path: str
    reason: str

    def covers(self, step: str, path: str) -> bool:
        """Return whether this difference is explained."""
        return bool(re.search(self.step, step) and re.search(self.path, path))


EXPLAINED: tuple[Explanation, ...] = ()
