"""Limits on a client's use of an HTTP server before its request is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LARGEST_BODY: Final = 64 * 1024 * 1024
"""Maximum bytes of a request body."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on connections that wait for a request; times in seconds, sizes in bytes.

    - `total`: open connections. A new one beyond it replaces the one that has waited the longest.
    - `header_seconds`, `header_bytes`: time and size of a request's headers. An idle connection is closed
      after the same time.
    - `body_seconds`: time for a body. Each kilobyte of one that comes with a credential adds a second.
    """

    total: int = 512
    header_seconds: float = 10.0
    header_bytes: int = 65_536
    body_seconds: float = 20.0
