"""Signals to the readers of a thread when one of its runs has started or ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from agent.runtime.domain import Run
from agent.runtime.event_log import RunChannel

LIVE_RUNS: Final = 4
"""Maximum number of runs without a log whose events a reader can lag behind."""


class StartedRun(NamedTuple):
    """A run with the live part of its events, which a reader has not reached yet."""

    run: Run
    channel: RunChannel


class ThreadSubscription:
    """Signal that a reader of a thread waits for; with `live`, also the events of runs without a log."""

    def __init__(self, *, live: bool) -> None:
        self.changed = asyncio.Event()
        self.started: dict[str, StartedRun] = {}
        self._live = live

    def add_run(self, run: Run, channel: RunChannel) -> None:
        """Keep the events of a run without a log until the reader reaches it."""
        if self._live and not channel.resumable and run.run_id not in self.started:
            channel.readers += 1
            self.started[run.run_id] = StartedRun(run, channel)
            if len(self.started) > LIVE_RUNS:
                self.release_run(next(iter(self.started)))

    def release_run(self, run_id: str) -> None:
        if (started := self.started.pop(run_id, None)) is not None:
            started.channel.readers -= 1

    def close(self) -> None:
        """Release the events of all runs."""
        for run_id in list(self.started):
            self.release_run(run_id)


class ThreadSignals:
    """Subscriptions of readers by thread."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, set[ThreadSubscription]] = {}
        self._closed = False

    @property
    def is_closed(self) -> bool:
        """True if the process is stopping, so that readers have to end."""
        return self._closed

    @contextmanager
    def subscribe(self, thread_id: str, *, live: bool) -> Iterator[ThreadSubscription]:
        """Yield a subscription to a thread."""
        subscription = ThreadSubscription(live=live)
        readers = self._subscriptions.setdefault(thread_id, set())
        readers.add(subscription)
        try:
            yield subscription
        finally:
            subscription.close()
            readers.discard(subscription)
            if not readers:
                self._subscriptions.pop(thread_id, None)

    def report_start(self, run: Run, channel: RunChannel) -> None:
        """Report an attempt of a run before it emits events."""
        for subscription in self._subscriptions.get(run.thread_id, ()):
            subscription.add_run(run, channel)
        self.report_change(run.thread_id)

    def report_change(self, thread_id: str) -> None:
        """Wake a thread's readers."""
        for subscription in self._subscriptions.get(thread_id, ()):
            subscription.changed.set()

    def close(self) -> None:
        """Wake all readers, so that they end."""
        self._closed = True
        for thread_id in self._subscriptions:
            self.report_change(thread_id)
