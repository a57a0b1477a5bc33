"""Groups the commits of a repository or of a log for release notes.

    python3 commits.py --repository path [v1.4.0..HEAD] [--json]
    python3 commits.py --log log.txt

Needs Python, and git for a repository. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

FIELD, RECORD = "\x1f", "\x1e"
FORMAT = f"%H{FIELD}%an{FIELD}%aI{FIELD}%B{RECORD}"
TITLES = {
    "breaking": "Breaking",
    "security": "Security",
    "feature": "Features",
    "fix": "Fixes",
    "performance": "Performance",
    "documentation": "Documentation",
    "inside": "Inside",
}
KINDS = {
    "feat": "feature", "feature": "feature", "fix": "fix", "bugfix": "fix", "perf": "performance",
    "docs": "documentation", "doc": "documentation", "security": "security",
    **dict.fromkeys(("chore", "ci", "build", "test", "tests", "refactor", "style", "deps", "release"), "inside"),
}  # fmt: skip
PREFIX = re.compile(r"^(?P<kind>[A-Za-z]+)(?:\((?P<scope>[^)]*)\))?(?P<bang>!)?:\s+(?P<rest>.+)$")
GUESSES = (
    ("security", re.compile(r"\b(?:cve-\d|vulnerab|security|xss|csrf|injection)", re.IGNORECASE)),
    (
        "inside",
        re.compile(
            r"\b(?:bump|refactor|rename|lint|format|typo|ci|tests?|cleanup|clean up|wip)\b", re.IGNORECASE
        ),
    ),
    (
        "fix",
        re.compile(
            r"^(?:fix|repair|correct|resolve|prevent|no longer|don't|handle)\b|\bbug\b", re.IGNORECASE
        ),
    ),
    ("documentation", re.compile(r"\b(?:docs?|readme|documentation|changelog)\b", re.IGNORECASE)),
    ("performance", re.compile(r"\b(?:faster|speed ?up|performance|optimi[sz]e)", re.IGNORECASE)),
    ("feature", re.compile(r"^(?:add|allow|support|introduce|implement|enable|new)\b", re.IGNORECASE)),
)
BREAKING = re.compile(r"^BREAKING[ -]CHANGE:\s*(.+)$", re.MULTILINE)
REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
ISSUE = re.compile(r"(?<![\w&])#(\d+)\b")


@dataclass
class Commit:
    """A commit; `kind` is a guess, `breaking` what its message says about it."""

    hash: str
    author: str
    date: str
    subject: str
    body: str = ""
    kind: str = "inside"
    scope: str = ""
    breaking: str = ""
    issues: list[str] = field(default_factory=list)


def from_repository(path: Path, span: str | None) -> list[Commit]:
    """The commits of a range; without one, since the last tag. Raises RuntimeError with git's words."""
    if span is None:
        tag = _git(path, "describe", "--tags", "--abbrev=0", check=False).strip()
        span = f"{tag}..HEAD" if tag else "HEAD"
    if span.startswith("-"):
        raise RuntimeError(f"{span} is no range of commits")
    text = _git(path, "log", "--no-merges", f"--format={FORMAT}", span, "--")
    found = []
    for record in text.split(RECORD):
        parts = record.strip("\n").split(FIELD)
        if len(parts) == 4:
            found.append(_commit(*parts))
    return found


def _git(path: Path, *arguments: str, check: bool = True) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(path), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise RuntimeError("git is not installed; use --log with a file") from None
    if check and done.returncode:
        raise RuntimeError(done.stderr.strip() or f"git ended with {done.returncode}")
    return done.stdout if not done.returncode else ""


def from_log(text: str) -> list[Commit]:
    """The commits of `git log`, of `git log --oneline`, or one subject a line."""
    if re.search(r"^commit [0-9a-f]{7,40}", text, re.MULTILINE):
        return [
            _long(part)
            for part in re.split(r"^(?=commit [0-9a-f]{7,40})", text, flags=re.MULTILINE)
            if part.strip()
        ]
    found = []
    for line in text.splitlines():
        match = re.match(r"^[*|\\/ ]*(?:([0-9a-f]{7,40})\s+)?(?:\([^)]*\)\s+)?[-*]?\s*(\S.*)$", line)
        if match and not match[2].startswith("Merge "):
            found.append(_commit(match[1] or "", "", "", match[2]))
    return found


def _long(part: str) -> Commit:
    head, _, message = part.partition("\n\n")
    author = re.search(r"^Author:\s*(.*?)(?:\s*<.*)?$", head, re.MULTILINE)
    day = re.search(r"^Date:\s*(.*)$", head, re.MULTILINE)
    lines = "\n".join(line.removeprefix("    ") for line in message.rstrip().splitlines())
    name = head.split()[1]
    return _commit(name, author[1] if author else "", day[1] if day else "", lines)


def _commit(name: str, author: str, day: str, message: str) -> Commit:
    subject, _, body = message.strip().partition("\n")
    subject = subject.strip()
    one = Commit(name, author.strip(), day.strip(), subject, body.strip())
    prefix = PREFIX.match(subject)
    if prefix and prefix["kind"].lower() in KINDS:
        one.kind, one.scope, one.subject = (
            KINDS[prefix["kind"].lower()],
            prefix["scope"] or "",
            prefix["rest"],
        )
        if prefix["bang"]:
            one.breaking = one.subject
    else:
        one.kind = next((kind for kind, pattern in GUESSES if pattern.search(subject)), "inside")
    if said := BREAKING.search(body):
        one.breaking = said[1].strip()
    one.issues = list(dict.fromkeys(ISSUE.findall(message)))
    return one


def kept(commits: list[Commit]) -> list[Commit]:
    """Without merges, and without commits that another one of these reverts."""
    reverted = {match for one in commits for match in REVERTS.findall(one.body)}

    def is_undone(one: Commit) -> bool:
        return bool(one.hash) and any(
            one.hash.startswith(name) or name.startswith(one.hash) for name in reverted
        )

    gone = {id(one) for one in commits if is_undone(one)}
    undoing = {
        id(one)
        for one in commits
        for name in REVERTS.findall(one.body)
        if any(
            id(other) in gone and (other.hash.startswith(name) or name.startswith(other.hash))
            for other in commits
        )
    }
    return [
        one
        for one in commits
        if id(one) not in gone | undoing and not re.match(r"Merge (?:branch|pull|remote)", one.subject)
    ]


def report(commits: list[Commit], all_of: int) -> str:
    """The groups as Markdown."""
    parts = [f"{len(commits)} of {all_of} commits (without merges and reverted ones)."]
    for kind, title in TITLES.items():
        group = [one for one in commits if (one.breaking if kind == "breaking" else one.kind == kind)]
        if group:
            parts += [
                "",
                f"## {title} ({len(group)})",
                *(_line(one, breaking=kind == "breaking") for one in group),
            ]
    authors = Counter(one.author for one in commits if one.author)
    if authors:
        parts += ["", "## Authors", ", ".join(f"{name} ({count})" for name, count in authors.most_common())]
    return "\n".join(parts)


def _line(one: Commit, *, breaking: bool) -> str:
    scope = f"{one.scope}: " if one.scope else ""
    # a subject often ends with its issue
    text = re.sub(r"\s*\((?:#\d+[, ]*)+\)$", "", one.breaking if breaking else one.subject)
    issues = f" ({', '.join('#' + number for number in one.issues)})" if one.issues else ""
    return f"- {scope}{text}{issues} [{one.hash[:9] or '-'}]"


def main(arguments: list[str] | None = None) -> int:
    """Read, group, print; 1 where there is nothing, 2 where git fails."""
    parser = argparse.ArgumentParser(description="Group commits for release notes.")
    parser.add_argument("span", nargs="?", help="a range such as v1.4.0..HEAD")
    parser.add_argument("--repository", type=Path, default=Path())
    parser.add_argument("--log", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        if given.log:
            found = from_log(given.log.read_text(encoding="utf-8-sig", errors="replace"))
        else:
            found = from_repository(given.repository, given.span)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    chosen = kept(found)
    if given.json:
        print(json.dumps([asdict(one) for one in chosen], indent=1, ensure_ascii=False))
    else:
        print(report(chosen, len(found)) if found else "There is no commit.")
    return int(not found)


if __name__ == "__main__":
    sys.exit(main())
