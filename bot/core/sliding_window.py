"""Sliding windows: how many calls fit into a period, when the next one does, and how they are spread."""

from __future__ import annotations

from collections import deque

MARGIN = 1.01
"""A call is counted when it has ended, so it is never counted earlier than by the platform; the rest is for
clocks that differ."""
LONG = 30.0
"""Seconds from which on a window is as long as a reply: its calls come faster at the beginning, since most
replies are shorter."""
FIRST, RISE, LAST = 0.4, 4.0, 1.06
"""The distance of calls in a long window, as shares of the even one: the first, by how much it grows over the
window, and the widest. Their mean is a little above 1, so a reply of any length finds calls left."""
EARLY = 0.01
"""Seconds by which calls are nearer than even in a short window: a piece of text that comes a little early is
not missed, so that the next call need not wait for the one after it."""


class SlidingWindow:
    """At most `count` calls in any `period` seconds; `reserve` of them are not for calls that may be skipped.

    `scale` multiplies the period. Times are those of one clock, in seconds, and never run backwards.
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
        """Seconds between optional calls."""
        even = self._period / self._spare
        if not self._long:
            return max(0.0, even - EARLY)
        return even * min(LAST, FIRST + RISE * len(self._calls) / self._spare)

    def count_start(self, now: float) -> None:
        """Count a call that begins."""
        self._calls.append(now)
        self._last = now

    def count_end(self, began: float, now: float) -> None:
        """The call has lasted until now: the platform may have counted it as late as that."""
        if began in self._calls:
            self._calls.remove(began)
            self._calls.append(now)

    def is_idle(self, now: float) -> bool:
        """Return True if no call counts now."""
        return not self.count_calls(now)

    def _free_at(self, now: float, allowed: int) -> float:
        return now if self.count_calls(now) < allowed else self._calls[-allowed] + self._period
