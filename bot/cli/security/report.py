"""Collection of an installation's findings and capabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.app.service_token import configured_token
from bot.cli.additions import load_additions
from bot.cli.extensions_file import find_extensions, read_extensions
from bot.cli.security import AccountPowers, Entrance, Installation, SecurityFinding, Severity
from bot.cli.security.accounts import check_accounts, list_powers
from bot.cli.security.agent_powers import check_agent
from bot.cli.security.approvals import check_approvals
from bot.cli.security.entrances import check_entrances, list_entrances
from bot.cli.security.files import check_files
from bot.config import LoadedConfig

CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
ORDER = tuple(Severity)


@dataclass(frozen=True, slots=True)
class SecurityReport:
    """Result of an audit; the findings are sorted by severity."""

    entrances: tuple[Entrance, ...]
    accounts: tuple[AccountPowers, ...]
    findings: tuple[SecurityFinding, ...]

    @property
    def exit_code(self) -> int:
        """Return 2 if a finding is critical, 1 if there is a warning, else 0."""
        found = {finding.severity for finding in self.findings}
        return 2 if Severity.CRITICAL in found else int(Severity.WARNING in found)


def inspect_installation(
    loaded: LoadedConfig, home: Path, folder: Path, env: Mapping[str, str]
) -> Installation:
    """Inspect an installation for the audit. Raises ConfigErrors."""
    path = find_extensions(env, folder, home)
    return Installation(
        loaded.config,
        loaded.path.resolve() if loaded.path else None,
        home,
        folder,
        read_extensions(path) if path else {},
        path,
        configured_token(loaded.config.server, env),
        in_container=any(mark.exists() for mark in CONTAINER_MARKS),
    )


def examine(found: Installation) -> SecurityReport:
    """Run all checks without changing anything."""
    findings = [
        *check_entrances(found),
        *check_accounts(found),
        *check_approvals(found),
        *check_agent(found),
        *check_files(found),
        *(one for add in load_additions() for check in add.security_checks for one in check(found)),
    ]
    return SecurityReport(
        tuple(list_entrances(found)),
        tuple(list_powers(found)),
        tuple(sorted(findings, key=lambda finding: ORDER.index(finding.severity))),
    )
