"""Rate limits: the number of calls in a period, the time of the next permitted call, and call spacing.

A platform counts calls in a sliding window, in windows that begin with their first call and end at a time
that it tells, or in a bucket that drains at a steady rate. A bucket is what "one per second, short bursts are
allowed" says: calls after a pause may come together.

Staleness is the number of tokens generated minus the number visible. For 3,000 tokens in a minute it is 1.05
to 1.25 times that of the best schedule, depending on the platform's limits. A fixed reserve of a quarter, a
fixed pause after each frame, and a clock cost up to twice the optimum.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from typing import Protocol

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


class RateLimit(Protocol):
    """A rate limit of a platform. Times are in seconds, from a monotonic clock."""

    def ready_at(self, now: float) -> float:
        """Return the earliest time for another call."""
        ...

    def optional_at(self, now: float, *, at_once: bool = False) -> float:
        """Return the earliest time for an optional call: spread over the period, unless `at_once`."""
        ...

    @property
    def optional_spacing(self) -> float:
        """Return the seconds between optional calls."""
        ...

    def count_start(self, now: float, *, paced: bool = True) -> None:
        """Count a call at its start. A call that is not `paced` does not delay the next optional call."""
        ...

    def count_end(self, began: float, now: float) -> None:
        """Count a call at its end, since the platform may have counted it that late."""
        ...

    def is_idle(self, now: float) -> bool:
        """Return whether no calls are being counted."""
        ...


class SlidingWindow:
    """Allows at most `count` calls in any `period` seconds; `reserve` of them are unavailable to optional
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
        """Return the number of calls within the window that ends at `now`."""
        while self._calls and self._calls[0] <= now - self._period:
            self._calls.popleft()
        return len(self._calls)

    def ready_at(self, now: float) -> float:
        """Return the earliest time for another call."""
        return self._free_at(now, self._count)

    def optional_at(self, now: float, *, at_once: bool = False) -> float:
        """Return the earliest time for an optional call: spread over the window, unless `at_once`."""
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

    def count_start(self, now: float, *, paced: bool = True) -> None:
        """Count a call at its start. A call that is not `paced` does not delay the next optional call."""
        self._calls.append(now)
        if paced:
            self._last = now

    def count_end(self, began: float, now: float) -> None:
        """Move a call to its end time, since the platform may have counted it that late."""
        # A call that is longer than the window has left it already.
        if began in self._calls:
            self._calls.remove(began)
        self._calls.append(now)

    def is_idle(self, now: float) -> bool:
        """Return whether the window is empty."""
        return not self.count_calls(now)

    def _free_at(self, now: float, allowed: int) -> float:
        return now if self.count_calls(now) < allowed else self._calls[-allowed] + self._period


class FixedWindow:
    """Allows at most `count` calls in a window of `period` seconds, which starts with its first call.

    Where the platform's window begins and ends is known only within the duration of a call. A call that may
    belong to the next window already counts in both.
    """

    def __init__(self, count: int, period: float, *, scale: float = 1.0) -> None:
        self._count = count
        self._shortest, self._longest = period * scale, period * scale * MARGIN
        self._calls: list[tuple[float, float]] = []
        """The calls of this window in order of their starts, each from its start to its end."""
        self._doubtful = 0
        """How many of them, the first ones, may belong to the window before."""
        self._last = 0.0

    def count_calls(self, now: float) -> int:
        """Return the number of calls in the current window."""
        while self._calls and now >= self._ends_at():
            began, ended = self._calls[0]
            end = began + self._shortest
            self._calls = [call for call in self._calls if call[1] >= end]
            if ended >= end:
                # A call as long as a window never leaves by that rule.
                self._calls = [call for call in self._calls if call[1] + self._longest > now]
            self._doubtful = len(self._calls)
        return len(self._calls)

    def ready_at(self, now: float) -> float:
        """Return the earliest time at which another call may fit."""
        return now if self.count_calls(now) < self._count else self._ends_at()

    def optional_at(self, now: float, *, at_once: bool = False) -> float:
        """Return the earliest time for an optional call: spread over the window, unless `at_once`."""
        free = self.ready_at(now)
        return free if at_once or not self._calls else max(free, self._last + self.optional_spacing)

    @property
    def optional_spacing(self) -> float:
        """Return the seconds between optional calls."""
        return max(0.0, self._longest / self._count - EARLY)

    def count_start(self, now: float, *, paced: bool = True) -> None:
        """Count a call at its start. A call that is not `paced` does not delay the next optional call."""
        self.count_calls(now)
        self._calls.append((now, now))
        if paced:
            self._last = now

    def count_end(self, began: float, now: float) -> None:
        """Register the end of a call."""
        if (began, began) in self._calls:
            self._calls[self._calls.index((began, began))] = began, now
        else:
            # The window was over before the call was, so the call may belong to that window or a later one.
            insort(self._calls, (began, now))
            self._doubtful += 1

    def is_idle(self, now: float) -> bool:
        """Return whether the window is over."""
        return not self.count_calls(now)

    def _ends_at(self) -> float:
        """Return the latest possible end of the window, given its first definite call."""
        first = min(self._doubtful, len(self._calls) - 1)
        return self._calls[first][1] + self._longest


class BurstBucket:
    """Allows one call per `period` seconds in the long run, and up to `burst` at once after a pause.

    Optional calls keep their distance, and leave room for one call that must be made, so such a call never
    waits for them. `scale` multiplies the period. A call that is under way counts in full, and drains from
    its end: the platform may count it as late as that.
    """

    def __init__(self, period: float, burst: int, *, scale: float = 1.0) -> None:
        self._period = period * scale * MARGIN
        self._burst = burst
        self._level = 0.0
        self._level_at = 0.0
        self._under_way = 0
        self._last = -self._period

    def ready_at(self, now: float) -> float:
        """Return the earliest time for another call."""
        return self._drained_at(now, self._burst - 1)

    def optional_at(self, now: float, *, at_once: bool = False) -> float:
        """Return the earliest time for an optional call: after its spacing, unless `at_once`."""
        free = self._drained_at(now, max(0, self._burst - 2))
        return free if at_once else max(free, self._last + self.optional_spacing)

    @property
    def optional_spacing(self) -> float:
        """Return the seconds between optional calls."""
        return max(0.0, self._period - EARLY)

    def count_start(self, now: float, *, paced: bool = True) -> None:
        """Count a call at its start. A call that is not `paced` does not delay the next optional call."""
        self._under_way += 1
        if paced:
            self._last = now

    def count_end(self, began: float, now: float) -> None:
        """Count a call from its end."""
        self._under_way -= 1
        self._level, self._level_at = self._level_now(now) + 1.0, now

    def is_idle(self, now: float) -> bool:
        """Return whether the bucket is empty."""
        return not self._under_way and not self._level_now(now) and now >= self._last + self._period

    def _level_now(self, now: float) -> float:
        return max(0.0, self._level - max(0.0, now - self._level_at) / self._period)

    def _drained_at(self, now: float, level: float) -> float:
        """Return the earliest time at which the level has dropped to `level`."""
        return now + max(0.0, self._level_now(now) + self._under_way - level) * self._period
