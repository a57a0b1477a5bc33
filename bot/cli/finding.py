"""What `roebot doctor` says of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: good, bad, or just to know (None)."""

    good: bool | None
    text: str
