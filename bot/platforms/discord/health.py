"""The live state of an account, from what really happened."""

from __future__ import annotations

import math
from collections.abc import Callable

from bot.clock import Clock
from bot.domain import AccountState, Live

QUIET = 1.0
"""Signs of life are reported once in so many seconds."""
SLOWEST = 40.0
"""The SDK notes the time of a heartbeat after sending it: an answer faster than the note seems a beat (41 s)
late."""


class Health:
    """Reports every change of state, and each sign of life while live (as `last_event`)."""

    def __init__(self, report: Callable[[AccountState], None], clock: Clock) -> None:
        self.identity = ""
        self.last_heard = clock.now()
        self._report = report
        self._clock = clock
        self._state = AccountState(Live.CONNECTING)
        self._limited_until = 0.0
        self._latency = ""

    def connecting(self, reason: str = "") -> None:
        """Not connected."""
        self._change(Live.CONNECTING, reason)

    def heard(self, latency: float = math.inf) -> None:
        """Discord was heard: live, unless a limit is still on. `latency` (seconds) is that of a heartbeat."""
        self.last_heard = now = self._clock.now()
        if latency < SLOWEST:
            self._latency = f"heartbeat {latency * 1000:.0f} ms"
        limited = now < self._limited_until
        live, reason = (Live.LIMITED, self._state.reason) if limited else (Live.LIVE, self._latency)
        if (live, reason) == (self._state.live, self._state.reason) and now - self._state.last_event < QUIET:
            return
        self._change(live, reason, last_event=now)

    def limited(self, seconds: float) -> None:
        """Discord asked to wait."""
        self._limited_until = max(self._limited_until, self._clock.now() + seconds)
        self._change(Live.LIMITED, f"Discord asks to wait {seconds:g} s")

    def deaf(self, reason: str) -> None:
        """Nothing was heard for longer than it should take."""
        self._change(Live.DEAF, reason)

    def failed(self, reason: str) -> None:
        """The account cannot go on."""
        self._change(Live.FAILED, reason)

    def stopped(self) -> None:
        """Stopped on request."""
        self._change(Live.STOPPED)

    def _change(self, live: Live, reason: str = "", last_event: float | None = None) -> None:
        same = live is self._state.live
        since = self._state.since if same and self._state.since else self._clock.now()
        heard = self._state.last_event if last_event is None else last_event
        state = AccountState(live, reason, since, self.identity, heard)
        if state != self._state:
            self._state = state
            self._report(state)
