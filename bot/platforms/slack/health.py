"""The live state of an account, from what really happened."""

from __future__ import annotations

from collections.abc import Callable

from bot.clock import Clock
from bot.domain import AccountState, Live


class Health:
    """Reports every change of state, and each sign of life while live (as `last_event`)."""

    def __init__(self, report: Callable[[AccountState], None], clock: Clock) -> None:
        self.identity = ""
        self._report = report
        self._clock = clock
        self._state = AccountState(Live.CONNECTING)
        self._limited_until = 0.0

    @property
    def live(self) -> bool:
        """Whether messages arrive."""
        return self._state.live in (Live.LIVE, Live.LIMITED)

    def connecting(self) -> None:
        """Not connected yet."""
        self._change(Live.CONNECTING)

    def heard(self) -> None:
        """Slack said something on a connection that stands: live, unless a limit is still on."""
        now = self._clock.now()
        live = Live.LIMITED if now < self._limited_until else Live.LIVE
        self._change(live, self._state.reason if live is Live.LIMITED else "", last_event=now)

    def answered(self) -> None:
        """Slack took a call: a limit that has passed is over."""
        if self._state.live is Live.LIMITED and self._clock.now() >= self._limited_until:
            self._change(Live.LIVE)

    def limited(self, seconds: float) -> None:
        """Slack asked to wait."""
        self._limited_until = max(self._limited_until, self._clock.now() + seconds)
        if self.live:
            self._change(Live.LIMITED, f"Slack asks to wait {seconds:g} s")

    def deaf(self, reason: str) -> None:
        """No connection stands, so nothing is heard."""
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
