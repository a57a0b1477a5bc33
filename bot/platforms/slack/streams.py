"""Native streams behind whole-text edits: what is shown is known, only what is new is sent.

An append of unknown outcome, a text that is not continued, a stream that Slack has ended: each ends the
stream, and the message goes on with whole-text updates.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog

from bot.clock import Clock
from bot.domain import OutboundMessage
from bot.errors import DeliveryError, RateLimited
from bot.platforms.slack.budgets import StreamBudget
from bot.platforms.slack.calls import Calls, StreamOver

log = structlog.get_logger(__name__)

ROTATE_AFTER = 240.0
"""Seconds after which a stream is ended by us: Slack does it after five minutes
(slackapi/python-slack-sdk#1859)."""


@dataclass(eq=False, slots=True)
class Stream:
    """An open stream. `certain` False: how much of the last text arrived is not known. `shorter` is the text
    that was asked for last where more than that is shown: a stream takes nothing back.
    """

    chat: str
    ts: str
    key: str
    shown: str
    certain: bool = True
    ended: bool = False
    shorter: OutboundMessage | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.Task[None] | None = None

    @property
    def turn(self) -> str:
        """The turn that it belongs to."""
        return self.key.partition(":")[0]


class Streams:
    """The open streams of one account. `scale` multiplies Slack's periods."""

    def __init__(self, calls: Calls, clock: Clock, group: asyncio.TaskGroup, scale: float = 1.0) -> None:
        self.budget = StreamBudget(scale)
        self._calls = calls
        self._clock = clock
        self._group = group
        self._life = ROTATE_AFTER * scale
        self._open: dict[tuple[str, str], Stream] = {}
        self.ahead: dict[tuple[str, str], OutboundMessage] = {}
        """Ended streams that show more than they should, with the text that was asked for."""

    @property
    def count(self) -> int:
        """How many are open."""
        return len(self._open)

    def may_open(self) -> bool:
        """Whether the budget has room for one more."""
        return self.budget.may_start(self._clock.now(), self.count)

    def get(self, chat: str, ts: str) -> Stream | None:
        """The open stream of a message."""
        return self._open.get((chat, ts))

    async def open(self, message: OutboundMessage, recipient: tuple[str, str]) -> str:
        """Begin a message that grows; its ts."""
        began = self._clock.now()
        self.budget.starting(began)
        try:
            ts = await self._calls.start(message.address, message.text, recipient)
        finally:
            self.budget.started(began, self._clock.now())
        stream = Stream(message.address.chat, ts, message.key, message.text)
        self._open[stream.chat, ts] = stream
        stream.timer = self._group.create_task(self._rotate(stream), name=f"slack-stream:{ts}")
        return ts

    async def show(self, stream: Stream, message: OutboundMessage) -> bool:
        """Bring a stream to `message`; False where the whole text has to be written over it instead.

        Raises RateLimited, and what ending the stream raises.
        """
        async with stream.lock:
            if stream.ended:
                return False
            text = message.text
            goes_on = stream.certain and text.startswith(stream.shown)
            if goes_on and await self._extend(stream, message):
                return True
            if not message.final and stream.certain and stream.shown.startswith(text):
                stream.shorter = message
                return True
            await self._end(stream)
            return False

    async def finish(self, stream: Stream) -> None:
        """End a stream as it stands."""
        async with stream.lock:
            await self._end(stream)

    async def finish_before(self, message: OutboundMessage) -> None:
        """End the streams of the other parts of the same turn: they stand as they will stay."""
        turn = message.key.partition(":")[0]
        for stream in list(self._open.values()):
            if stream.turn == turn and stream.key != message.key:
                await self.finish(stream)

    async def _extend(self, stream: Stream, message: OutboundMessage) -> bool:
        """Send what is new; False where that is not certain to have been shown."""
        delta = message.text[len(stream.shown) :]
        try:
            if message.final:
                await self._calls.end(stream.chat, stream.ts, delta, stream.key, message.choices)
                stream.shorter = None
                self._forget(stream)
            elif delta:
                await self._calls.append(stream.chat, stream.ts, delta)
        except RateLimited:
            raise
        except StreamOver:
            self._forget(stream)
            return False
        except DeliveryError as error:
            stream.certain = False
            log.info("slack.stream_unsure", category=error.category.value)
            return False
        stream.shown, stream.shorter = message.text, None
        return True

    async def _end(self, stream: Stream) -> None:
        if stream.ended:
            return
        try:
            await self._calls.end(stream.chat, stream.ts, "", stream.key)
        except StreamOver:
            pass
        except DeliveryError as error:
            error.unknown_outcome = False  # ending a stream twice shows nothing twice
            raise
        self._forget(stream)

    def _forget(self, stream: Stream) -> None:
        stream.ended = True
        if stream.shorter is not None:
            self.ahead[stream.chat, stream.ts] = stream.shorter
        self._open.pop((stream.chat, stream.ts), None)
        self.budget.stopped(self._clock.now())
        if stream.timer is not None and stream.timer is not asyncio.current_task():
            stream.timer.cancel()

    async def _rotate(self, stream: Stream) -> None:
        """End the stream before Slack does; the message goes on by updates."""
        await self._clock.sleep(self._life)
        try:
            await self.finish(stream)
            log.info("slack.stream_rotated")
        except DeliveryError as error:
            log.info("slack.rotation_failed", category=error.category.value)
