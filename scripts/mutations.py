"""Remove each guard in turn and run its test, which must then fail: `python -m scripts.mutations`.

Works in a copy of the tree and writes the results to the `*-guards` pages in `docs/reference`. `--only WORD`
runs the guards whose name contains the word and leaves the other lines as they are; `--containers` also runs
those of the container provider.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.guards import ROOT, Guard, read_guards
from scripts.reference.guards import PAGES

COPIED = ("agent", "bot", "packages", "tests", "pyproject.toml", "config.example.yaml")
SOURCES = (".", "packages/roebot-provisioner/src", "packages/roebot-testing/src")
NOBODY = 65534
CONTAINERS = re.compile(r"^pytestmark = .*mark\.container\b", re.MULTILINE)


def copy_tree(folder: Path) -> None:
    """Copy the tree, so that nobody works with a mutated one."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    folder.chmod(0o755)


def pytest_command(tests: Sequence[str], scratch: Path, *, user: bool) -> list[str]:
    """Return the command that runs tests, as this user or as an ordinary one."""
    call = ["-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", ""]
    # A thread ends the process, because without a guard the cleanup of a test may hang as well.
    call += ["--timeout", "60", "--timeout-method", "thread"]
    call += ["--basetemp", str(scratch / "pytest"), *tests]
    if not user or os.geteuid():
        return [sys.executable, *call]
    system = f"/usr/bin/python3.{sys.version_info.minor}"
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", system, *call]


def run_tests(tests: Sequence[str], folder: Path, *, user: bool) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy."""
    scratch = Path(tempfile.mkdtemp(prefix="roebot-mutation-"))
    if user and os.geteuid() == 0:
        os.chown(scratch, NOBODY, NOBODY)
    packages = os.pathsep.join([*(str(folder / source) for source in SOURCES), *site.getsitepackages()])
    env = {**os.environ, "PYTHONPATH": packages}
    call = pytest_command(tests, scratch, user=user)
    try:
        return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def tests_pass(guards: Sequence[Guard], folder: Path) -> bool:
    """Return whether all tests pass with every guard in place; one that fails anyway would prove nothing."""
    for user in (False, True):
        tests = sorted({one.node for one in guards if one.user == user})
        done = run_tests(tests, folder, user=user) if tests else None
        if done is not None and done.returncode:
            print(done.stdout[-3_000:], done.stderr[-500:])
            return False
    return True


def run_without_guard(guard: Guard, folder: Path) -> str:
    """Run the test of a guard without it, and return "caught" or what went wrong."""
    file = folder / guard.file
    text = file.read_text()
    if text.count(guard.old) != 1:
        return f"not run: {guard.file} has the guard {text.count(guard.old)} times"
    file.write_text(text.replace(guard.old, guard.new))
    try:
        done = run_tests([guard.node], folder, user=guard.user)
    finally:
        file.write_text(text)
    if done.returncode == 1:
        return "caught"
    if done.returncode == 0:
        return "survived"
    return f"not run: pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def needs_containers(guard: Guard) -> bool:
    """Return whether the test of a guard starts containers."""
    return CONTAINERS.search((ROOT / guard.node.partition("::")[0]).read_text()) is not None


def main() -> int:
    """Return 0 if every guard's test fails without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--containers", action="store_true")
    options = parser.parse_args()
    chosen = [guard for guard in read_guards() if options.only in guard.what]
    guards = [guard for guard in chosen if options.containers or not needs_containers(guard)]
    results: dict[Guard, str] = {}
    with tempfile.TemporaryDirectory(prefix="roebot-mutations-") as temporary:
        folder = Path(temporary)
        copy_tree(folder)
        if not tests_pass(guards, folder):
            print("not run: tests fail with every guard in place")
            return 1
        for guard in guards:
            started = time.monotonic()
            results[guard] = run_without_guard(guard, folder)
            print(f"{results[guard]:8} {guard.what} ({time.monotonic() - started:.1f} s)", flush=True)
    for page in PAGES:
        page.path.write_text(page.render(results))
    return int(any(result != "caught" for result in results.values()))


if __name__ == "__main__":
    raise SystemExit(main())
