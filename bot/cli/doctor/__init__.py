"""`roebot doctor`: checks of the installation, each with its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Finding:
    """One check result: good, bad or informational (None). `check` names the check, for monitoring."""

    good: bool | None
    text: str
    check: str = field(default="", compare=False)


def label_findings(check: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Set `check` on the findings that don't have one."""
    return (finding if finding.check else replace(finding, check=check) for finding in findings)
