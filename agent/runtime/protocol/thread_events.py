"""Events of all runs of a thread as one numbered stream, read from the runs' logs and then live.

An event's number contains the run's creation order and the event's position in the run's log. So numbers
need no counter, stay the same after a crash, and increase from run to run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from agent.runtime.domain import INFLIGHT, START, Clock, EventId, Run, RunStatus
from agent.runtime.encode import dumps, loads
from agent.runtime.event_log import HEARTBEAT, EventReader, RunChannel, event_name
from agent.runtime.manager import RunManager
from agent.runtime.protocol.event_filter import EventFilter
from agent.runtime.protocol.thread_signals import ThreadSubscription
from agent.runtime.protocol.translation import (
    compact_state,
    encode_event,
    input_requested,
    lifecycle_id,
)
from agent.runtime.store import runs
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import EventLog
from agent.runtime.stream_modes import Event

EVENT_BITS: Final = 22
"""Bits of an event's position: 4 million events for each attempt."""
ATTEMPT_BITS: Final = 5
"""Bits of an attempt's number. The run's order has 26 bits, because clients read numbers of 53 bits."""
LARGEST_SEQ: Final = (1 << 53) - 1
_STATUSES: Final = {RunStatus.SUCCESS: "completed", RunStatus.INTERRUPTED: "interrupted"}


def to_seq(order: int, at: EventId = START) -> int:
    """Return the number of an event, or of the time before a run's first event."""
    attempt = min(at.attempt, (1 << ATTEMPT_BITS) - 1)
    return (order << ATTEMPT_BITS | attempt) << EVENT_BITS | min(at.seq, (1 << EVENT_BITS) - 1)


def parse_seq(seq: int) -> tuple[int, EventId]:
    """Return a run's order and the position in its log."""
    rest, position = seq >> EVENT_BITS, seq & ((1 << EVENT_BITS) - 1)
    return rest >> ATTEMPT_BITS, EventId(rest & ((1 << ATTEMPT_BITS) - 1), position)


@dataclass(frozen=True, slots=True)
class RunSource:
    """A run whose events are read, the live part of its events, and the position to start after."""

    run: Run
    channel: RunChannel | None
    log: EventLog
    heartbeat: float
    after: EventId
    clock: Clock

    def now(self) -> int:
        """Return when the run ended, or the current time, in milliseconds."""
        return int((self.clock() if self.run.status in INFLIGHT else self.run.updated_at) * 1000)


class NumberedReader(EventReader):
    """Reads a run's events, numbered in their thread. Notices are omitted, because the thread continues."""

    def __init__(self, source: RunSource) -> None:
        super().__init__(
            source.run.run_id,
            channel=source.channel,
            log=source.log,
            heartbeat=source.heartbeat,
            after=source.after,
            status=lambda: str(source.run.status),
        )
        self.source = source
        self._sent_at = asyncio.get_running_loop().time()

    def _encode_frames(self, frames: list[bytes]) -> bytes:
        """Return what to send: a heartbeat if nothing has been sent for `heartbeat` seconds."""
        first = self._at.seq - len(frames) + 1
        sent = b"".join(
            self._encode_frame(frame, to_seq(self.source.run.order, EventId(self._at.attempt, first + index)))
            for index, frame in enumerate(frames)
        )
        now = asyncio.get_running_loop().time()
        if not sent and now - self._sent_at < self._heartbeat:
            return b""
        self._sent_at = now
        return sent or HEARTBEAT

    def _encode_frame(self, frame: bytes, seq: int) -> bytes:
        raise NotImplementedError

    def _encode_notice(self, _event: str) -> bytes:
        return b""


class ProtocolReader(NumberedReader):
    """Reads a run's events in the thread protocol; of a run of another API, only states and lifecycle."""

    def __init__(self, source: RunSource, event_filter: EventFilter) -> None:
        super().__init__(source)
        self._filter = event_filter
        self._requested: set[str] = set()
        self._error = ""

    def _encode_frame(self, frame: bytes, seq: int) -> bytes:
        sent = b""
        for method, stored in self._translate(event_name(frame), frame_data(frame)):
            if self._filter.admits(method, stored):
                has_id = stored.startswith(b'{"type":"event","event_id"')
                head = b'{"seq":%d,' % seq if has_id else b'{"seq":%d,"event_id":"%d",' % (seq, seq)
                sent += b"event: %b\r\ndata: %b%b\r\nid: %d\r\n\r\n" % (
                    method.encode(),
                    head,
                    stored[1:],
                    seq,
                )
        return sent

    def _translate(self, name: str, data: bytes) -> Iterator[Event]:
        if name == "metadata":
            yield self._lifecycle("running", int(self.source.run.created_at * 1000))
        elif name == "error":
            self._error = loads(data)["message"]
        elif name == "end":
            yield self._translate_end(loads(data))
        elif self.source.run.spec.protocol:
            yield name, data
        elif name.partition("|")[0] == "values":
            yield from self._translate_values(name.split("|")[1:], loads(data))

    def _translate_end(self, end: Mapping[str, Any]) -> Event:
        status = _STATUSES.get(end["status"], "failed")
        if status == "completed" and end.get("interrupted", bool(self._requested)):
            status = "interrupted"
        error = {"error": self._error} if status == "failed" else {}
        return self._lifecycle(status, end.get("timestamp", self.source.now()), **error)

    def _translate_values(self, namespace: list[str], values: Any) -> Iterator[Event]:
        now = self.source.now()
        interrupts = values.pop("__interrupt__", ()) if isinstance(values, dict) else ()
        # Later states of a step repeat its interrupts.
        for item in [one for one in interrupts if one["id"] not in self._requested]:
            self._requested.add(item["id"])
            yield input_requested(self.source.run.run_id, namespace, item["id"], item.get("value"), now)
        yield encode_event("values", namespace, now, compact_state(values))

    def _lifecycle(self, status: str, now: int, **more: str) -> Event:
        run = self.source.run
        data = {"event": status, "graph_name": run.spec.graph_id, **more}
        return encode_event("lifecycle", (), now, data, lifecycle_id(run.run_id, (), status))


class ThreadModeReader(NumberedReader):
    """Reads a run's events as in the run's own stream, except that its end is a `metadata` event."""

    def __init__(self, source: RunSource, modes: frozenset[str]) -> None:
        super().__init__(source)
        self._thread_modes = modes

    def _encode_frame(self, frame: bytes, seq: int) -> bytes:
        name, data = event_name(frame), frame_data(frame)
        if name == "end":
            name, data = "metadata", dumps({"status": "run_done", "run_id": self.source.run.run_id})
        if not self._admits(name):
            return b""
        return b"event: %b\r\ndata: %b\r\nid: %d\r\n\r\n" % (name.encode(), data, seq)

    def _admits(self, name: str) -> bool:
        kind = name.partition("|")[0]
        return (
            "run_modes" in self._thread_modes
            or ("lifecycle" in self._thread_modes and kind in ("metadata", "error"))
            or ("state_update" in self._thread_modes and kind in ("values", "updates"))
        )


def frame_data(frame: bytes) -> bytes:
    return frame.partition(b"\r\ndata: ")[2].partition(b"\r\n")[0]


@dataclass(frozen=True, slots=True)
class ThreadEvents:
    """Reads the events of a thread's runs one after the other, then waits for further runs."""

    thread_id: str
    database: RuntimeDatabase
    log: EventLog
    manager: RunManager
    clock: Clock
    heartbeat: float
    may_read: Callable[[], Awaitable[bool]]
    """Asked before the events of each run, since the thread may have been created after its reader came."""

    async def read_batches(
        self, since: int | None, make_reader: Callable[[RunSource], NumberedReader], *, logged: bool
    ) -> AsyncGenerator[bytes]:
        """Yield bytes to send unchanged, from the event after `since` on (None: from now on).

        The first are empty and mean that events are followed from here: what starts afterwards is not missed.
        With `logged`, only events of runs with a log. Raises `ConnectionAbortedError` if the process stops.
        """
        signals = self.manager.signals
        with signals.subscribe(self.thread_id, live=not logged) as subscription:
            start = await self._find_current_seq() if since is None else min(since, LARGEST_SEQ)
            order, position = parse_seq(start)
            last = order - 1
            yield b""
            while not signals.is_closed:
                subscription.changed.clear()
                found = await self._find_next(subscription, last, logged=logged)
                if found is None:
                    if not await self._wait_for(subscription.changed):
                        yield HEARTBEAT
                    continue
                if not await self.may_read():
                    return
                run, channel = found
                after = position if run.order == order else START
                source = RunSource(run, channel, self.log, self.heartbeat, after, self.clock)
                async with aclosing(_read_run(make_reader(source))) as batches:
                    async for batch in batches:
                        yield batch
                last = run.order
                subscription.release_run(run.run_id)
        raise ConnectionAbortedError("the process is stopping")

    async def _find_current_seq(self) -> int:
        """Return the number of the latest event of the thread's runs."""
        active = sorted(self.manager.list_active(self.thread_id), key=lambda item: item.run.order)
        if active:
            return to_seq(active[0].run.order, active[0].channel.head)
        return to_seq(await self.database.read(runs.find_last_order, self.thread_id) + 1)

    async def _find_next(
        self, subscription: ThreadSubscription, last: int, *, logged: bool
    ) -> tuple[Run, RunChannel | None] | None:
        run = await self.database.read(runs.find_next_run, self.thread_id, last, logged=logged)
        started = [item for item in subscription.started.values() if item.run.order > last]
        if started and (run is None or started[0].run.order <= run.order):
            return started[0]
        if run is None:
            return None
        active = self.manager.find_active(run.run_id)
        if active is None and self.manager.remote.is_elsewhere(run):
            return None  # it is read once it has ended
        return run, None if active is None else active.channel

    async def _wait_for(self, changed: asyncio.Event) -> bool:
        try:
            await asyncio.wait_for(changed.wait(), self.heartbeat)
        except TimeoutError:
            return False
        return True


async def _read_run(reader: NumberedReader) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(reader.read_batches()) as batches:
            async for batch in batches:
                if batch:
                    yield batch
    finally:
        reader.close()
