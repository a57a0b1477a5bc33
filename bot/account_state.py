"""Live state of an account."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Live(StrEnum):
    """Connection state of an account, derived only from observed signals."""

    CONNECTING = "connecting"
    LIVE = "live"
    DEAF = "deaf"
    LIMITED = "limited"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class AccountState:
    """Current state of an account; `reason` is a line for display, without secrets."""

    live: Live
    reason: str = ""
    since: float = 0.0
    identity: str = ""
    last_event: float = 0.0
