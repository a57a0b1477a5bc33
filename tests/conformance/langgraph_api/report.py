"""Texts of results: a table by family, and the differences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tests.conformance.langgraph_api.recorder import Step
from tests.conformance.langgraph_api.shapes import ABSENT
from tests.conformance.langgraph_api.suite import Result

VERDICTS = ("same", "explained", "different")
WIDTH = 160
PLACE = re.compile(r"\[\d+\]")


def format_table(results: Sequence[Result]) -> str:
    """Return a line for each family of each language, and the sums."""
    lines = [f"{'family':25}{'steps':>7}" + "".join(f"{name:>11}" for name in VERDICTS)]
    rows = dict.fromkeys((result.language, family) for result in results for family in (result.family, "all"))
    for language, family in sorted(rows, key=lambda row: (row[0] != "python", row[1] == "all")):
        counts = Counter(
            result.verdict
            for result in results
            if result.language == language and family in {result.family, "all"}
        )
        lines.append(
            f"{f'{language} {family}':25}{sum(counts.values()):7}"
            + "".join(f"{counts[name]:11}" for name in VERDICTS)
        )
    return "\n".join(lines)


def format_differences(result: Result) -> str:
    """Return the unexplained differences of a step: a line each, with a count for equal ones in a list."""
    lines = Counter(
        f"  {PLACE.sub('[]', item.path)}: {_shorten(item.ours)}  /  {_shorten(item.reference)}"
        for item, case in result.differences
        if case is None
    )
    repeated = (f"{line}  ({count} times)" if count > 1 else line for line, count in lines.items())
    return "\n".join((f"{result.language} {result.name}", *repeated))


def format_details(result: Result, width: int | None = None) -> str:
    """Return both outcomes of a step as JSON."""
    return "\n".join(
        f"  {title}: {_format_step(step, width)}"
        for title, step in (("ours", result.ours), ("reference", result.reference))
    )


def _format_step(step: Step, width: int | None) -> str:
    indent = 2 if width is None else None
    text = json.dumps(step.outcome, indent=indent, default=repr) + (f"  {step.detail}" if step.detail else "")
    return text if width is None or len(text) <= width else f"{text[:width]}…"


def _shorten(shape: Any) -> str:
    text = ABSENT if shape == ABSENT else json.dumps(shape)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"


def list_different(results: Iterable[Result]) -> list[Result]:
    """Return the steps with unexplained differences."""
    return [result for result in results if result.verdict == "different"]
