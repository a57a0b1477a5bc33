"""The live state of an account, from what really happened; the same for every platform."""

from __future__ import annotations

from collections.abc import Callable

from bot.clock import Clock
from bot.domain import AccountState, Live

REPORT_INTERVAL = 1.0
"""Signs of life that change nothing else are reported once in so many seconds."""
_DEAF = frozenset({Live.DEAF, Live.FAILED, Live.STOPPED})


class AccountHealth:
    """Reports every change of state, and signs of life (as `last_event`). `title` is the platform's name."""

    def __init__(self, title: str, report: Callable[[AccountState], None], clock: Clock) -> None:
        self.identity = ""
        self.last_event_at = clock.now()
        self._title = title
        self._report = report
        self._clock = clock
        self._state = AccountState(Live.CONNECTING)
        self._note = ""
        self._limit = ""
        self._limited_until = 0.0

    def mark_connecting(self, reason: str = "") -> None:
        """Not connected."""
        self._change(Live.CONNECTING, reason)

    def mark_live(self, note: str = "") -> None:
        """The platform said something: live, unless a limit is still on. `note` is shown from then on."""
        self.last_event_at = now = self._clock.now()
        self._note = note or self._note
        limited = now < self._limited_until
        live, reason = (Live.LIMITED, self._limit) if limited else (Live.LIVE, self._note)
        if (live, reason) == (self._state.live, self._state.reason) and now - self._state.last_event < REPORT_INTERVAL:
            return
        self._change(live, reason, last_event=now)

    def set_note(self, note: str) -> None:
        """What is shown while it is live."""
        self._note = note

    def record_accepted_call(self) -> None:
        """The platform took a call: a limit that has passed is over."""
        if self._state.live is Live.LIMITED and self._clock.now() >= self._limited_until:
            heard = self._state.last_event > 0.0
            self._change(Live.LIVE if heard else Live.CONNECTING, self._note if heard else "")

    def mark_limited(self, seconds: float) -> None:
        """The platform asked to wait; where nothing is heard, that is what counts."""
        self._limited_until = max(self._limited_until, self._clock.now() + seconds)
        self._limit = f"{self._title} asks to wait {seconds:g} s"
        if self._state.live not in _DEAF:
            self._change(Live.LIMITED, self._limit)

    def mark_deaf(self, reason: str) -> None:
        """Nothing is heard, or was for longer than it should take."""
        self._change(Live.DEAF, reason)

    def mark_failed(self, reason: str) -> None:
        """The account cannot go on."""
        self._change(Live.FAILED, reason)

    def mark_stopped(self) -> None:
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
