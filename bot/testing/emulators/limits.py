"""Rate limits as the platforms count them: sliding windows, and penalties on one chat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallLimit:
    """At most `count` calls in any `period` seconds, for each value of `name`'s key."""

    name: str
    count: int
    period: float


class RateLimits:
    """Sliding windows over (limit, key); `scale` shortens every period, `enabled` False lifts them.

    A refused call is not counted. The caller passes the time, so that tests can use their own clock.
    """

    def __init__(self, *, scale: float = 1.0, enabled: bool = True) -> None:
        self.scale = scale
        self.enabled = enabled
        self._windows: dict[tuple[str, str], deque[float]] = {}
        self._penalties: dict[str, float] = {}

    def penalize(self, key: str, until: float) -> None:
        """Refuse every call of `key` until that time, limits enabled or not."""
        self._penalties[key] = until

    def take(self, wanted: Iterable[tuple[CallLimit, str]], now: float, penalty_key: str = "") -> float:
        """Count a call against all limits and return 0, or return the seconds to wait without counting."""
        penalty = self._penalty(penalty_key, now)
        if penalty > 0:
            return penalty
        if not self.enabled:
            return 0.0
        windows = [(limit, self._window(limit, key, now)) for limit, key in wanted]
        wait = max((self._wait(limit, window, now) for limit, window in windows), default=0.0)
        if wait > 0:
            return wait
        for _, window in windows:
            window.append(now)
        return 0.0

    def reset(self) -> None:
        """Clear all calls and penalties."""
        self._windows.clear()
        self._penalties.clear()

    def _penalty(self, key: str, now: float) -> float:
        until = self._penalties.get(key)
        if until is None:
            return 0.0
        if until <= now:
            del self._penalties[key]
            return 0.0
        return until - now

    def _window(self, limit: CallLimit, key: str, now: float) -> deque[float]:
        window = self._windows.setdefault((limit.name, key), deque())
        horizon = now - limit.period * self.scale
        while window and window[0] <= horizon:
            window.popleft()
        return window

    def _wait(self, limit: CallLimit, window: deque[float], now: float) -> float:
        if len(window) < limit.count:
            return 0.0
        return window[-limit.count] + limit.period * self.scale - now
