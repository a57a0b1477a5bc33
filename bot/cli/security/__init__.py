"""`roebot security audit`: who can reach the service, what they can do, and what should be changed."""

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
    """Severity of a finding. critical: somebody without access can do harm; warning: one mistake away from
    it, or more power than most need; note: intended in many setups, listed so that it is a decision.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class SecurityFinding:
    """A weakness: what was found, why it matters, and what to do about it. `check` names the check."""

    check: str
    severity: Severity
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Entrance:
    """A way into the service: where, who can reach it, and the credential that it requires."""

    name: str
    address: str
    reachable_by: str
    credential: str


@dataclass(frozen=True, slots=True)
class AccountPowers:
    """Powers of people on an account. `access` says who gets in; `members` and `admins` list actions."""

    account: str
    platform: str
    access: tuple[str, ...]
    members: tuple[str, ...]
    admins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """Subject of an audit. `path` is the configuration file, None for defaults; `extensions` is the
    content of `extensions_config.json`; `folder` is the working directory; `token` is the service token that
    the configuration or the environment sets ("" for a generated one); `in_container` is true if the service
    runs in a container, whose network the configured address belongs to.
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
    """Return True for an http address on another machine: everything sent to it can be read in transit."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")
