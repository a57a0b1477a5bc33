"""Sliding windows: the number of calls that fit into a period, when the next one fits, and their spacing."""

from __future__ import annotations

from collections import deque

MARGIN = 1.01
"""Factor on the period, for clocks that differ. Latency needs no margin: a call counts from its end, so never
earlier than on the platform.
"""
LONG = 30.0
"""Length in seconds of a window from which on calls are closer together at its beginning: most replies are
shorter than such a window.
"""
FIRST, RISE, LAST = 0.4, 4.0, 1.06
"""Spacing of calls in a long window, as multiples of even spacing: the first, its growth over the window, and
the maximum. The mean is a little above 1, so a reply of any length has calls left.
"""
EARLY = 0.01
"""Seconds subtracted from the even spacing in a short window: a piece of text that arrives slightly early can
be sent, instead of waiting for the next call.
"""


class SlidingWindow:
    """Allows at most `count` calls in any `period` seconds; `reserve` of them are not available to optional
    calls.

    `scale` multiplies the period. Times are in seconds, from one clock that never runs backwards.
    """

    def __init__(self, count: int, period: float, *, reserve: int = 0, scale: float = 1.0) -> None:
        self._count = count
        self._spare = max(1, count - reserve)
        self._period = period * scale * MARGIN
        self._long = period >= LONG
        self._calls: deque[float] = deque()
        self._last = 0.0

    def count_calls(self, now: float) -> int:
        """Return the number of calls within the window that ends now."""
        while self._calls and self._calls[0] <= now - self._period:
            self._calls.popleft()
        return len(self._calls)

    def ready_at(self, now: float) -> float:
        """Return the time at which one more call fits."""
        return self._free_at(now, self._count)

    def optional_at(self, now: float, *, at_once: bool = False) -> float:
        """Return the time for an optional call: spread over the window, unless `at_once`."""
        free = self._free_at(now, self._spare)
        if at_once or not self._calls:
            return free
        return max(free, self._last + self.optional_spacing)

    @property
    def optional_spacing(self) -> float:
        """Return the seconds between optional calls."""
        even = self._period / self._spare
        if not self._long:
            return max(0.0, even - EARLY)
        return even * min(LAST, FIRST + RISE * len(self._calls) / self._spare)

    def count_start(self, now: float) -> None:
        """Count a call that begins."""
        self._calls.append(now)
        self._last = now

    def count_end(self, began: float, now: float) -> None:
        """Move a call to its end: the platform may have counted it as late as that."""
        if began in self._calls:
            self._calls.remove(began)
            self._calls.append(now)

    def is_idle(self, now: float) -> bool:
        """Return whether the window is empty."""
        return not self.count_calls(now)

    def _free_at(self, now: float, allowed: int) -> float:
        return now if self.count_calls(now) < allowed else self._calls[-allowed] + self._period
