"""Streaming cards: whole texts with an increasing sequence, one call at a time per card.

A card streams for ten minutes after its streaming mode was opened (CardKit; 200850, then 300309 on every
update). A card that is written to longer than that is closed and opened again before, and one that nobody
writes to any more is closed with its full text, so that none is left "generating".
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot.clock import Clock
from bot.core.rate_limits import SlidingWindow
from bot.core.recent_values import RecentValues
from bot.domain import Mention, ProgressItem, ReplyAddress
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.feishu import requests
from bot.platforms.feishu.cards import (
    CHOICES,
    PROGRESS,
    TEXT,
    build_card,
    build_panel,
    choice_element,
    dump_json,
    fit_panel,
)
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.errors import (
    BAD_SEQUENCE,
    CARD_CLOSED,
    IN_INTERACTION,
    RECALLED,
    FeishuError,
    FeishuRefused,
    FeishuUnreached,
    is_card_refused,
)
from bot.platforms.feishu.renderer import card_markdown
from bot.platforms.feishu.sdk import BaseRequest

log = structlog.get_logger(__name__)

ROTATE_SECONDS = 480.0
"""Two minutes before the platform would end the stream."""
ABANDONED_SECONDS = 900.0
"""A stream that got no new text and no final for so long is closed; the next text opens it again."""
AGAIN_SECONDS = 6.0
"""Until a call that keeps or closes a stream is made again when Feishu was not reached."""
INTERACTION_PAUSES = (0.2, 0.4, 0.8, 1.6)
"""Seconds between the attempts to change a card that is in an interaction; together they outlast the three
seconds within which an app answers a click (card callback communication)."""
CARD_OPERATIONS = 10
"""Calls about one card in a second (open.feishu.cn, cardkit-v1 streaming overview)."""
_TICKS = 10
"""A card takes ten operations a second, so tenths of a second always rise faster than its sequence."""
_LAST = 2**31 - 1
_JUMP = 1_000_000
_KEPT = 512
Steps = tuple[ProgressItem, ...]


@dataclass(slots=True)
class FeishuStream:
    """A card being written; `shown` is its displayed text (None: unknown), `steps` those in its panel."""

    card_id: str
    address: ReplyAddress
    window: SlidingWindow
    shown: str | None
    steps: Steps = ()
    opened_at: float = 0.0
    touched_at: float = 0.0
    sequence: int = 0
    live: bool = True
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class FeishuStreams:
    """Streaming cards of an account. Raises the client's exceptions."""

    def __init__(self, client: FeishuClient, clock: Clock, *, scale: float = 1.0) -> None:
        self.rotations = 0
        self.abandoned = 0
        self.signs = ChoiceMarkers()
        self._client = client
        self._clock = clock
        self._rotate = ROTATE_SECONDS * scale
        self._abandoned = ABANDONED_SECONDS * scale
        self._again = AGAIN_SECONDS * scale
        self._scale = scale
        self._streams: OrderedDict[str, FeishuStream] = OrderedDict()
        self._recalled: RecentValues[bool] = RecentValues(_KEPT)
        self._chosen: list[tuple[str, str, ReplyAddress]] = []
        self._changed = asyncio.Event()
        self._clicked = asyncio.Event()

    async def create(self, text: str, address: ReplyAddress, steps: Steps = ()) -> FeishuStream:
        """Create a streaming card entity, which is visible once it is sent."""
        steps = fit_panel(text, steps)
        card = dump_json(build_card(text, address, streaming=True, progress=steps))
        answer = await self._client.send(requests.create_card(card))
        now = self._clock.now()
        return FeishuStream(str(answer.data.get("card_id")), address, self._window(), text, steps, now, now)

    def remember(self, message_id: str, stream: FeishuStream) -> None:
        """Record the message that shows a card."""
        self._streams[message_id] = stream
        while len(self._streams) > _KEPT:
            idle = next((known for known, one in self._streams.items() if not one.live), None)
            if idle is None:
                break
            del self._streams[idle]
        self._changed.set()

    async def extend(self, message_id: str, text: str, address: ReplyAddress, steps: Steps = ()) -> None:
        """Show a newer text, and the agent's steps, in one call."""
        steps = fit_panel(text, steps)
        self._raise_if_recalled(message_id)
        stream = await self._find_stream(message_id, address)
        async with stream.lock:
            await self._show_frame(stream, text, steps)

    async def finish(
        self,
        message_id: str,
        text: str,
        address: ReplyAddress,
        choices: Sequence[str] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        """Show the final text, with its choices in place of the stop button, and stop streaming."""
        self._raise_if_recalled(message_id)
        stream = await self._find_stream(message_id, address)
        async with stream.lock:
            await self._close_stream(stream, text, choices, mentions)
        # Its sequence is still needed if the message changes soon.
        stream.shown = None

    def is_streaming(self, message_id: str) -> bool:
        """Return whether a message's card is streaming, or may be since an earlier connection."""
        stream = self._streams.get(message_id)
        return stream is None or stream.live

    def forget(self, message_id: str) -> None:
        """Drop the card of a deleted message."""
        self._streams.pop(message_id, None)

    def _raise_if_recalled(self, message_id: str) -> None:
        """Raise the error that Feishu returns for other calls on a recalled message."""
        if message_id in self._recalled:
            raise FeishuRefused(400, RECALLED, "The message was withdrawn.")

    def note_recall(self, message_id: str) -> None:
        """Record a recalled message, whose card still accepts invisible text."""
        self.forget(message_id)
        self._recalled.put(message_id, True)

    def queue_choice(self, message_id: str, choice: str, address: ReplyAddress) -> None:
        """Queue a stored click, which replaces the buttons by the choice."""
        self._chosen.append((message_id, choice, address))
        del self._chosen[:-_KEPT]
        self._clicked.set()

    async def run(self) -> None:
        """Maintain the streams until cancelled: reopen long-lived ones, close abandoned ones."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_streams(), name="feishu-streams-keep")
            group.create_task(self._show_choices(), name="feishu-streams-settle")

    async def _show_choices(self) -> None:
        while True:
            self._clicked.clear()
            while self._chosen:
                message_id, choice, address = self._chosen.pop(0)
                try:
                    await self._show_choice(message_id, choice, address)
                except FeishuError as problem:
                    # It costs nothing but the sign: the answer is on its way.
                    log.info("feishu.choice_not_shown", reason=str(problem))
            await self._clicked.wait()

    async def _show_choice(self, message_id: str, choice: str, address: ReplyAddress) -> None:
        async with self.signs.claim_marker(message_id) as due:
            if not due:
                return
            stream = await self._find_stream(message_id, address)
            async with stream.lock:
                element = dump_json(choice_element(choice))
                await self._operate(
                    stream, partial(requests.replace_element, element_id=CHOICES, element=element)
                )

    async def _keep_streams(self) -> None:
        while True:
            self._changed.clear()
            due = min(
                (self._due_at(stream) for stream in self._streams.values() if stream.live), default=None
            )
            if due is None:
                await self._changed.wait()
            elif due > (now := self._clock.now()):
                await self._clock.sleep(due - now)
            else:
                await self._tend_due()

    def _due_at(self, stream: FeishuStream) -> float:
        return min(stream.opened_at + self._rotate, stream.touched_at + self._abandoned)

    async def _tend_due(self) -> None:
        now = self._clock.now()
        for stream in [one for one in self._streams.values() if one.live and self._due_at(one) <= now]:
            try:
                async with stream.lock:
                    await self._tend_one(stream)
            except FeishuUnreached as problem:
                # It may still stream, so it is tried again.
                stream.touched_at = max(stream.touched_at, now - self._abandoned + self._again)
                stream.opened_at = max(stream.opened_at, now - self._rotate + self._again)
                log.info("feishu.stream_not_kept", reason=str(problem))
            except FeishuError as problem:
                # The next text, or the final, settles it; the platform ends the stream in any case.
                stream.live = False
                log.info("feishu.stream_not_kept", reason=str(problem))

    async def _tend_one(self, stream: FeishuStream) -> None:
        now = self._clock.now()
        if not stream.live or self._due_at(stream) > now:
            return
        if stream.touched_at + self._abandoned <= now and stream.shown is not None:
            await self._close_stream(stream, stream.shown)
            self.abandoned += 1
        else:
            await self._set_streaming(stream, streaming=False)
            await self._set_streaming(stream, streaming=True)
            self.rotations += 1

    async def _find_stream(self, message_id: str, address: ReplyAddress) -> FeishuStream:
        """Return a message's card, shared by all calls because its sequence must increase across them."""
        if message_id in self._streams:
            return self._streams[message_id]
        adopted = await self._adopt(message_id, address)
        # Another call may have adopted it meanwhile.
        stream = self._streams.get(message_id, adopted)
        self.remember(message_id, stream)
        return stream

    async def _adopt(self, message_id: str, address: ReplyAddress) -> FeishuStream:
        """Return the card of a message that was sent by an earlier process, or as a whole."""
        answer = await self._client.send(requests.find_card(message_id))
        now = self._clock.now()
        return FeishuStream(
            str(answer.data.get("card_id")), address, self._window(), None, (), now, now, live=False
        )

    def _window(self) -> SlidingWindow:
        return SlidingWindow(CARD_OPERATIONS, 1.0, scale=self._scale)

    async def _show_frame(self, stream: FeishuStream, text: str, steps: Steps) -> None:
        """Show the changes: a text change alone is displayed as if typed, a panel change alone updates its
        element (open.feishu.cn, "Streaming card updates").
        """
        if not stream.live or (steps != stream.steps and not self._is_panel_alone(stream, text, steps)):
            await self._replace_card(stream, text, streaming=True, steps=steps)
            return
        try:
            if steps == stream.steps:
                await self._update_text(stream, text)
            else:
                await self._update_panel(stream, steps)
        except FeishuRefused as refused:
            if refused.code not in CARD_CLOSED:
                raise
            stream.live = False
            await self._replace_card(stream, text, streaming=True, steps=steps)

    def _is_panel_alone(self, stream: FeishuStream, text: str, steps: Steps) -> bool:
        return bool(stream.steps and steps) and text == stream.shown

    async def _close_stream(
        self,
        stream: FeishuStream,
        text: str,
        choices: Sequence[str] = (),
        mentions: Sequence[Mention] = (),
    ) -> None:
        if stream.live:
            try:
                await self._set_streaming(stream, streaming=False)
            except FeishuRefused as refused:
                if not is_card_refused(refused):
                    raise
                log.info("feishu.stream_not_closed", code=refused.code)
        await self._replace_card(stream, text, streaming=False, choices=choices, mentions=mentions)

    async def _replace_card(
        self,
        stream: FeishuStream,
        text: str,
        *,
        streaming: bool,
        choices: Sequence[str] = (),
        mentions: Sequence[Mention] = (),
        steps: Steps = (),
    ) -> None:
        """Replace the whole card."""
        card = build_card(
            text, stream.address, streaming=streaming, choices=choices, mentions=mentions, progress=steps
        )
        whole = dump_json(card)
        await self._operate(stream, partial(requests.replace_card, data=whole))
        stream.steps = steps
        self._note_shown(stream, text)
        if streaming and not stream.live:
            stream.opened_at = self._clock.now()
        stream.live = streaming
        self._changed.set()

    async def _update_text(self, stream: FeishuStream, text: str) -> None:
        content = card_markdown(text)
        await self._operate(stream, partial(requests.write_element, element_id=TEXT, content=content))
        self._note_shown(stream, text)

    async def _update_panel(self, stream: FeishuStream, steps: Steps) -> None:
        element = dump_json(build_panel(steps))
        await self._operate(stream, partial(requests.replace_element, element_id=PROGRESS, element=element))
        stream.steps = steps
        stream.touched_at = self._clock.now()

    async def _set_streaming(self, stream: FeishuStream, *, streaming: bool) -> None:
        settings = dump_json({"config": {"streaming_mode": streaming}})
        await self._operate(stream, partial(requests.change_card_settings, settings=settings))
        stream.live = streaming
        if streaming:
            stream.opened_at = self._clock.now()

    async def _operate(self, stream: FeishuStream, build: Callable[[str, int], BaseRequest]) -> None:
        """Perform one operation on a card; `build` receives its id and the next sequence.

        A sequence that is too low is tried once more with a much higher one: that happens after an unknown
        outcome, or a clock that was set back. A card that somebody has just clicked is tried again for as
        long as Feishu may wait for the answer to the click.
        """
        for pause in (*INTERACTION_PAUSES, None):
            try:
                await self._call(stream, build)
            except FeishuRefused as refused:
                if refused.code == BAD_SEQUENCE:
                    stream.sequence += _JUMP
                    await self._call(stream, build)
                elif refused.code == IN_INTERACTION and pause is not None:
                    await self._clock.sleep(pause)
                    continue
                else:
                    raise
            return

    async def _call(self, stream: FeishuStream, build: Callable[[str, int], BaseRequest]) -> None:
        """Make a call about a card as soon as its rate limit allows."""
        now = self._clock.now()
        while (at := stream.window.ready_at(now)) > now:
            await self._clock.sleep(at - now)
            now = self._clock.now()
        stream.window.count_start(now)
        try:
            await self._client.send(build(stream.card_id, self._next_sequence(stream)))
        finally:
            stream.window.count_end(now, self._clock.now())

    def _note_shown(self, stream: FeishuStream, text: str) -> None:
        stream.shown = text
        stream.touched_at = self._clock.now()

    def _next_sequence(self, stream: FeishuStream) -> int:
        """Return a sequence higher than all previous ones, including an earlier process's."""
        ticks = int(self._clock.now() * _TICKS) % (_LAST - 2 * _JUMP) + 1
        stream.sequence = max(stream.sequence + 1, ticks)
        return stream.sequence
