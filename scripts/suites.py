"""Runs the test suites and says what was not run: `python -m scripts.suites test|all`.

A suite that needs a system package which is not there is reported as *not run*; `all` fails then.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Suite:
    """One call of pytest. `needs` names programs of which one has to be there."""

    name: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()
    hint: str = ""

    def missing(self) -> str:
        """Why it cannot run here, "" if it can."""
        if not self.needs or any(shutil.which(program) for program in self.needs):
            return ""
        return f"needs {self.needs[0]} ({self.hint})"


FAST = Suite("tests", ("-m", "not fault and not soak and not browser and not oracle", "tests"))
BROWSER = Suite("browser", ("-m", "browser", "tests"), CHROMIUM, "Debian: apt install chromium")
LONG = (
    Suite("faults", ("-m", "fault", "tests")),
    BROWSER,
    Suite("soak and load", ("-m", "soak", "tests")),
    Suite("oracle", ("-m", "oracle", "tests")),
)


def run(suite: Suite) -> str:
    """ "passed", "failed" or "not run: why"."""
    if why := suite.missing():
        return f"not run: {why}"
    print(f"\n=== {suite.name}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *suite.arguments]
    return "passed" if subprocess.call(command, cwd=ROOT) == 0 else "failed"


def main() -> int:
    """Run what was asked for; 0 if all of it is well."""
    everything = sys.argv[1:] == ["all"]
    suites = (FAST, *LONG) if everything else (FAST,)
    results = {}
    for suite in suites:
        started = time.monotonic()
        results[suite.name] = (run(suite), time.monotonic() - started)
    print("\n=== summary")
    for name, (result, seconds) in results.items():
        print(f"{name:14} {result} ({seconds:.0f} s)")
    if not everything and (why := BROWSER.missing()):
        print(f"{BROWSER.name:14} not run: {why}")
    bad = [result for result, _ in results.values() if result == "failed"]
    left_out = [result for result, _ in results.values() if result.startswith("not run")]
    return int(bool(bad) or (everything and bool(left_out)))


if __name__ == "__main__":
    raise SystemExit(main())
