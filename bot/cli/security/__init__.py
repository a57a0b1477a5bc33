"""`roebot security audit`: access to the service, permissions, and recommended changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent.shared.client_address import is_loopback
from bot.config import Config


class Severity(StrEnum):
    """Severity of a finding. critical: a person without access can do harm; warning: a single mistake would
    allow harm, or there are more permissions than most installations need; note: intended in many
    installations, listed for a deliberate decision.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SecurityFinding:
    """A weakness: the observation, its impact, and the remedy. `check` names the check."""

    check: str
    severity: Severity
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Entrance:
    """An entry point: its location, who can reach it, and the credential it requires."""

    name: str
    address: str
    reachable_by: str
    credential: str


@dataclass(frozen=True, slots=True)
class AccountPowers:
    """Permissions on an account. `access` describes who has access; `members` and `admins` list actions."""

    account: str
    platform: str
    access: tuple[str, ...]
    members: tuple[str, ...]
    admins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """The audited installation. `path` is the configuration file, None for defaults; `extensions` is the
    content of `extensions_config.json`; `folder` is the working directory; `token` is the service token from
    the configuration or the environment ("" for a generated one); `in_container` is true if the service runs
    in a container, whose network contains the configured address.
    """

    config: Config
    path: Path | None
    home: Path
    folder: Path
    extensions: Mapping[str, Any] = field(default_factory=dict)
    extensions_path: Path | None = None
    token: str = ""
    in_container: bool = False


def is_plain_http(url: str) -> bool:
    """Return whether a URL is an http address of another machine, whose traffic can be read in transit."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")
