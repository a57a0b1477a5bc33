"""Rate limits as the platforms count them: sliding windows, buckets, and penalties on one chat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallLimit:
    """At most `count` calls in any `period` seconds, for each value of `name`'s key.

    With a `burst`, so many may come at once, from a bucket that drains by `count` in each `period`.
    """

    name: str
    count: int
    period: float
    burst: int = 0


class RateLimits:
    """Calls counted by (limit, key); `scale` shortens every period, `enabled` False lifts them.

    A refused call is not counted. The caller passes the time, so that tests can use their own clock.
    """

    def __init__(self, *, scale: float = 1.0, enabled: bool = True) -> None:
        self.scale = scale
        self.enabled = enabled
        self._windows: dict[tuple[str, str], deque[float]] = {}
        self._drained_at: dict[tuple[str, str], float] = {}
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
        asked = list(wanted)
        wait = max((self._wait(limit, key, now) for limit, key in asked), default=0.0)
        if wait > 0:
            return wait
        for limit, key in asked:
            self._count(limit, key, now)
        return 0.0

    def reset(self) -> None:
        """Clear all calls and penalties."""
        self._windows.clear()
        self._drained_at.clear()
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

    def _count(self, limit: CallLimit, key: str, now: float) -> None:
        if limit.burst:
            drained_at = self._drained_at.get((limit.name, key), now)
            self._drained_at[limit.name, key] = max(now, drained_at) + self._share(limit)
        else:
            self._window(limit, key, now).append(now)

    def _wait(self, limit: CallLimit, key: str, now: float) -> float:
        if limit.burst:
            level = self._drained_at.get((limit.name, key), now) - now
            return max(0.0, level - (limit.burst - 1) * self._share(limit))
        window = self._window(limit, key, now)
        if len(window) < limit.count:
            return 0.0
        return window[-limit.count] + limit.period * self.scale - now

    def _share(self, limit: CallLimit) -> float:
        """Return the seconds in which one call drains."""
        return limit.period * self.scale / limit.count
