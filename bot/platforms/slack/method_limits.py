"""Limits of individual methods, more detailed than the core's budgets.

All are calls a minute for an app in a workspace (docs.slack.dev/apis/web-api/rate-limits): chat.startStream
and chat.stopStream are of tier 2 (20), chat.update and agents.sessions.setStatus of tier 3 (50).
"""

from __future__ import annotations

from bot.core.rate_limits import SlidingWindow

MINUTE = 60.0
STARTS, STOPS, UPDATES = 20, 20, 50
RESERVED_UPDATES = 15
"""Updates that frames leave to finals, in chats without native streams."""
SESSION_STATUSES, RESERVED_STATUSES = 50, 25
"""Calls that change sessions, and those of them that beginnings leave to ends."""

PROMPT_CALLS = 100
"""Calls of assistant.threads.setSuggestedPrompts, of tier 4."""


class StreamBudget:
    """Joint limit of starting and stopping streams, so that every started stream can be stopped in time.

    With (open streams + stops of the last minute) below 20 at every start, no minute sees more than 20 stops.
    """

    def __init__(self, scale: float = 1.0) -> None:
        self._starts = SlidingWindow(STARTS, MINUTE, scale=scale)
        self._stops = SlidingWindow(STOPS, MINUTE, scale=scale)

    def may_start(self, now: float, open_streams: int) -> bool:
        """Return whether another stream may be opened now."""
        return self._starts.ready_at(now) <= now and open_streams + self._stops.count_calls(now) < STOPS

    def record_start(self, now: float) -> None:
        """Count the beginning of a start."""
        self._starts.count_start(now)

    def record_start_end(self, began: float, now: float) -> None:
        """Count the end of a start that began at `began`."""
        self._starts.count_end(began, now)

    def record_stop(self, now: float) -> None:
        """Count a stop."""
        self._stops.count_start(now)
