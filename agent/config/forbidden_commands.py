"""Commands that are refused by default, even if approved (see `agent.guardrails`)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

DEFAULT_RULES = (
    "rm -r {system}",
    "rm --no-preserve-root",
    "chmod -R {system}",
    "chown -R {system}",
    "mkfs*",
    "wipefs",
    "blkdiscard",
    "dd of={disk}",
    "shred {disk}",
    "tee {disk}",
    "> {disk}",
    "fork-bomb",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "* {data}",
    "* {config}",
    "* /proc/*/environ",
)


def check_rules(rules: Sequence[str]) -> None:
    """Check that every rule is a valid shell line. Raises ValueError."""
    for rule in rules:
        try:
            shlex.split(rule)
        except ValueError:
            what = "expected a program and arguments; a quote is not closed"
            raise ValueError(f"{what}: {rule[:80]}") from None
