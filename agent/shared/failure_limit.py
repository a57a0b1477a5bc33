"""Limit failed attempts at credentials, per client address and kind of credential.

Addresses are counted apart, so that nobody can lock out anybody else by guessing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.shared.address_group import address_group

MAX_ENTRIES: Final = 10_000
"""Remembered pairs of address and kind; beyond it, the one that tried longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed attempt: how many there were in the current window, and whether it is the one that locks."""

    address: str
    kind: str
    count: int
    locks: bool

    @property
    def is_first(self) -> bool:
        """Return whether it begins a window."""
        return self.count == 1


@dataclass(slots=True)
class _Window:
    began: float
    count: int = 0
    locked_until: float = 0.0


class FailureLimiter:
    """Count failed attempts. After `attempts` of them within `seconds`, an address has to wait for `seconds`.

    While it waits, callers must not check a credential of this kind: `retry_after` says how long. `now`
    returns seconds. `failures` and `refusals` count all attempts by kind.
    """

    def __init__(self, now: Callable[[], float], *, attempts: int = 10, seconds: float = 60.0) -> None:
        self._now = now
        self._attempts = attempts
        self._seconds = seconds
        self._windows: OrderedDict[tuple[str, str], _Window] = OrderedDict()
        self.failures: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._windows)

    def retry_after(self, address: str, kind: str) -> int:
        """Return the seconds that an address has to wait, at least 1, or 0 if it may try; count a refusal."""
        key = (address_group(address), kind)
        window = self._windows.get(key)
        left = window.locked_until - self._now() if window is not None else 0.0
        if left <= 0:
            return 0
        self._windows.move_to_end(key)
        self.refusals[kind] += 1
        return max(1, round(left))

    def record_failure(self, address: str, kind: str) -> Failure:
        """Count a wrong credential."""
        self.failures[kind] += 1
        key, now = (address_group(address), kind), self._now()
        window = self._windows.get(key)
        is_over = window is None or now >= max(window.began + self._seconds, window.locked_until)
        if window is None or is_over:
            window = self._windows[key] = _Window(now)
        self._windows.move_to_end(key)
        if len(self._windows) > MAX_ENTRIES:
            self._windows.popitem(last=False)
        window.count += 1
        locks = window.count == self._attempts
        if locks:
            window.locked_until = now + self._seconds
        return Failure(key[0], kind, window.count, locks)
