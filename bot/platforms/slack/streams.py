"""Native streams behind whole-text edits: only text that is not displayed yet is sent.

An append of unknown outcome, a text that is not continued, a stream that Slack has ended: each ends the
stream, and the message goes on with whole-text updates. What the agent works on is in the stream as Slack's
own tasks; none of them is left in progress when it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import structlog

from bot.clock import Clock
from bot.domain import OutboundMessage
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.slack.client import SlackWebApi, StreamOver
from bot.platforms.slack.method_limits import StreamBudget
from bot.platforms.slack.sessions import PROCESSING, SlackSessions
from bot.platforms.slack.task_list import TaskList, end_tasks, growth_chunks, may_follow, merge_tasks

log = structlog.get_logger(__name__)

ROTATE_AFTER = 240.0
"""Seconds after which a stream is ended by us: Slack does it after five minutes
(slackapi/python-slack-sdk#1859)."""


@dataclass(eq=False, slots=True)
class SlackStream:
    """An open stream. `certain` False: it is unknown how much of the last text arrived. `shorter` is the last
    requested text if more than that is displayed, because a stream can't retract text. `newest` is the last
    text it was set to.
    """

    chat: str
    ts: str
    key: str
    newest: OutboundMessage
    shown: str
    listed: TaskList = ()
    is_certain: bool = True
    ended: bool = False
    shorter: OutboundMessage | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.Task[None] | None = None

    @property
    def turn(self) -> str:
        """Return the turn that the stream belongs to."""
        return self.key.partition(":")[0]


class SlackStreams:
    """The open streams of one account. `scale` multiplies Slack's periods."""

    def __init__(
        self,
        calls: SlackWebApi,
        sessions: SlackSessions,
        clock: Clock,
        group: asyncio.TaskGroup,
        scale: float = 1.0,
    ) -> None:
        self.budget = StreamBudget(scale)
        self._web_api = calls
        self._sessions = sessions
        self._clock = clock
        self._group = group
        self._life = ROTATE_AFTER * scale
        self._open: dict[tuple[str, str], SlackStream] = {}
        self.overlong: dict[tuple[str, str], OutboundMessage] = {}
        """Ended streams that show more than they should, with the text that was asked for."""
        self.no_tasks = False
        """Whether Slack has refused tasks, as it does to an app that is no agent there."""
        self.on_rotated: Callable[[OutboundMessage, str], Awaitable[None]] | None = None
        """Called with a message and its ts whose stream was ended while work in it was in progress."""

    @property
    def count(self) -> int:
        """Number of open streams."""
        return len(self._open)

    def may_open(self) -> bool:
        """Return whether the rate limit allows another stream."""
        return self.budget.may_start(self._clock.now(), self.count)

    def get(self, chat: str, ts: str) -> SlackStream | None:
        """Return the open stream of a message."""
        return self._open.get((chat, ts))

    async def open_stream(self, message: OutboundMessage, recipient: tuple[str, str]) -> str:
        """Open a growing message; return its ts. If Slack refuses tasks, it starts without them."""
        listed = message.progress if may_follow(message.text) and not self.no_tasks else ()
        try:
            ts = await self._start_stream(message, listed, recipient)
        except DeliveryError as error:
            if not listed or error.category is not DeliveryCategory.INVALID_PAYLOAD:
                raise
            ts = await self._start_stream(message, (), recipient)
            self._refuse_tasks(error)
            listed = ()
        stream = SlackStream(message.address.chat, ts, message.key, message, message.text, listed)
        self._open[stream.chat, ts] = stream
        self._sessions.note_status(message.address, PROCESSING)
        stream.timer = self._group.create_task(self._rotate_stream(stream), name=f"slack-stream:{ts}")
        return ts

    async def _start_stream(
        self, message: OutboundMessage, listed: TaskList, recipient: tuple[str, str]
    ) -> str:
        began = self._clock.now()
        self.budget.record_start(began)
        try:
            return await self._web_api.start_stream(
                message.address, growth_chunks(message.text, (), listed), recipient
            )
        finally:
            self.budget.record_start_end(began, self._clock.now())

    async def show_message(self, stream: SlackStream, message: OutboundMessage) -> bool:
        """Update a stream to `message`; return False if the whole text must be overwritten instead.

        Raises RateLimited, and what ending the stream raises.
        """
        async with stream.lock:
            if stream.ended:
                return False
            text = message.text
            listed = end_tasks(stream.listed) if self.no_tasks else _next_tasks(stream, message)
            goes_on = stream.is_certain and listed is not None
            if listed is not None and goes_on and text.startswith(stream.shown):
                if await self._append(stream, message, listed):
                    return True
            elif goes_on and not message.final and stream.shown.startswith(text):
                return await self._keep_longer_text(stream, message)
            await self._end_stream(stream)
            return False

    async def _keep_longer_text(self, stream: SlackStream, message: OutboundMessage) -> bool:
        """Show the tasks of a message whose text is shorter than the displayed one; return False on
        failure.
        """
        shown = replace(message, text=stream.shown)
        listed = _next_tasks(stream, shown)
        if listed is None or not await self._append(stream, shown, listed):
            await self._end_stream(stream)
            return False
        stream.newest = stream.shorter = message
        return True

    async def finish_stream(self, stream: SlackStream) -> None:
        """Close a stream in its current state."""
        async with stream.lock:
            await self._end_stream(stream)

    async def finish_other_parts(self, message: OutboundMessage) -> None:
        """Close the streams of the turn's other parts, which are final."""
        turn = message.key.partition(":")[0]
        for stream in list(self._open.values()):
            if stream.turn == turn and stream.key != message.key:
                await self.finish_stream(stream)

    async def _append(self, stream: SlackStream, message: OutboundMessage, listed: TaskList) -> bool:
        """Send new text and tasks; return False if that is not permitted."""
        chunks = growth_chunks(message.text[len(stream.shown) :], stream.listed, listed)
        try:
            if message.final:
                status = self._sessions.status_after(message)
                if await self._web_api.stop_stream(
                    stream.chat, stream.ts, stream.key, chunks, message.choices, status, rated=message.rated
                ):
                    self._sessions.note_status(message.address, status)
                stream.shorter = None
                self._drop(stream)
            elif chunks:
                await self._web_api.append_to_stream(stream.chat, stream.ts, chunks)
        except RateLimited:
            raise
        except StreamOver:
            self._drop(stream)
            return False
        except DeliveryError as error:
            stream.is_certain = False
            log.info("slack.stream_unsure", category=error.category.value)
            if error.category is DeliveryCategory.INVALID_PAYLOAD and listed and not stream.listed:
                self._refuse_tasks(error)
            return False
        stream.newest, stream.shown, stream.listed, stream.shorter = message, message.text, listed, None
        return True

    def _refuse_tasks(self, error: DeliveryError) -> None:
        log.warning("slack.no_tasks", reason=error.detail)
        self.no_tasks = True

    async def _end_stream(self, stream: SlackStream) -> None:
        if stream.ended:
            return
        try:
            chunks = growth_chunks("", stream.listed, end_tasks(stream.listed))
            status = self._sessions.status_after(replace(stream.newest, final=False))
            await self._web_api.stop_stream(stream.chat, stream.ts, stream.key, chunks, (), status)
        except StreamOver:
            pass
        except DeliveryError as error:
            error.unknown_outcome = False  # ending a stream twice shows nothing twice
            raise
        self._drop(stream)

    def _drop(self, stream: SlackStream) -> None:
        stream.ended = True
        if stream.shorter is not None:
            self.overlong[stream.chat, stream.ts] = stream.shorter
        self._open.pop((stream.chat, stream.ts), None)
        self.budget.record_stop(self._clock.now())
        if stream.timer is not None and stream.timer is not asyncio.current_task():
            stream.timer.cancel()

    async def _rotate_stream(self, stream: SlackStream) -> None:
        """Close the stream before Slack does; later edits replace the whole text."""
        await self._clock.sleep(self._life)
        place = stream.chat, stream.ts
        try:
            async with stream.lock:
                if stream.ended:
                    return
                await self._end_stream(stream)
                log.info("slack.stream_rotated")
                if self.on_rotated is not None and end_tasks(stream.listed) != stream.listed:
                    self._open[place] = stream  # an edit waits until this one is made
                    await self.on_rotated(stream.newest, stream.ts)
        except DeliveryError as error:
            log.info("slack.rotation_failed", category=error.category.value)
        finally:
            if stream.ended:
                self._open.pop(place, None)


def _next_tasks(stream: SlackStream, message: OutboundMessage) -> TaskList | None:
    """Return the stream's next list of tasks; None if the stream can't display it."""
    if not stream.listed and (message.final or not may_follow(message.text)):
        return ()
    listed = merge_tasks(stream.listed, message.progress)
    return end_tasks(listed) if listed is not None and message.final else listed
