"""Remove each guard in turn and run its test, which must then fail: `python -m scripts.mutations`.

Works in a copy of the tree and writes the `*-guards` pages in `docs/reference`. `--only WORD` runs the guards
whose name contains the word and leaves the other lines as they are; `--containers` also runs those of the
container provider.
"""

from __future__ import annotations

import argparse
import os
import shutil
import site
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.component.agent.run_mutations import RUN_MUTATIONS  # noqa: E402
from tests.component.dispatch.approval_mutations import APPROVAL_MUTATIONS  # noqa: E402
from tests.component.dispatch.content_mutations import CONTENT_MUTATIONS  # noqa: E402
from tests.component.dispatch.mention_mutations import MENTION_MUTATIONS  # noqa: E402
from tests.component.dispatch.message_mutations import MESSAGE_MUTATIONS  # noqa: E402
from tests.component.dispatch.voice_mutations import VOICE_MUTATIONS  # noqa: E402
from tests.component.server.access_mutations import ACCESS_MUTATIONS  # noqa: E402
from tests.component.server.credential_mutations import CREDENTIAL_MUTATIONS  # noqa: E402
from tests.component.server.policy_mutations import COMMAND_MUTATIONS, POLICY_MUTATIONS  # noqa: E402
from tests.contract.agent.cache_mutations import CACHE_MUTATIONS  # noqa: E402
from tests.contract.agent.provider_mutations import PROVIDER_MUTATIONS  # noqa: E402
from tests.contract.agent.summary_mutations import SUMMARY_MUTATIONS  # noqa: E402
from tests.contract.mcp.mcp_mutations import MCP_MUTATIONS  # noqa: E402
from tests.contract.store.audit_mutations import AUDIT_MUTATIONS  # noqa: E402
from tests.harness.mutation import Mutation  # noqa: E402
from tests.sandbox.egress_mutations import EGRESS_CONTAINER_MUTATIONS, EGRESS_MUTATIONS  # noqa: E402
from tests.sandbox.remote_mutations import REMOTE_MUTATIONS  # noqa: E402
from tests.sandbox.sandbox_mutations import CONTAINER_MUTATIONS, SANDBOX_MUTATIONS  # noqa: E402
from tests.unit.agent.skills.skill_mutations import SKILL_MUTATIONS  # noqa: E402
from tests.unit.agent.tools.community.web_mutations import WEB_MUTATIONS  # noqa: E402

CONTAINERS = (*CONTAINER_MUTATIONS, *EGRESS_CONTAINER_MUTATIONS)
COPIED = ("agent", "bot", "packages", "tests", "pyproject.toml", "config.example.yaml")
TESTING = "packages/roebot-testing/src"
NOBODY = 65534
FOLDER = ROOT / "docs" / "reference"
METHOD = "To verify them, each one is removed individually; the test listed next to it must then fail."
SOURCE = "`python -m scripts.mutations` generates this page."
WIDTH = 110
TABLE = """Guards: {count}, caught: {caught}.

| against | guard | test that fails without it | result |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class GuardPage:
    """A page of the reference: `purpose` says what its guards protect, `source` how the page is generated."""

    name: str
    title: str
    purpose: str
    guards: Sequence[Mutation]
    source: str = SOURCE

    @property
    def path(self) -> Path:
        """Return the file of the page."""
        return FOLDER / f"{self.name}.md"


PAGES = (
    GuardPage(
        "sandbox-guards",
        "Sandbox guards",
        "These guards protect the service, its machine and other conversations from commands in a sandbox.",
        (*SANDBOX_MUTATIONS, *EGRESS_MUTATIONS, *REMOTE_MUTATIONS, *CONTAINERS),
        f"{SOURCE} With `--containers`, it also checks the container guards.",
    ),
    GuardPage(
        "skill-guards",
        "Skill guards",
        "These guards protect the machine from files of skills while they are installed, and the secrets "
        "that the configuration passes to their scripts.",
        SKILL_MUTATIONS,
    ),
    GuardPage(
        "access-guards",
        "Access guards",
        "These guards protect the service from clients without a credential or a permission, and the audit "
        "log from changes.",
        (
            *ACCESS_MUTATIONS,
            *CREDENTIAL_MUTATIONS,
            *POLICY_MUTATIONS,
            *COMMAND_MUTATIONS,
            *AUDIT_MUTATIONS,
        ),
    ),
    GuardPage(
        "message-guards",
        "Message guards",
        "These guards keep names, and the words of others, from acting with somebody's authority.",
        (*MESSAGE_MUTATIONS, *CONTENT_MUTATIONS, *MENTION_MUTATIONS),
    ),
    GuardPage(
        "voice-guards",
        "Voice guards",
        "These guards keep transcripts of voice messages with those who spoke, and keys with their services.",
        VOICE_MUTATIONS,
    ),
    GuardPage(
        "cache-guards",
        "Cache guards",
        "These parts keep requests to models cheap, and keep deleted memories out of them.",
        CACHE_MUTATIONS,
    ),
    GuardPage(
        "approval-guards",
        "Approval guards",
        "These guards protect approvals of tool calls, and keep platforms from fetching links in answers.",
        APPROVAL_MUTATIONS,
    ),
    GuardPage(
        "mcp-guards",
        "MCP guards",
        "These guards protect conversations from what MCP servers send, and people and the network from the "
        "sign-ins that servers ask for.",
        MCP_MUTATIONS,
    ),
    GuardPage(
        "summary-guards",
        "Summary guards",
        "These guards protect long conversations while older messages are replaced with a summary.",
        SUMMARY_MUTATIONS,
    ),
    GuardPage(
        "provider-guards",
        "Provider guards",
        "These guards keep every conversation acceptable to its provider.",
        PROVIDER_MUTATIONS,
    ),
    GuardPage(
        "run-guards",
        "Run guards",
        "These guards end runs of models that don't stop or that answer badly, and keep embedded agents "
        "working on several event loops.",
        RUN_MUTATIONS,
    ),
    GuardPage(
        "web-guards",
        "Guards of web tools, files and subagents",
        "These guards keep web tools out of private networks, host paths out of tool results, and subagents "
        "within their limits.",
        WEB_MUTATIONS,
    ),
)


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
    packages = os.pathsep.join([str(folder), str(folder / TESTING), *site.getsitepackages()])
    env = {**os.environ, "PYTHONPATH": packages}
    call = pytest_command(tests, scratch, user=user)
    try:
        return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def tests_pass(mutations: Sequence[Mutation], folder: Path) -> bool:
    """Return whether all tests pass with every guard in place; one that fails anyway would prove nothing."""
    for user in (False, True):
        tests = sorted({one.test for one in mutations if one.user == user})
        done = run_tests(tests, folder, user=user) if tests else None
        if done is not None and done.returncode:
            print(done.stdout[-3_000:], done.stderr[-500:])
            return False
    return True


def run_without_guard(mutation: Mutation, folder: Path) -> str:
    """Run the test of a guard without it, and return "caught" or what went wrong."""
    file = folder / mutation.file
    text = file.read_text()
    if text.count(mutation.old) != 1:
        return f"not run: {mutation.file} has the guard {text.count(mutation.old)} times"
    file.write_text(text.replace(mutation.old, mutation.new))
    try:
        done = run_tests([mutation.test], folder, user=mutation.user)
    finally:
        file.write_text(text)
    if done.returncode == 1:
        return "caught"
    if done.returncode == 0:
        return "survived"
    return f"not run: pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}"


def render_page(page: GuardPage, results: Sequence[tuple[Mutation, str]]) -> str:
    """Return the page with these results, and with its former lines for the guards that were not run."""
    before = page.path.read_text().splitlines() if page.path.exists() else []
    lines = {one.guard: line for line in before for one in page.guards if f"| {one.guard} |" in line}
    for one, result in results:
        test = f"`{one.test.rpartition('::')[2]}`{' (as an ordinary user)' if one.user else ''}"
        lines[one.guard] = f"| {one.against} | {one.guard} | {test} | {result} |"
    ordered = [lines[one.guard] for one in page.guards if one.guard in lines]
    purpose = textwrap.fill(f"{page.purpose} {METHOD}", WIDTH)
    table = TABLE.format(count=len(ordered), caught=sum(line.endswith("| caught |") for line in ordered))
    return f"# {page.title}\n\n{purpose}\n{page.source}\n\n{table}" + "\n".join(ordered) + "\n"


def main() -> int:
    """Return 0 if every guard's test fails without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--containers", action="store_true")
    options = parser.parse_args()
    all_guards = [one for page in PAGES for one in page.guards if options.only in one.guard]
    mutations = [one for one in all_guards if options.containers or one not in CONTAINERS]
    results: list[tuple[Mutation, str]] = []
    with tempfile.TemporaryDirectory(prefix="roebot-mutations-") as temporary:
        folder = Path(temporary)
        copy_tree(folder)
        if not tests_pass(mutations, folder):
            print("not run: tests fail with every guard in place")
            return 1
        for mutation in mutations:
            started = time.monotonic()
            results.append((mutation, run_without_guard(mutation, folder)))
            print(f"{results[-1][1]:8} {mutation.guard} ({time.monotonic() - started:.1f} s)", flush=True)
    for page in PAGES:
        if found := [(one, result) for one, result in results if one in page.guards]:
            page.path.write_text(render_page(page, found))
    return int(any(result != "caught" for _, result in results))


if __name__ == "__main__":
    raise SystemExit(main())
