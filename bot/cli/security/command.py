"""Print the security audit, as text or as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bot.cli.common import configuration, home_folder
from bot.cli.doctor import Finding
from bot.cli.security import Installation, SecurityFinding, Severity
from bot.cli.security.report import SecurityReport, examine, inspect_installation
from bot.config import LoadedConfig

CHECK = "security"
"""Name of the check in `roebot doctor`."""


def audit_command(home: Path | None, file: Path | None, *, as_json: bool = False) -> int:
    """Print the entry points, capabilities and findings, and return the exit code. Raises ConfigErrors."""
    folder = home_folder(home)
    report = examine(load_installation(configuration(file, folder), folder))
    if as_json:
        print(json.dumps({"exit_code": report.exit_code, **asdict(report)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(format_report(report)))
    return report.exit_code


def load_installation(loaded: LoadedConfig, home: Path) -> Installation:
    """Inspect the installation of this working directory and environment. Raises ConfigErrors."""
    return inspect_installation(loaded, home, Path.cwd(), os.environ)


def format_report(report: SecurityReport) -> Iterator[str]:
    """Return the lines of the report."""
    yield "Entry points"
    for entrance in report.entrances:
        yield f"  {entrance.name} ({entrance.address})"
        yield f"    reachable by: {entrance.reachable_by}"
        yield f"    credential: {entrance.credential}"
    for account in report.accounts:
        named = (
            account.account
            if account.account == account.platform
            else f"{account.account} ({account.platform})"
        )
        yield f"\nAccount {named}"
        for title, lines in (
            ("access", account.access),
            ("members can", account.members),
            ("admins also", account.admins),
        ):
            yield f"  {title}:"
            yield from (f"    {line}" for line in lines)
    yield "\nFindings" if report.findings else "\nNo findings"
    for finding in report.findings:
        yield f"  {finding.severity:8} {finding.what} [{finding.check}]"
        yield f"           {finding.why}"
        yield f"           {finding.remedy}"
    counts = [f"{sum(one.severity is level for one in report.findings)} {level}" for level in Severity]
    yield f"\n{', '.join(counts)}"


def doctor_findings(found: Installation) -> Iterator[Finding]:
    """Return critical findings and warnings for `roebot doctor`, or a finding that there are none."""
    serious = [one for one in examine(found).findings if one.severity is not Severity.NOTE]
    for one in serious:
        yield Finding(False if one.severity is Severity.CRITICAL else None, _line(one), CHECK)
    if not serious:
        yield Finding(True, "security: no warnings; `roebot security audit` shows who can do what", CHECK)


def _line(finding: SecurityFinding) -> str:
    return f"security: {finding.what}. {finding.remedy} [{finding.check}]"
