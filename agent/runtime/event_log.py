"""Events of a run, written to the log and then published to readers, with a bounded tail in memory.

A frame is one server-sent event as bytes. The frames of an attempt are numbered from 1 without gaps. A frame
of a resumable run is visible to readers only once the log has it; other runs have no log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from functools import partial
from typing import Any

import structlog

from agent.runtime.domain import START, EventId
from agent.runtime.encode import dumps
from agent.runtime.remote_runs import LOOK_EVERY
from agent.runtime.settings import LogSettings
from agent.runtime.store.events import EventLog, LogChunk
from agent.runtime.store.leases import Lease
from agent.runtime.store.retries import is_storage_error, retry_delay

log = structlog.get_logger("agent.runtime")


def encode_frame(event: str, data: bytes, event_id: EventId | None) -> bytes:
    head = b"event: " + event.encode() + b"\r\ndata: " + data + b"\r\n"
    return head + b"\r\n" if event_id is None else b"%bid: %d-%d\r\n\r\n" % (head, *event_id)


def event_name(sent: bytes) -> str:
    return sent[7 : sent.index(b"\r\n")].decode()


def split_frames(body: bytes) -> list[bytes]:
    """Split a chunk of the log into frames, whose data contains no line breaks."""
    return [piece + b"\r\n\r\n" for piece in body.split(b"\r\n\r\n")[:-1]]


class RunChannel:
    """Path of a run's events from the graph to its readers."""

    def __init__(
        self,
        lease: Lease,
        *,
        resumable: bool,
        log: EventLog,
        settings: LogSettings,
        pause: Callable[[], float],
    ) -> None:
        """`pause` returns the minimum time between two writes."""
        self.run_id = lease.run_id
        self._lease = lease
        self.resumable = resumable
        self.attempt = 0
        self.readers = 0
        self.closed = False
        self.is_lost = False
        self._log = log
        self._settings = settings
        self._pause = pause
        self._seq = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writing = False
        self._timer: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0
        self._sealed = False
        self._failures = 0
        self.refusal: BaseException | None = None
        """The error because of which events were dropped, since they can never be stored."""
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._first = 1
        self._changed: set[asyncio.Future[bool]] = set()
        self.on_logged: Callable[[int], None] | None = None

    def start_attempt(self, attempt: int) -> None:
        """Start numbering frames for this attempt."""
        self.attempt = attempt
        self._seq = 0
        self._first = 1
        self._tail.clear()
        self._tail_bytes = 0

    @property
    def has_audience(self) -> bool:
        """True if there is a reader for events emitted now."""
        return self.resumable or self.readers > 0

    @property
    def head(self) -> EventId:
        """Position of the latest visible event."""
        return EventId(self.attempt, self._first + len(self._tail) - 1)

    def emit_event(self, event: str, data: bytes) -> None:
        """Queue an event, which is written to the log before readers see it."""
        if self._sealed:
            return
        frame = self._number_frame(event, data)
        self._pending.append(frame)
        self._pending_bytes += len(frame)
        if not (self._writing or self._timer):
            self._schedule_flush()

    def seal_with(self, event: str, data: bytes) -> tuple[list[bytes], LogChunk | None]:
        """Take the queued events and a last one, like `take_with`, and stop scheduled writes."""
        self._sealed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return self.take_with(event, data)

    def take_with(self, event: str, data: bytes) -> tuple[list[bytes], LogChunk | None]:
        """Take the queued events and this one. The caller commits, then publishes or replaces them."""
        self._pending.append(self._number_frame(event, data))
        return self._take_pending()

    def _number_frame(self, event: str, data: bytes) -> bytes:
        self._seq += 1
        return encode_frame(event, data, EventId(self.attempt, self._seq) if self.resumable else None)

    def _take_pending(self) -> tuple[list[bytes], LogChunk | None]:
        frames, self._pending, self._pending_bytes = self._pending, [], 0
        if not self.resumable:
            return frames, None
        return frames, LogChunk(self.attempt, self._seq - len(frames) + 1, self._seq, b"".join(frames))

    def replace_frames(self, frames: list[bytes], event: str, data: bytes) -> None:
        """Replace the latest frames, which can't be stored, by an event."""
        self._seq -= len(frames)
        self._pending = [self._number_frame(event, data)]

    async def wait_written(self) -> None:
        """Stop accepting events and wait for the current write."""
        self._sealed = True
        while self._writing:
            await self.wait_for_change()

    async def wait_for_room(self) -> None:
        """Wait while the queue is too long, so that a graph can't outrun the log. Raises `refusal`."""
        while self.refusal is None and self._pending_bytes > self._settings.pending_bytes:
            await self.wait_for_change()
        if self.refusal is not None:
            raise self.refusal

    @property
    def is_full(self) -> bool:
        """True if `wait_for_room` would wait or raise."""
        return self._pending_bytes > self._settings.pending_bytes or self.refusal is not None

    def close(self) -> None:
        """End the stream of events in this process."""
        self.closed = True
        self._wake_readers()

    def lose(self) -> None:
        """Let readers follow the log of the process that executes the run from now on."""
        if not self.is_lost:
            log.warning("lease_lost", run_id=self.run_id)
        self.is_lost = True

    def _schedule_flush(self) -> None:
        loop = asyncio.get_running_loop()
        pause = retry_delay(self._failures) if self._failures else self._pause()
        wait = self._flushed_at + pause - loop.time()
        if wait > 0:
            self._timer = loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        self._flushed_at = asyncio.get_running_loop().time()
        frames, chunk = self._take_pending()
        if chunk is None:
            self.publish(frames)
            return
        self._writing = True
        self._log.append_chunk(self._lease, chunk, partial(self._on_written, frames))

    def _on_written(self, frames: list[bytes], _result: Any, error: BaseException | None) -> None:
        self._writing = False
        if error is not None:
            self._keep_frames(frames, error)
            return
        self._failures = 0
        self.publish(frames)
        if self.on_logged is not None:
            self.on_logged(len(frames))
        if self._pending and not self._sealed:
            self._schedule_flush()

    def _keep_frames(self, frames: list[bytes], error: BaseException) -> None:
        """Queue frames again after a failed write, or drop them if they can never be stored."""
        frames = frames + self._pending
        if is_storage_error(error):
            if self._failures == 0:
                log.warning("events_delayed", run_id=self.run_id, error=type(error).__name__)
            self._failures += 1
            self._pending, self._pending_bytes = frames, sum(map(len, frames))
            if not self._sealed:
                self._flushed_at = asyncio.get_running_loop().time()
                self._schedule_flush()
        else:
            self.refusal = error
            self._pending, self._pending_bytes = [], 0
            self._seq -= len(frames)
        self._wake_readers()

    def publish(self, frames: list[bytes]) -> None:
        """Make frames visible to readers."""
        self._tail.extend(frames)
        self._tail_bytes += sum(map(len, frames))
        limit = self._settings.tail_bytes if self.resumable else self._settings.live_tail_bytes
        if not (self.resumable or self.readers):
            limit = 0
        if self._tail_bytes > limit:
            self._trim_tail(limit // 2)
        self._wake_readers()

    def _trim_tail(self, limit: int) -> None:
        dropped = 0
        while self._tail_bytes > limit and dropped < len(self._tail):
            self._tail_bytes -= len(self._tail[dropped])
            dropped += 1
        del self._tail[:dropped]
        self._first += dropped

    def frames_after(self, seq: int) -> list[bytes] | None:
        """Return the frames after `seq` of this attempt; None if some of them are no longer in memory."""
        start = seq + 1 - self._first
        return None if start < 0 else self._tail[start:]

    async def wait_for_change(self, seconds: float | None = None) -> bool:
        """Wait for a change; return False after `seconds` without one."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        self._changed.add(waiter)
        timer = None if seconds is None else loop.call_later(seconds, _resolve, waiter, False)
        try:
            return await waiter
        finally:
            self._changed.discard(waiter)
            if timer is not None:
                timer.cancel()

    def _wake_readers(self) -> None:
        for waiter in self._changed:
            _resolve(waiter, True)


def _resolve(waiter: asyncio.Future[bool], is_changed: bool) -> None:
    if not waiter.done():
        waiter.set_result(is_changed)


HEARTBEAT = b": heartbeat\r\n\r\n"
CHUNKS = 64
"""Maximum number of log chunks per read."""


class EventReader:
    """Reads a run's events from any position: first from the log, then live, without gaps or repetition."""

    def __init__(
        self,
        run_id: str,
        *,
        channel: RunChannel | None,
        log: EventLog,
        heartbeat: float,
        after: EventId | None,
        status: Callable[[], str],
        modes: Collection[str] | None = None,
        counted: bool = False,
        is_live: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`channel` is None for a run that has ended, and for one of another process; `is_live` tells whether
        such a run has not ended.

        `after` is the last event that the reader has (None: from now on). With `counted` the channel already
        counts this reader.
        """
        self._run_id = run_id
        self._channel = channel
        self._log = log
        self._heartbeat = heartbeat
        self._status = status
        self._modes = None if modes is None else _event_names(modes)
        self._is_live = is_live
        self._gap = False
        self._ended = False
        self._live_only = after is None
        self._at = after or (channel.head if channel is not None else START)
        if channel is not None and not counted:
            channel.readers += 1

    def close(self) -> None:
        """Stop counting as a reader. Call it exactly once."""
        if self._channel is not None:
            self._channel.readers -= 1

    async def check_position(self, after: EventId | None, *, unknown: bool) -> None:
        """Plan a `gap` event unless the log still contains the reader's last event."""
        if unknown or (after is not None and after != START and not await self._holds_event(after)):
            self._gap = True
            self._at = self._channel.head if self._channel is not None else START
            self._live_only = True

    async def _holds_event(self, after: EventId) -> bool:
        channel = self._channel
        if channel is not None and after.attempt == channel.attempt:
            return channel.resumable and after <= channel.head
        return await self._log.has_event(self._run_id, after)

    async def read_batches(self) -> AsyncGenerator[bytes]:
        """Yield bytes to send unchanged, until the run's events are complete."""
        if self._gap:
            yield self._encode_notice("gap")
        channel = self._channel
        if channel is not None:
            async for batch in self._follow_channel(channel):
                yield batch
            if not channel.is_lost:
                return
        if self._is_live is not None:
            async for batch in self._follow_log(self._is_live):
                yield batch
        async for batch in self._read_ended_run():
            yield batch

    async def _read_ended_run(self) -> AsyncGenerator[bytes]:
        """Yield the log of an ended run, then `end` unless the reader has it; a `gap` if it is pruned."""
        if not self._live_only:
            async for batch in self._read_log():
                yield batch
        if self._ended:
            return
        if not self._live_only and self._at != START:
            if await self._log.has_event(self._run_id, self._at):
                return
            yield self._encode_notice("gap")
        yield self._encode_notice("end")

    async def _follow_log(self, is_live: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes]:
        """Yield what is logged until the run has ended."""
        quiet = 0.0
        while not self._ended and await is_live():
            before = self._at
            async for batch in self._read_log():
                yield batch
            quiet = 0.0 if self._at != before else quiet + LOOK_EVERY
            if quiet >= self._heartbeat:
                quiet = 0.0
                yield HEARTBEAT
            await asyncio.sleep(LOOK_EVERY)

    async def _follow_channel(self, channel: RunChannel) -> AsyncGenerator[bytes]:
        while True:
            closed = channel.closed
            if channel.attempt and not self._is_in_memory(channel):
                before = self._at
                async for batch in self._read_log():
                    yield batch
                if self._at == before:
                    self._at = channel.head
                    yield self._encode_notice("gap")
                continue
            if channel.attempt and (frames := channel.frames_after(self._at.seq)):
                self._at = EventId(channel.attempt, self._at.seq + len(frames))
                if batch := self._encode_frames(frames):
                    yield batch
                continue
            if closed:
                return
            if not await channel.wait_for_change(self._heartbeat):
                yield HEARTBEAT

    def _is_in_memory(self, channel: RunChannel) -> bool:
        if self._at.attempt != channel.attempt:
            if channel.attempt > 1 and channel.resumable and not self._live_only:
                return False
            self._at = EventId(channel.attempt, 0)
        return channel.frames_after(self._at.seq) is not None

    async def _read_log(self) -> AsyncGenerator[bytes]:
        """Yield the rest of the log, then move to the current attempt."""
        while chunks := await self._log.read_events(self._run_id, self._at, CHUNKS):
            parts: list[bytes] = []
            for chunk in chunks:
                skip = self._at.seq if chunk.attempt == self._at.attempt else 0
                frames = split_frames(chunk.body)[max(0, skip + 1 - chunk.first) :]
                self._at = EventId(chunk.attempt, chunk.last)
                self._ended = frames[-1:] != [] and event_name(frames[-1]) == "end"
                parts.append(self._encode_frames(frames))
            if batch := b"".join(parts):
                yield batch
        if self._channel is not None and self._at.attempt < self._channel.attempt:
            self._at = EventId(self._channel.attempt, 0)

    def _encode_frames(self, frames: list[bytes]) -> bytes:
        """Return what to send for frames, the last of which is the one at `_at`."""
        if self._modes is None:
            return b"".join(frames)
        return b"".join(item for item in frames if _mode_of(item) in self._modes)

    def _encode_notice(self, event: str) -> bytes:
        """Return an event that is not in the log."""
        return encode_frame(event, dumps({"run_id": self._run_id, "status": self._status()}), None)


def _mode_of(sent: bytes) -> str:
    return event_name(sent).partition("|")[0].partition("/")[0]


def _event_names(modes: Collection[str]) -> frozenset[str]:
    names = {"messages" if mode == "messages-tuple" else mode for mode in modes}
    return frozenset(names | {"metadata", "error", "end", "gap"})
