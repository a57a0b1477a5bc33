"""Report the skipped cases of a run; the root conftest.py imports `pytest_terminal_summary`."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from bot.testing.conformance.needs import NOT_APPLICABLE


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the cases of the suite that did not apply, by the class that ran it and the reason."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        _, marked, why = reason.partition(NOT_APPLICABLE)
        if marked:
            found[report.nodeid.split("::")[1]][why] += 1
    if not found:
        return
    total = sum(sum(reasons.values()) for reasons in found.values())
    terminalreporter.section(f"conformance: {total} cases not applicable")
    for name, reasons in sorted(found.items()):
        terminalreporter.write_line(f"{name}: {sum(reasons.values())} cases not applicable")
        for why, count in sorted(reasons.items()):
            terminalreporter.write_line(f"  {count} × {why}")
