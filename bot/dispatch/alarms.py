"""Alarms: many timed waits that share one timer.

A wait for an event with a time limit needs a task for the event and one for the timer if both are awaited.
Hundreds of replies wait several times a second, so their waits share one timer, and need no task at all.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from bot.clock import Clock

log = structlog.get_logger(__name__)


@dataclass(order=True, slots=True)
class Alarm:
    """A call scheduled for a time (s since the epoch), until cancelled."""

    at: float
    order: int
    call: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        """Cancel the call."""
        self.call = None


class Alarms:
    """Runs calls at their scheduled times. The timer is active only while an alarm is set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._alarms: list[Alarm] = []
        self._order = itertools.count()
        self._timer: asyncio.Task[None] | None = None
        self._timer_at = 0.0

    def set(self, at: float, call: Callable[[], None]) -> Alarm:
        """Schedule a call, or run it in the next iteration of the event loop if its time has passed."""
        alarm = Alarm(at, next(self._order), call)
        heapq.heappush(self._alarms, alarm)
        if self._timer is None or at < self._timer_at:
            self._start_timer(at)
        return alarm

    async def wait_first(self, event: asyncio.Event, seconds: float) -> bool:
        """Wait for an event for at most `seconds`, and return whether it was set."""
        if event.is_set() or seconds <= 0:
            return event.is_set()
        loop, alarm = asyncio.get_running_loop(), None
        try:
            async with asyncio.timeout(None) as limit:
                until = self._clock.now() + seconds
                alarm = self.set(until, lambda: limit.reschedule(loop.time()))
                try:
                    await event.wait()
                finally:
                    self.drop(alarm)
        except TimeoutError:
            pass
        return event.is_set()

    def drop(self, alarm: Alarm) -> None:
        """Cancel an alarm, and stop the timer if it was the last one."""
        alarm.cancel()
        while self._alarms and self._alarms[0].call is None:
            heapq.heappop(self._alarms)
        if not self._alarms and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = asyncio.create_task(self._ring(), name="alarms")

    async def _ring(self) -> None:
        """Wait for the next alarm until none is set."""
        while self._alarms:
            due = self._timer_at = self._alarms[0].at
            await self._clock.sleep(due - self._clock.now())
            while self._alarms and self._alarms[0].at <= due:
                alarm = heapq.heappop(self._alarms)
                if alarm.call is not None:
                    self._call(alarm.call)
        if self._timer is asyncio.current_task():
            self._timer = None

    @staticmethod
    def _call(call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:  # the timer's supervisor: the other alarms must still ring
            log.exception("alarm_failed")
