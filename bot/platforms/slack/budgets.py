"""The budgets of single methods, which are finer than what the core knows.

All are calls a minute for an app in a workspace (docs.slack.dev/apis/web-api/rate-limits): chat.startStream
and chat.stopStream are of tier 2 (20), chat.update of tier 3 (50).
"""

from __future__ import annotations

from collections import deque

MINUTE = 60.0
MARGIN = 1.05
"""Slack counts a call when it arrives, so a window is taken a little longer."""
STARTS, STOPS, UPDATES = 20, 20, 50
UPDATES_FOR_FRAMES = 35
"""Frames leave the rest of the updates to finals."""


class Window:
    """At most `count` calls in any `period` seconds."""

    def __init__(self, count: int, period: float = MINUTE) -> None:
        self._count = count
        self._period = period * MARGIN
        self._calls: deque[float] = deque()

    def used(self, now: float) -> int:
        """Calls within the window that ends now."""
        while self._calls and self._calls[0] <= now - self._period:
            self._calls.popleft()
        return len(self._calls)

    def wait(self, now: float, count: int = 0) -> float:
        """Seconds until one more call fits into `count` (0: the whole budget)."""
        allowed = count or self._count
        if self.used(now) < allowed:
            return 0.0
        return self._calls[-allowed] + self._period - now

    def add(self, now: float) -> None:
        """Count a call."""
        self._calls.append(now)


class StreamBudget:
    """Starts and stops together: whatever is started can also be stopped in time.

    With (open streams + stops of the last minute) below 20 at every start, no minute sees more than 20 stops.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self._starts = Window(STARTS, MINUTE * scale)
        self._stops = Window(STOPS, MINUTE * scale)

    def may_start(self, now: float, open_streams: int) -> bool:
        """Whether one more stream may be opened now."""
        return self._starts.wait(now) == 0 and open_streams + self._stops.used(now) < STOPS

    def started(self, now: float) -> None:
        """Count a start."""
        self._starts.add(now)

    def stopped(self, now: float) -> None:
        """Count a stop."""
        self._stops.add(now)
