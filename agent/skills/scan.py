"""Scan of a skill's files before use: programs, network access, secrets, and known tricks.

The findings are shown to the person who installs it. They are signs, not proofs: a skill without findings
can still do harm, because the agent follows its instructions. Blocking.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Severity = Literal["note", "warning", "danger"]
FindingKind = Literal["program", "network", "secret", "instruction", "trick"]
MAX_FINDINGS = 100
MAX_BYTES = 2_000_000
"""Size up to which a file is looked through."""
MAX_LINE = 2_000
_SCRIPTS = re.compile(
    r".*\.(?:sh|bash|zsh|fish|py|pl|rb|js|cjs|mjs|ts|php|lua|ps1|bat|cmd|exe|dll|so|dylib|jar|com|msi)",
    re.IGNORECASE,
)
_PROSE = re.compile(r".*\.(?:md|txt|rst|html)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """A finding to review: `detail` describes it, in line `line` of `file` (0: the file as a whole)."""

    severity: Severity
    kind: FindingKind
    file: str
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: FindingKind
    severity: Severity
    detail: str
    pattern: re.Pattern[str]
    in_prose: bool = True


def _rule(
    kind: FindingKind, severity: Severity, detail: str, pattern: str, *, in_prose: bool = True
) -> _Rule:
    return _Rule(kind, severity, detail, re.compile(pattern, re.IGNORECASE), in_prose)


_RULES: Sequence[_Rule] = (
    _rule(
        "network",
        "warning",
        "accesses the network ({0})",
        r"\b(curl|wget|requests\.(?:get|post|put|request|Session)|httpx\.|urllib\.request|aiohttp\.|http\.client"
        r"|socket\.(?:socket|create_connection)|axios\b|fetch\(|XMLHttpRequest|https?\.(?:get|request)\(|paramiko"
        r"|smtplib|ftplib|Invoke-WebRequest|Net::HTTP)",
        in_prose=False,
    ),
    _rule(
        "secret",
        "warning",
        "reads the environment variable {0}",
        r"(?:environ(?:\.get)?[\[(]\s*|getenv\(\s*|process\.env[.\[]\s*|ENV\[\s*)[\"']?([A-Za-z_][A-Za-z0-9_]*)",
        in_prose=False,
    ),
    _rule(
        "secret",
        "warning",
        "uses the secret {0}",
        r"\$\{?([A-Z][A-Z0-9_]*(?:_KEY|_TOKEN|_SECRET|_PASSWORD))\b",
    ),
    _rule(
        "secret",
        "danger",
        "contains what looks like a credential",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}\b"
        r"|\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b|\bxox[abprs]-[A-Za-z0-9-]{20,}",
    ),
    _rule(
        "secret",
        "danger",
        "reads credentials of this machine ({0})",
        r"((?:~|\$HOME|/root|/home/\w+)/\.(?:ssh|aws|netrc|gnupg|kube|docker/config|config/gcloud)\b|/etc/shadow)",
    ),
    _rule(
        "trick",
        "danger",
        "runs a program directly from the network",
        r"\b(?:curl|wget)\b[^|;\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
        r"|(?:eval|exec)\(\s*(?:requests|urllib|httpx)\b|\bsource\s+<\(\s*curl",
    ),
    _rule(
        "trick",
        "danger",
        "runs text that is hidden by an encoding",
        r"base64\s+(?:-d|-D|--decode)\b[^\n]*\|\s*(?:ba|z)?sh\b"
        r"|(?:eval|exec)\([^\n]{0,80}(?:b64decode|atob|fromhex|decompress)\b",
    ),
    _rule(
        "trick",
        "danger",
        "destroys data",
        r"\brm\s+-[a-z]*[rf][a-z]*\s+(?:--no-preserve-root\s+)?(?:/|~|\$HOME)(?:\s|$|\*)|\bmkfs\.|\bdd\b.*\bof=/dev/",
    ),
    _rule(
        "instruction",
        "danger",
        "tells the agent to disregard its instructions or its people",
        r"\b(?:ignore|disregard|forget)\b[^.\n]{0,30}\b(?:previous|prior|earlier|above|system)\b[^.\n]{0,30}"
        r"\b(?:instructions?|prompts?|rules)\b|\b(?:do not|don't|never)\b[^.\n]{0,15}"
        r"\b(?:tell|inform|show|mention)\b[^.\n]{0,15}\b(?:user|person|human|people)\b",
    ),
    _rule(
        "instruction",
        "danger",
        "contains invisible characters",
        # Within emoji, U+200D joins two of them.
        r"[\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\U000e0000-\U000e007f]"
        r"|\u200d(?![\u2600-\u27bf\U0001f000-\U0001faff])",
    ),
)


def scan_folder(folder: Path) -> tuple[SkillFinding, ...]:
    """Return the findings in the files of a folder, the most severe first."""
    found: list[SkillFinding] = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        found += _scan_file(path, path.relative_to(folder).as_posix())
    order = {"danger": 0, "warning": 1, "note": 2}
    return tuple(sorted(found, key=lambda one: order[one.severity])[:MAX_FINDINGS])


def is_program(path: Path) -> bool:
    """Return whether a file is executable as a program."""
    return os.access(path, os.X_OK) or _SCRIPTS.fullmatch(path.name) is not None


def _scan_file(path: Path, name: str) -> Iterator[SkillFinding]:
    program = is_program(path)
    raw = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b"\0"
    is_text = b"\0" not in raw[:8_192]
    if program:
        yield SkillFinding(
            "note" if is_text else "warning",
            "program",
            name,
            0,
            "can be run as a program" if is_text else "is a program that can't be read",
        )
    if is_text:
        yield from _scan_lines(raw.decode(errors="replace"), name, prose=not program and _is_prose(name))


def _is_prose(name: str) -> bool:
    return _PROSE.fullmatch(name) is not None


def _scan_lines(text: str, name: str, *, prose: bool) -> Iterator[SkillFinding]:
    """Yield each kind of finding once per file, at its first occurrence."""
    seen: set[str] = set()
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        for rule in _RULES:
            if prose and not rule.in_prose:
                continue
            match = rule.pattern.search(line[:MAX_LINE])
            if match is None:
                continue
            detail = rule.detail.format(match[1].rstrip("(") if match.re.groups else "")
            if detail not in seen:
                seen.add(detail)
                yield SkillFinding(rule.severity, rule.kind, name, number, detail)
