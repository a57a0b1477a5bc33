"""Compare the runtime with LangGraph's development server, using both SDKs: `make conformance`.

To run only some families, name them: `python -m tests.conformance threads store`. The JavaScript SDK
requires Node.js and `make install-clients`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.langgraph_api.explained import EXPLAINED, MOST
from tests.conformance.langgraph_api.javascript import find_problem
from tests.conformance.langgraph_api.report import (
    format_details,
    format_differences,
    format_table,
    list_different,
)
from tests.conformance.langgraph_api.steps import FAMILIES
from tests.conformance.langgraph_api.suite import Result, run_families

FEWEST_STEPS = {"python": 370, "javascript": 250}
REPORT_WIDTH = 1_500


def main(arguments: Sequence[str]) -> int:
    """Run and print; return 1 if there are unexplained differences, unused explanations or too few steps."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    known = {family: None for families in FAMILIES.values() for family in families}
    parser.add_argument("families", nargs="*", metavar="family", help=", ".join(known))
    parser.add_argument("--language", choices=FAMILIES, help="default: both")
    parser.add_argument(
        "--show", metavar="TEXT", help="print both answers of the steps whose name contains this text"
    )
    parser.add_argument("--report", type=Path, help="a file for the table and both answers where they differ")
    parser.add_argument("--twice", action="store_true", help="compare the reference with itself")
    options = parser.parse_args(arguments)
    if unknown := set(options.families) - known.keys():
        parser.error(f"unknown family: {', '.join(sorted(unknown))}")
    wanted = {
        language: [family for family in families if family in (options.families or families)]
        for language, families in FAMILIES.items()
        if options.language in (None, language)
    }
    if "javascript" in wanted and (problem := find_problem()):
        print(f"JavaScript: {problem}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="roebot-conformance-") as folder:
        results = asyncio.run(run_families(wanted, Path(folder), _print_progress, twice=options.twice))
    for result in results:
        if options.show and options.show in f"{result.language} {result.name}":
            print(f"\n{result.name}\n{format_details(result)}")
    different = list_different(results)
    print("", *map(format_differences, different), "", format_table(results), sep="\n")
    if options.report:
        options.report.write_text(_format_report(results, different))
    is_part = options.families or options.language or options.twice
    problems = _list_problems(results, is_complete=not is_part)
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
    used = {case for result in results for _, case in result.differences}
    cases = (case for one in EXPLAINED for case in one.cases)
    problems.extend(f"an explanation is not used: {case}" for case in cases if case not in used)
    counts = Counter(result.language for result in results)
    problems.extend(
        f"{counts[language]} steps in {language} are fewer than {fewest}"
        for language, fewest in FEWEST_STEPS.items()
        if counts[language] < fewest
    )
    return problems


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
