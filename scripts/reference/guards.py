"""The pages of the guards that tests name. `python -m scripts.mutations` adds the results to them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.guards import ROOT, Guard, read_guards

FOLDER = ROOT / "docs" / "internals"
METHOD = "To verify them, each one is removed individually; the test listed next to it must then fail."
SOURCE = "`make docs` generates this page from the tests, and `python -m scripts.mutations` the results."
NOT_RUN = "not run"
WIDTH = 110
TABLE = """Guards: {count}, caught: {caught}.

| against | guard | test that fails without it | result |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class GuardPage:
    """A page of the reference: `purpose` says what its guards protect, `threats` what from, in this order."""

    name: str
    title: str
    purpose: str
    threats: Sequence[str]
    source: str = SOURCE

    @property
    def path(self) -> Path:
        """Return the file of the page."""
        return FOLDER / f"{self.name}.md"

    def render(self, new_results: Mapping[Guard, str] | None = None) -> str:
        """Return the page with these results, and with its former ones for the guards that were not run."""
        former = _read_results(self.path)
        rows = []
        for guard in self.list_guards():
            key = f"| {guard.against} | {guard.what} |"
            result = (new_results or {}).get(guard) or former.get(key, NOT_RUN)
            test = f"`{guard.node.rpartition('::')[2]}`{' (as an ordinary user)' if guard.user else ''}"
            rows.append(f"{key} {test} | {result} |")
        purpose = textwrap.fill(f"{self.purpose} {METHOD}", WIDTH)
        table = TABLE.format(count=len(rows), caught=sum(row.endswith("| caught |") for row in rows))
        return f"# {self.title}\n\n{purpose}\n{self.source}\n\n{table}" + "\n".join(rows) + "\n"

    def list_guards(self) -> list[Guard]:
        """Return the guards against the page's threats."""
        guards = [guard for guard in read_guards() if guard.against in self.threats]
        return sorted(guards, key=lambda guard: self.threats.index(guard.against))


def _read_results(path: Path) -> dict[str, str]:
    """Return the results on a page by the first two cells of their row."""
    rows = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")]
    return {f"{' | '.join(row[:2])} |": row[-1].removesuffix(" |") for row in rows}


PAGES = (
    GuardPage(
        "sandbox-guards",
        "Sandbox guards",
        "These guards protect the service, its machine and other conversations from commands in a sandbox.",
        (
            "paths",
            "links",
            "/proc and devices",
            "environment",
            "network",
            "processes left behind",
            "fork bomb",
            "disk fill",
            "memory",
            "output flood",
            "time",
            "everything",
            "unauthorized callers",
        ),
        f"{SOURCE} The option `--containers` includes the container guards.",
    ),
    GuardPage(
        "skill-guards",
        "Skill guards",
        "These guards protect the machine from files of skills while they are installed, and the secrets "
        "that the configuration passes to their scripts.",
        ("installation", "scan", "secrets", "chat"),
    ),
    GuardPage(
        "access-guards",
        "Access guards",
        "These guards protect the service from clients without a credential or a permission, and the "
        "audit log from changes.",
        (
            "slow clients",
            "large requests",
            "many connections",
            "guessing",
            "no credential",
            "weak tokens",
            "other users of the machine",
            "programs of the agent",
            "forged addresses",
            "copied cookies",
            "misused API tokens",
            "forged sign-ons",
            "owners by role",
            "other users of a project",
            "admins of another account",
            "forged identities",
            "forged callbacks",
            "changes of the audit log",
            "changes without a trace",
            "a flooded audit log",
        ),
    ),
    GuardPage(
        "message-guards",
        "Message guards",
        "These guards keep names, and the words of others, from acting with somebody's authority.",
        (
            "forwarded commands",
            "mistaken identity",
            "forwarded answers",
            "forged names",
            "forged messages",
            "orders of others",
            "forged memories",
            "files that were not meant for people",
            "calls to the service",
            "stopped answers",
            "orders of apps",
            "answers to edits",
            "unwanted mentions",
            "flooded conversations",
            "undeleted words",
        ),
    ),
    GuardPage(
        "voice-guards",
        "Voice guards",
        "These guards keep transcripts of voice messages with those who spoke, and keys with their services.",
        (
            "mistaken words",
            "forged transcripts",
            "lost transcripts",
            "undeleted transcripts",
            "stolen secrets",
            "endless work",
        ),
    ),
    GuardPage(
        "cache-guards",
        "Cache guards",
        "These parts keep requests to models cheap, and keep deleted memories out of them.",
        ("requests that cost their full price", "forgotten memory in the prompt"),
    ),
    GuardPage(
        "approval-guards",
        "Approval guards",
        "These guards protect approvals of tool calls, and keep platforms from fetching links in answers.",
        (
            "a changed call",
            "an approved disaster",
            "other people's requests",
            "forgotten approvals",
            "approvals by members",
            "one's own request",
            "a misread question",
            "a forged request",
            "hidden content",
            "mixed up answers",
            "a repeated press",
            "leaks without a click",
        ),
    ),
    GuardPage(
        "mcp-guards",
        "MCP guards",
        "These guards protect conversations from what MCP servers send, and people and the network from "
        "the sign-ins that servers ask for.",
        (
            "malformed content",
            "oversized content",
            "requests into the network",
            "a forged sign-in",
            "another's account",
            "a call made twice",
        ),
    ),
    GuardPage(
        "summary-guards",
        "Summary guards",
        "These guards protect long conversations while older messages are replaced with a summary.",
        (
            "broken conversations",
            "lost words",
            "confused conversations",
            "wasted tokens",
            "refused requests",
            "kept words",
            "repeated summaries",
        ),
    ),
    GuardPage(
        "provider-guards",
        "Provider guards",
        "These guards keep every conversation acceptable to its provider.",
        (
            "Gemini",
            "DeepSeek",
            "Mistral",
            "Groq",
            "OpenRouter",
            "Ollama",
            "OpenAI",
            "Anthropic",
            "every provider",
            "other servers",
        ),
    ),
    GuardPage(
        "run-guards",
        "Run guards",
        "These guards end runs of models that don't stop or that answer badly, and keep embedded agents "
        "working on several event loops.",
        (
            "tool calls in order",
            "event loops",
            "blocking calls",
            "endless runs",
            "imprecise models",
            "no lost files",
            "nothing is dropped",
            "truthful results",
        ),
    ),
    GuardPage(
        "web-guards",
        "Guards of web tools, files and subagents",
        "These guards keep web tools out of private networks, host paths out of tool results, and "
        "subagents within their limits.",
        (
            "private addresses",
            "memory exhaustion",
            "rejected requests",
            "lost text",
            "host paths",
            "broken threads",
            "endless subagents",
            "powerful subagents",
        ),
    ),
)
