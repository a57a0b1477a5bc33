"""Limits on failed attempts per kind of credential and client address.

Addresses are counted apart, so that nobody can lock out anybody else by guessing.

An address that has to wait is refused before the check, even with the right credential; otherwise guessing
would not slow down. Cookies are not limited, since their keys can't be guessed and others at the address must
not notice. A direct request from this machine may use a strong token or a link all the same: all its users
share the address. Checks that wait for the database overlap, so a few more attempts may pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.shared.address_group import address_group
from agent.shared.recent_items import RecentItems

MAX_ENTRIES: Final = 10_000
"""Maximum number of pairs of address and detail; beyond it, the one with the oldest attempt is dropped."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt: its number within the address's window, and whether the address must now wait."""

    address: str
    detail: str
    count: int
    locks: bool

    @property
    def is_first(self) -> bool:
        """Return whether the failure starts a window."""
        return self.count == 1


@dataclass(slots=True)
class _Window:
    began: float
    count: int = 0
    locked_until: float = 0.0


class FailureLimiter:
    """Counts failed attempts. After `attempts` failures within `seconds`, an address must wait for `seconds`.

    While it waits, callers must not check its credentials: `retry_after` says how long. Attempts with
    different `detail` are counted apart. `now` returns seconds. `failures` counts all failed attempts,
    `refusals` those that were not checked.
    """

    def __init__(self, now: Callable[[], float], *, attempts: int = 10, seconds: float = 60.0) -> None:
        self._now = now
        self._attempts = attempts
        self._seconds = seconds
        self._windows = RecentItems[tuple[str, str], _Window](MAX_ENTRIES)
        self.failures = 0
        self.refusals = 0

    def __len__(self) -> int:
        return len(self._windows)

    def seconds_left(self, address: str, detail: str = "") -> int:
        """Return the seconds that an address must wait, at least 1, or 0 if it may try."""
        window = self._windows.get((address_group(address), detail))
        left = window.locked_until - self._now() if window is not None else 0.0
        return max(1, round(left)) if left > 0 else 0

    def retry_after(self, address: str, detail: str = "") -> int:
        """Return the seconds that an address must wait, counting the attempt if there are any."""
        left = self.seconds_left(address, detail)
        if left:
            self._windows.move_to_end((address_group(address), detail))
            self.refusals += 1
        return left

    def record_failure(self, address: str, detail: str = "") -> Failure:
        """Count an invalid credential."""
        self.failures += 1
        key, now = (address_group(address), detail), self._now()
        window = self._windows.get(key)
        is_over = window is None or now >= max(window.began + self._seconds, window.locked_until)
        if window is None or is_over:
            window = self._windows[key] = _Window(now)
        self._windows.move_to_end(key)
        window.count += 1
        locks = window.count == self._attempts
        if locks:
            window.locked_until = now + self._seconds
        return Failure(key[0], detail, window.count, locks)
