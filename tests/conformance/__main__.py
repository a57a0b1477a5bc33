"""Compare the runtime with LangGraph's development server: `make conformance`.

Families after the command choose some: `python -m tests.conformance threads store`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.langgraph_api.explained import EXPLAINED, MOST
from tests.conformance.langgraph_api.report import (
    format_details,
    format_differences,
    format_table,
    list_different,
)
from tests.conformance.langgraph_api.steps import FAMILIES
from tests.conformance.langgraph_api.suite import Result, run_families

FEWEST_STEPS = 370
REPORT_WIDTH = 1_500


def main(arguments: Sequence[str]) -> int:
    """Run and print; 1 if there are unexplained differences, unused explanations or too few steps."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="family", help=", ".join(FAMILIES))
    parser.add_argument(
        "--show", metavar="TEXT", help="print both answers of the steps whose name contains it"
    )
    parser.add_argument("--report", type=Path, help="a file for the table and both answers where they differ")
    parser.add_argument("--twice", action="store_true", help="compare the reference with itself")
    options = parser.parse_args(arguments)
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"unknown family: {', '.join(sorted(unknown))}")
    families = options.families or list(FAMILIES)
    with tempfile.TemporaryDirectory(prefix="roebot-conformance-") as folder:
        results = asyncio.run(run_families(families, Path(folder), _print_progress, twice=options.twice))
    for result in results:
        if options.show and options.show in result.name:
            print(f"\n{result.name}\n{format_details(result)}")
    different = list_different(results)
    print("", *map(format_differences, different), "", format_table(results), sep="\n")
    if options.report:
        options.report.write_text(_format_report(results, different))
    problems = _list_problems(results, is_complete=not (options.families or options.twice))
    print(*problems, sep="\n")
    return int(bool(different or problems))


def _print_progress(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)


def _format_report(results: Sequence[Result], different: Sequence[Result]) -> str:
    parts = [f"{format_differences(one)}\n{format_details(one, REPORT_WIDTH)}\n" for one in different]
    return "\n".join([format_table(results), "\nstep\n  path: ours  /  reference\n", *parts])


def _list_problems(results: Sequence[Result], *, is_complete: bool) -> list[str]:
    problems = [f"more than {MOST} explanations"] if len(EXPLAINED) > MOST else []
    if not is_complete:
        return problems
    used = {explanation for result in results for _, explanation in result.differences}
    problems.extend(f"an explanation is not used: {one.reason}" for one in EXPLAINED if one not in used)
    if len(results) < FEWEST_STEPS:
        problems.append(f"{len(results)} steps are fewer than {FEWEST_STEPS}")
    return problems


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
