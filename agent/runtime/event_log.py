"""The events of one run: written to the log, then shown to its readers, with a bounded tail in memory.

A frame is one server-sent event as bytes. The frames of an attempt are numbered from 1 without gaps. For a
resumable run a frame is visible to readers only after the log has it; other runs keep no log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from agent.runtime.ids import EventId
from agent.runtime.settings import LogSettings
from agent.runtime.store import EventLog
from agent.runtime.transactions import Chunk


def frame(event: str, data: bytes, event_id: EventId | None) -> bytes:
    """One server-sent event."""
    head = b"event: " + event.encode() + b"\r\ndata: " + data + b"\r\n"
    return head + b"\r\n" if event_id is None else b"%bid: %d-%d\r\n\r\n" % (head, *event_id)


def event_name(sent: bytes) -> str:
    """The event's name in a frame."""
    return sent[7 : sent.index(b"\r\n")].decode()


def split_frames(body: bytes) -> list[bytes]:
    """The frames in a chunk of the log (no frame's data holds a line break)."""
    return [piece + b"\r\n\r\n" for piece in body.split(b"\r\n\r\n")[:-1]]


class RunChannel:
    """Where a run's events go in, and where its readers take them from."""

    def __init__(self, run_id: str, *, resumable: bool, log: EventLog, settings: LogSettings) -> None:
        self.run_id = run_id
        self.resumable = resumable
        self.attempt = 0
        self.readers = 0
        self.closed = False
        self._log = log
        self._settings = settings
        self._seq = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._writing = False
        self._timer: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0
        self._sealed = False
        self._failure: BaseException | None = None
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._first = 1
        self._changed: set[asyncio.Future[None]] = set()
        self.on_logged: Callable[[int], None] | None = None

    def begin(self, attempt: int) -> None:
        """The frames that follow belong to this attempt."""
        self.attempt = attempt
        self._seq = 0
        self._first = 1
        self._tail.clear()
        self._tail_bytes = 0

    @property
    def wanted(self) -> bool:
        """Whether anybody will ever see an event emitted now."""
        return self.resumable or self.readers > 0

    @property
    def head(self) -> EventId:
        """The newest visible event."""
        return EventId(self.attempt, self._first + len(self._tail) - 1)

    def emit(self, event: str, data: bytes) -> None:
        """Queue an event: to the log first where there is one."""
        if self._sealed:
            return
        made = self._make(event, data)
        self._pending.append(made)
        self._pending_bytes += len(made)
        if not (self._writing or self._timer):
            self._schedule()

    def seal(self, event: str, data: bytes) -> tuple[list[bytes], Chunk | None]:
        """Take what is queued plus a last event, for a transaction that writes them; then `show` them."""
        self._sealed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return self.first(event, data)

    def first(self, event: str, data: bytes) -> tuple[list[bytes], Chunk | None]:
        """As `seal`, but more may follow."""
        self._pending.append(self._make(event, data))
        return self._take()

    def _make(self, event: str, data: bytes) -> bytes:
        self._seq += 1
        return frame(event, data, EventId(self.attempt, self._seq) if self.resumable else None)

    def _take(self) -> tuple[list[bytes], Chunk | None]:
        frames, self._pending, self._pending_bytes = self._pending, [], 0
        if not self.resumable:
            return frames, None
        return frames, Chunk(self.attempt, self._seq - len(frames) + 1, self._seq, b"".join(frames))

    async def written(self) -> None:
        """Wait until no write is on its way; what is queued stays so. Raises what writing raised."""
        self._sealed = True
        while self._writing:
            await self.change()
        if self._failure is not None:
            raise self._failure

    async def room(self) -> None:
        """Wait while too much is queued, so that a graph can't outrun the log. Raises what that raised."""
        while self._failure is None and self._pending_bytes > self._settings.pending_bytes:
            await self.change()
        if self._failure is not None:
            raise self._failure

    @property
    def crowded(self) -> bool:
        """Whether `room` would wait or raise."""
        return self._pending_bytes > self._settings.pending_bytes or self._failure is not None

    def close(self) -> None:
        """No event follows in this process."""
        self.closed = True
        self._wake()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        wait = self._flushed_at + self._settings.flush_every - loop.time()
        if wait > 0:
            self._timer = loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        self._flushed_at = asyncio.get_running_loop().time()
        frames, chunk = self._take()
        if chunk is None:
            self.show(frames)
            return
        self._writing = True
        self._log.append(self.run_id, chunk, partial(self._written, frames))

    def _written(self, frames: list[bytes], _result: Any, error: BaseException | None) -> None:
        self._writing = False
        if error is not None:
            self._failure = error
            self._wake()
            return
        self.show(frames)
        if self.on_logged is not None:
            self.on_logged(len(frames))
        if self._pending and not self._sealed:
            self._schedule()

    def show(self, frames: list[bytes]) -> None:
        """Make frames visible that are in the log (or whose run has none)."""
        self._tail.extend(frames)
        self._tail_bytes += sum(map(len, frames))
        limit = self._settings.tail_bytes if self.resumable else self._settings.live_tail_bytes
        if not (self.resumable or self.readers):
            limit = 0
        if self._tail_bytes > limit:
            self._trim(limit // 2)
        self._wake()

    def _trim(self, limit: int) -> None:
        gone = 0
        while self._tail_bytes > limit and gone < len(self._tail):
            self._tail_bytes -= len(self._tail[gone])
            gone += 1
        del self._tail[:gone]
        self._first += gone

    def after(self, seq: int) -> list[bytes] | None:
        """Visible frames after `seq` of this attempt; None when some of them are no longer in memory."""
        start = seq + 1 - self._first
        return None if start < 0 else self._tail[start:]

    async def change(self, seconds: float | None = None) -> bool:
        """Wait for something new; False when `seconds` passed first."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.add(waiter)
        try:
            done, _ = await asyncio.wait([waiter], timeout=seconds)
            return bool(done)
        finally:
            self._changed.discard(waiter)

    def _wake(self) -> None:
        for waiter in self._changed:
            if not waiter.done():
                waiter.set_result(None)
