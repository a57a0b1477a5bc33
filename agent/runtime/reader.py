"""Reading a run's events from any point: the log first, then the live tail, without gap or repeat."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection

from agent.runtime.encode import dumps
from agent.runtime.event_log import RunChannel, event_name, frame, split_frames
from agent.runtime.ids import START, EventId
from agent.runtime.store import EventLog

HEARTBEAT = b": heartbeat\r\n\r\n"
CHUNKS = 64
"""Pieces of the log read at once."""


class EventReader:
    """One reader of one run. Iterate `batches()`; each item is bytes to send as they are."""

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
    ) -> None:
        """`channel` is None for a run that has ended.

        `after` is the last event that the reader has (None: from now on); `counted` says that the channel
        counts this reader already.
        """
        self._run_id = run_id
        self._channel = channel
        self._log = log
        self._heartbeat = heartbeat
        self._status = status
        self._modes = None if modes is None else _names_of(modes)
        self._gap = False
        self._ended = False
        self._live_only = after is None
        self._at = after or (channel.head if channel is not None else START)
        if channel is not None and not counted:
            channel.readers += 1

    def close(self) -> None:
        """The reader is gone; to be called once, whatever happened."""
        if self._channel is not None:
            self._channel.readers -= 1

    async def check(self, after: EventId | None, *, unknown: bool) -> None:
        """Find out whether the log still has the event that the reader names; if not, it gets a `gap`."""
        if unknown or (after is not None and after != START and not await self._knows(after)):
            self._gap = True
            self._at = self._channel.head if self._channel is not None else START
            self._live_only = True

    async def _knows(self, after: EventId) -> bool:
        channel = self._channel
        if channel is not None and after.attempt == channel.attempt:
            return channel.resumable and after <= channel.head
        return await self._log.has_event(self._run_id, after)

    async def batches(self) -> AsyncIterator[bytes]:
        """What to send, until the run's events end."""
        if self._gap:
            yield self._gap_frame()
        follow = self._history() if self._channel is None else self._follow(self._channel)
        async for batch in follow:
            yield batch

    async def _history(self) -> AsyncIterator[bytes]:
        """The log of an ended run, then `end` unless the reader has it; a `gap` if it is pruned now."""
        if not self._live_only:
            async for batch in self._from_log():
                yield batch
        if self._ended:
            return
        if not self._live_only and self._at != START:
            if await self._log.has_event(self._run_id, self._at):
                return
            yield self._gap_frame()
        yield frame("end", dumps({"run_id": self._run_id, "status": self._status()}), None)

    async def _follow(self, channel: RunChannel) -> AsyncIterator[bytes]:
        while True:
            closed = channel.closed
            if channel.attempt and not self._in_memory(channel):
                before = self._at
                async for batch in self._from_log():
                    yield batch
                if self._at == before:
                    self._at = channel.head
                    yield self._gap_frame()
                continue
            if channel.attempt and (frames := channel.after(self._at.seq)):
                self._at = EventId(channel.attempt, self._at.seq + len(frames))
                if batch := self._chosen(frames):
                    yield batch
                continue
            if closed:
                return
            if not await channel.change(self._heartbeat):
                yield HEARTBEAT

    def _in_memory(self, channel: RunChannel) -> bool:
        if self._at.attempt != channel.attempt:
            if channel.attempt > 1 and channel.resumable and not self._live_only:
                return False
            self._at = EventId(channel.attempt, 0)
        return channel.after(self._at.seq) is not None

    async def _from_log(self) -> AsyncIterator[bytes]:
        """All that the log holds now after where the reader is; steps to the current attempt at its end."""
        while chunks := await self._log.read_events(self._run_id, self._at, CHUNKS):
            frames: list[bytes] = []
            for chunk in chunks:
                have = self._at.seq if chunk.attempt == self._at.attempt else 0
                frames += split_frames(chunk.body)[max(0, have + 1 - chunk.first) :]
                self._at = EventId(chunk.attempt, chunk.last)
                self._ended = frames[-1:] != [] and event_name(frames[-1]) == "end"
            if batch := self._chosen(frames):
                yield batch
        if self._channel is not None and self._at.attempt < self._channel.attempt:
            self._at = EventId(self._channel.attempt, 0)

    def _chosen(self, frames: list[bytes]) -> bytes:
        if self._modes is None:
            return b"".join(frames)
        return b"".join(
            made for made in frames if event_name(made).split("|")[0].split("/")[0] in self._modes
        )

    def _gap_frame(self) -> bytes:
        return frame("gap", dumps({"run_id": self._run_id, "status": self._status()}), None)


def _mode_of(sent: bytes) -> str:
    return event_name(sent).partition("|")[0].partition("/")[0]


def _names_of(modes: Collection[str]) -> frozenset[str]:
    names = {"messages" if mode == "messages-tuple" else mode for mode in modes}
    return frozenset(names | {"metadata", "error", "end", "gap"})
