"""Takes each guard of the sandbox away and runs its test, which has to fail: `python -m scripts.mutations`.

Works in a copy of the tree. Writes the table of `docs/reference/sandbox-guards.md`; `--only WORD` runs those
whose name has the word and writes nothing, `--containers` runs the container provider's too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.sandbox.mutations import CONTAINER_MUTATIONS, MUTATIONS, Mutation  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "sandbox-guards.md"
COPIED = ("agent", "bot", "tests", "pyproject.toml", "config.example.yaml")
NOBODY = 65534
HEAD = """# Guards of the sandbox

Made by `python -m scripts.mutations{flags}`: each guard is taken away alone, and the test named here has to
fail then. {count} guards, {caught} caught.

| against | guard | test that fails without it | result |
|---|---|---|---|
"""


def copy(folder: Path) -> None:
    """The tree, so that nobody works with a mutated one."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    folder.chmod(0o755)


def command(mutation: Mutation, scratch: Path) -> list[str]:
    """How its test is run: as this user, or as an ordinary one."""
    call = ["-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "", "--timeout", "60"]
    call += ["--basetemp", str(scratch / "pytest"), mutation.test]
    if not mutation.user or os.geteuid():
        return [sys.executable, *call]
    system = f"/usr/bin/python3.{sys.version_info.minor}"
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", system, *call]


def caught(mutation: Mutation, folder: Path) -> str:
    """ "caught", or what went wrong. The test has to pass with the guard before it fails without."""
    file = folder / mutation.file
    text = file.read_text()
    if text.count(mutation.old) != 1:
        return f"not run: {mutation.file} has the guard {text.count(mutation.old)} times"
    file.write_text(text.replace(mutation.old, mutation.new))
    scratch = Path(tempfile.mkdtemp(prefix="roebot-mutation-"))
    os.chown(scratch, NOBODY if mutation.user else os.geteuid(), -1)
    packages = os.pathsep.join([str(folder), *site.getsitepackages()])
    env = {**os.environ, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command(mutation, scratch), cwd=folder, env=env, capture_output=True, text=True, check=False
        )
    finally:
        file.write_text(text)
        shutil.rmtree(scratch, ignore_errors=True)
    if done.returncode == 1:
        return "caught"
    if done.returncode == 0:
        return "survived"
    return f"not run: pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def page(results: Sequence[tuple[Mutation, str]], flags: str) -> str:
    """The page with the table."""
    good = sum(result == "caught" for _, result in results)
    lines = [
        f"| {one.against} | {one.guard} | `{one.test.rpartition('::')[2]}`"
        f"{' (as an ordinary user)' if one.user else ''} | {result} |"
        for one, result in results
    ]
    return HEAD.format(count=len(results), caught=good, flags=flags) + "\n".join(lines) + "\n"


def main() -> int:
    """0 if every guard's test fails without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--containers", action="store_true")
    given = parser.parse_args()
    wanted = [*MUTATIONS, *(CONTAINER_MUTATIONS if given.containers else ())]
    wanted = [one for one in wanted if given.only in one.guard]
    results: list[tuple[Mutation, str]] = []
    with tempfile.TemporaryDirectory(prefix="roebot-mutations-") as made:
        folder = Path(made)
        copy(folder)
        for mutation in wanted:
            started = time.monotonic()
            results.append((mutation, caught(mutation, folder)))
            print(f"{results[-1][1]:8} {mutation.guard} ({time.monotonic() - started:.1f} s)", flush=True)
    if not given.only:
        PAGE.write_text(page(results, " --containers" if given.containers else ""))
    return int(any(result != "caught" for _, result in results))


if __name__ == "__main__":
    raise SystemExit(main())
