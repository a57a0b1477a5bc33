"""Takes each guard away and runs its test, which has to fail: `python -m scripts.mutations`.

Works in a copy of the tree. Writes the pages `sandbox-guards`, `access-guards`, `message-guards` and
`approval-guards` in `docs/reference`; `--only WORD` runs those whose name has the word and leaves the other
lines as they are, `--containers` runs the container provider's too.
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.component.dispatch.approval_mutations import APPROVAL_MUTATIONS  # noqa: E402
from tests.component.dispatch.message_mutations import MESSAGE_MUTATIONS  # noqa: E402
from tests.component.server.access_mutations import ACCESS_MUTATIONS  # noqa: E402
from tests.component.server.credential_mutations import CREDENTIAL_MUTATIONS  # noqa: E402
from tests.contract.store.audit_mutations import AUDIT_MUTATIONS  # noqa: E402
from tests.sandbox.mutation import Mutation  # noqa: E402
from tests.sandbox.mutations import CONTAINER_MUTATIONS, MUTATIONS  # noqa: E402
from tests.sandbox.mutations_egress import EGRESS_CONTAINER_MUTATIONS, EGRESS_MUTATIONS  # noqa: E402
from tests.sandbox.mutations_remote import REMOTE_MUTATIONS  # noqa: E402

LOCAL = (*MUTATIONS, *EGRESS_MUTATIONS, *REMOTE_MUTATIONS)
ACCESS = (*ACCESS_MUTATIONS, *CREDENTIAL_MUTATIONS, *AUDIT_MUTATIONS)
CONTAINERS = (*CONTAINER_MUTATIONS, *EGRESS_CONTAINER_MUTATIONS)
COPIED = ("agent", "bot", "tests", "pyproject.toml", "config.example.yaml")
NOBODY = 65534
FOLDER = ROOT / "docs" / "reference"
SANDBOX_HEAD = """# Sandbox guards

To verify the sandbox guards, each one is removed individually; the test listed next to it must then fail.
`python -m scripts.mutations` generates this page. With `--containers`, it also checks the container guards.
"""
ACCESS_HEAD = """# Access guards

These guards protect the service from clients without a credential, and the audit log from changes. To verify
them, each one is removed individually; the test listed next to it must then fail. `python -m
scripts.mutations` generates this page.
"""
MESSAGE_HEAD = """# Message guards

These guards keep names, and the words of others, from acting with somebody's authority. To verify them, each
one is removed individually; the test listed next to it must then fail. `python -m scripts.mutations`
generates this page.
"""
APPROVAL_HEAD = """# Approval guards

These guards protect approvals of tool calls, and keep platforms from fetching the links of an answer. To
verify them, each one is removed individually; the test listed next to it must then fail.
`python -m scripts.mutations` generates this page.
"""
TABLE = """Guards: {count}, caught: {caught}.

| against | guard | test that fails without it | result |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class GuardPage:
    """A page of the documentation, and the guards that it lists."""

    path: Path
    head: str
    guards: Sequence[Mutation]


PAGES = (
    GuardPage(FOLDER / "sandbox-guards.md", SANDBOX_HEAD, (*LOCAL, *CONTAINERS)),
    GuardPage(FOLDER / "access-guards.md", ACCESS_HEAD, ACCESS),
    GuardPage(FOLDER / "message-guards.md", MESSAGE_HEAD, MESSAGE_MUTATIONS),
    GuardPage(FOLDER / "approval-guards.md", APPROVAL_HEAD, APPROVAL_MUTATIONS),
)


def copy(folder: Path) -> None:
    """The tree, so that nobody works with a mutated one."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    folder.chmod(0o755)


def command(tests: Sequence[str], scratch: Path, *, user: bool) -> list[str]:
    """How tests are run: as this user, or as an ordinary one."""
    call = ["-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", ""]
    # By a thread, which ends the process: without a guard, what a test tidies up may stand still too.
    call += ["--timeout", "60", "--timeout-method", "thread"]
    call += ["--basetemp", str(scratch / "pytest"), *tests]
    if not user or os.geteuid():
        return [sys.executable, *call]
    system = f"/usr/bin/python3.{sys.version_info.minor}"
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", system, *call]


def tested(tests: Sequence[str], folder: Path, *, user: bool) -> subprocess.CompletedProcess[str]:
    """Tests in the copy."""
    scratch = Path(tempfile.mkdtemp(prefix="roebot-mutation-"))
    if user and os.geteuid() == 0:
        os.chown(scratch, NOBODY, NOBODY)
    packages = os.pathsep.join([str(folder), *site.getsitepackages()])
    env = {**os.environ, "PYTHONPATH": packages}
    call = command(tests, scratch, user=user)
    try:
        return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def sound(wanted: Sequence[Mutation], folder: Path) -> bool:
    """Whether all tests pass while every guard is there; one that fails anyway would show nothing."""
    for user in (False, True):
        tests = sorted({one.test for one in wanted if one.user == user})
        done = tested(tests, folder, user=user) if tests else None
        if done is not None and done.returncode:
            print(done.stdout[-3_000:], done.stderr[-500:])
            return False
    return True


def caught(mutation: Mutation, folder: Path) -> str:
    """ "caught", or what went wrong."""
    file = folder / mutation.file
    text = file.read_text()
    if text.count(mutation.old) != 1:
        return f"not run: {mutation.file} has the guard {text.count(mutation.old)} times"
    file.write_text(text.replace(mutation.old, mutation.new))
    try:
        done = tested([mutation.test], folder, user=mutation.user)
    finally:
        file.write_text(text)
    if done.returncode == 1:
        return "caught"
    if done.returncode == 0:
        return "survived"
    return f"not run: pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def render(page: GuardPage, results: Sequence[tuple[Mutation, str]]) -> str:
    """The page with the table: these results, and what it says of the guards that were not run."""
    known = page.guards
    before = page.path.read_text().splitlines() if page.path.exists() else []
    lines = {
        guard: line for line in before for guard in [one.guard for one in known] if f"| {guard} |" in line
    }
    for one, result in results:
        test = f"`{one.test.rpartition('::')[2]}`{' (as an ordinary user)' if one.user else ''}"
        lines[one.guard] = f"| {one.against} | {one.guard} | {test} | {result} |"
    ordered = [lines[one.guard] for one in known if one.guard in lines]
    good = sum(line.endswith("| caught |") for line in ordered)
    return page.head + TABLE.format(count=len(ordered), caught=good) + "\n".join(ordered) + "\n"


def main() -> int:
    """0 if every guard's test fails without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--containers", action="store_true")
    given = parser.parse_args()
    wanted = [
        *LOCAL,
        *ACCESS,
        *MESSAGE_MUTATIONS,
        *APPROVAL_MUTATIONS,
        *(CONTAINERS if given.containers else ()),
    ]
    wanted = [one for one in wanted if given.only in one.guard]
    results: list[tuple[Mutation, str]] = []
    with tempfile.TemporaryDirectory(prefix="roebot-mutations-") as made:
        folder = Path(made)
        copy(folder)
        if not sound(wanted, folder):
            print("not run: tests fail with every guard in its place")
            return 1
        for mutation in wanted:
            started = time.monotonic()
            results.append((mutation, caught(mutation, folder)))
            print(f"{results[-1][1]:8} {mutation.guard} ({time.monotonic() - started:.1f} s)", flush=True)
    for page in PAGES:
        if found := [(one, result) for one, result in results if one in page.guards]:
            page.path.write_text(render(page, found))
    return int(any(result != "caught" for _, result in results))


if __name__ == "__main__":
    raise SystemExit(main())
