"""What `roebot doctor` says of one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: good, bad, or just to know (None). `check` names what it was, for monitoring."""

    good: bool | None
    text: str
    check: str = field(default="", compare=False)


def of(check: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings of one check."""
    return (finding if finding.check else replace(finding, check=check) for finding in findings)
