"""The reply while it grows: paced frames of the newest text, and typing before the first of them.

A frame is taken from the newest text at the moment when the budget grants it, so there are no stale ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from agent.shared.aio import shielded, wait_first
from bot.dispatch.pacing.typing_indicator import TYPING_EVERY, show_typing
from bot.dispatch.reply.lookahead import likely
from bot.dispatch.reply.sender import ReplyCalls
from bot.dispatch.reply.state import TAKEN_BACK, Action, Edit, Post
from bot.domain import OutboundMessage, PartState, ProgressItem
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import ChoosesFrames, Operation, ShowsProgress, StreamsDrafts
from bot.render.progress import checklist
from bot.render.renderer import Splitter

log = structlog.get_logger(__name__)

# Typing shows when nothing else did that long after the message was accepted (seconds).
TYPING_AFTER = 0.1
# A turn older than that waited for another one to end, not for the service.
QUEUED_AFTER = 1.0
AFTER_FAILURE = 2.0
# An answer that is complete within this time after its first word is posted whole, without a frame before it.
AT_ONCE = 0.25
# What the agent works on shows when the run has lasted that long (seconds).
PROGRESS_AFTER = 5.0
# A frame that may be shown waits that long for the next piece of text, so that it shows it at once.
BEAT = 0.03
# While frames rest for longer than that (seconds), it is looked so often whether a part has become full.
LONG_REST = 0.3
LOOKS = 16


class Frames:
    """Streams one reply. `show` takes the newest text and what the agent works on, `run` is its task, `close`
    ends it between two calls. `typed_at` is when typing was shown for it already (0.0: not yet).
    """

    def __init__(self, calls: ReplyCalls, *, typed_at: float = 0.0) -> None:
        self._calls = calls
        self._typed_at = typed_at
        self._clock = calls.clock
        self._manifest = calls.outlet.manifest
        self._text = ""
        self._progress: tuple[ProgressItem, ...] = ()
        self._listed: tuple[ProgressItem, ...] = ()
        self._lasts = False
        self._taken_back = False
        self._drafted = False
        self._since = 0.0
        self._splitter: Splitter | None = None
        self._framing: Callable[[str], str] | None = None
        self._parts = 0
        self._changed = asyncio.Event()
        self._enough = asyncio.Event()
        self._closing = asyncio.Event()

    def show(self, markdown: str, progress: tuple[ProgressItem, ...] = (), taken_back: bool = False) -> None:
        """The whole text so far, and the work that is worth showing beside it.

        Where a text was `taken_back` and there is no other, none of it stays; else what is shown stays until
        there is another.
        """
        if not self._text and markdown:
            self._since = self._clock.now()
        if markdown != self._text or (self._lasts and progress != self._progress):
            self._changed.set()
        self._taken_back = taken_back
        self._text = markdown
        self._progress = progress
        if len(markdown) >= self._manifest.first_frame_characters:
            self._enough.set()

    def close(self) -> None:
        """Make no further call; one that is on its way ends first. The final brings the list as it is now."""
        if self._calls.progress:
            self._calls.progress = self._progress
        for event in (self._closing, self._changed, self._enough):
            event.set()

    async def run(self) -> None:
        """Show frames until closed."""
        await self._first()
        while not self._closing.is_set():
            await self._changed.wait()
            self._changed.clear()
            if self._closing.is_set():
                return
            pause = await self._frame()
            if pause:
                await self._rest(pause)

    async def run_typing(self) -> None:
        """Show typing until the first frame stands or the reply is closed."""
        pause = self._until_typing()
        while not await wait_first(self._closing, self._clock, pause):
            if self._calls.reply.visible:
                return
            pause = await show_typing(self._calls.outlet, self._calls.turn.address) or TYPING_EVERY

    async def run_progress(self) -> None:
        """Let the agent's work show once it has lasted for a while."""
        if await wait_first(self._closing, self._clock, PROGRESS_AFTER):
            return
        self._lasts = True
        if self._progress:
            self._changed.set()

    def _until_typing(self) -> float:
        now = self._clock.now()
        if self._typed_at:
            return TYPING_EVERY - (now - self._typed_at)
        waited = now - self._calls.turn.created_at
        return TYPING_AFTER - waited if waited < QUEUED_AFTER else TYPING_AFTER

    async def _first(self) -> None:
        """The first frame waits for some text, but not for long; an answer that is there at once needs
        none.
        """
        await self._changed.wait()
        await wait_first(self._closing, self._clock, min(AT_ONCE, self._manifest.first_frame_after))
        left = self._since + self._manifest.first_frame_after - self._clock.now()
        await wait_first(self._enough, self._clock, left)

    async def _rest(self, pause: float) -> None:
        """Wait until a frame may be shown, then for the next piece of text; or until a part is full."""
        until = self._clock.now() + pause
        step = max(0.1, pause / LOOKS) if pause > LONG_REST else pause
        full = False
        while not full and (left := until - self._clock.now()) > 0:
            if await wait_first(self._closing, self._clock, min(left, step)):
                return
            full = pause > LONG_REST and self._full()
        if not full:
            self._changed.clear()
            await wait_first(self._changed, self._clock, BEAT)
        self._changed.set()

    def _full(self) -> bool:
        """Whether the text went on in another part, and the one that stands may be completed now."""
        governor, address = self._calls.outlet.governor, self._calls.turn.address
        return (
            self._parts > 0
            and not governor.wait(address, Operation.EDIT, at_once=True)
            and len(self._split(self._text)) > self._parts
        )

    async def _frame(self) -> float:
        """Show the newest text if the budget allows it; the seconds after which to go on."""
        adapter = self._calls.adapter
        if isinstance(adapter, ChoosesFrames) and not adapter.frames_in(self._calls.turn.address):
            return 0.0
        texts = self._texts()
        if texts and isinstance(adapter, StreamsDrafts) and adapter.drafts_in(self._calls.turn.address):
            return await self._draft(adapter, texts[-1])
        action = self._calls.reply.next_frame(texts) or self._listing(texts)
        if action is None or not self._possible(action):
            return 0.0
        more = action.part.index < len(texts) - 1
        operation = Operation.POST if isinstance(action, Post) else Operation.EDIT
        completes = more and isinstance(action, Edit)
        governor, address = self._calls.outlet.governor, self._calls.turn.address
        async with governor.may(address, operation, at_once=completes) as wait:
            pause = wait or await shielded(self._show(action, full=more))
        behind = self._calls.reply.next_frame(texts)
        if pause or more or (behind is not None and behind.part.index < len(texts) - 1):
            self._changed.set()
            return pause
        return max(self._manifest.frame_interval, governor.wait(address, Operation.EDIT))

    def _texts(self) -> list[str]:
        """The text so far as parts: the full ones as they will stay, the last one closed for now."""
        texts = self._split(self._text)
        self._parts = len(texts)
        if texts:
            texts[-1] = self._bordered(texts) or self._frame_of(texts[-1])
        return self._with_progress([text for text in texts if text.strip()] or self._emptied())

    def _emptied(self) -> list[str]:
        """What goes in the place of a text that was taken back, in every message that shows some of it."""
        if not self._taken_back:
            return []
        shown = sum(part.state is not PartState.PLANNED for part in self._calls.reply.parts)
        return [TAKEN_BACK] * max(shown, self._drafted)

    def _with_progress(self, texts: list[str]) -> list[str]:
        """The work below the text where there is room for it, beside it where the platform has a list."""
        if not self._lasts:
            return texts
        adapter = self._calls.adapter
        if isinstance(adapter, ShowsProgress) and adapter.lists_in(self._calls.turn.address):
            self._calls.progress = self._progress
            return texts or [""] * bool(self._progress)
        self._calls.progress = ()
        if not self._progress:
            return texts
        last = "\n\n".join([*texts[-1:], checklist(self._progress)])
        return [*texts[:-1], last] if len(self._calls.adapter.renderer.split(last)) == 1 else texts

    def _listing(self, texts: list[str]) -> Action | None:
        """The frame that brings a new list when no text is new."""
        parts = self._calls.reply.parts
        if self._calls.progress == self._listed or len(parts) != len(texts):
            return None
        return Edit(parts[-1]) if parts[-1].state is PartState.POSTED else None

    def _split(self, text: str) -> list[str]:
        self._splitter = self._splitter or self._calls.adapter.renderer.growing()
        return list(self._splitter.split(text))

    def _bordered(self, texts: list[str]) -> str:
        """The last part up to where it will end, if it will be full before the frame after this one: no call
        is spent on taking the rest back. "" where it goes on, and where as much is shown already: the rest
        waits for one frame at most.
        """
        index, text = len(texts) - 1, texts[-1]
        pause = self._calls.outlet.governor.distance(self._calls.turn.address, Operation.EDIT)
        if pause < LONG_REST:
            return ""
        more = 1 + int(len(self._text) * pause / max(pause, self._clock.now() - self._since))
        if len(self._split(self._text + "x" * more)) == len(texts):
            return ""
        later = self._calls.adapter.renderer.split(self._text + likely(self._text, more))
        end = later[index] if len(later) > len(texts) else text
        if not text.startswith(end) or len(end) >= len(text) or self._calls.reply.reaches(index, end):
            return ""
        return end

    def _frame_of(self, text: str) -> str:
        self._framing = self._framing or self._calls.adapter.renderer.framing()
        return self._framing(text)

    def _possible(self, action: Action) -> bool:
        """A part of unknown outcome is settled by the final; what cannot be edited is only posted as
        final.
        """
        if isinstance(action, Post) and action.unknown:
            return self._calls.repeats_safely
        return self._calls.edits

    async def _show(self, action: Action, *, full: bool) -> float:
        try:
            if isinstance(action, Post):
                await self._calls.post(action, final=False, full=full)
                await self._calls.flush()
            elif isinstance(action, Edit):
                await self._calls.edit(action, final=False, full=full)
            self._listed = self._calls.progress
        except DeliveryError as error:
            if isinstance(action, Post) and not error.unknown_outcome:
                await self._calls.take_back(action)
            return self._failed(error)
        return 0.0

    async def _draft(self, adapter: StreamsDrafts, text: str) -> float:
        turn, governor = self._calls.turn, self._calls.outlet.governor
        message = OutboundMessage(f"{turn.id}:draft", turn.address, text, final=False)
        async with governor.may(turn.address, Operation.DRAFT) as wait:
            if wait:
                return wait
            try:
                self._drafted = True
                await adapter.draft(message, turn.id)
            except DeliveryError as error:
                return self._failed(error)
        return max(self._manifest.frame_interval, governor.wait(turn.address, Operation.DRAFT))

    def _failed(self, error: DeliveryError) -> float:
        if isinstance(error, RateLimited):
            self._penalty(error)
            return error.retry_after
        log.info("frame_failed", turn=self._calls.turn.id, category=error.category.value)
        return AFTER_FAILURE

    def _penalty(self, error: RateLimited) -> None:
        log.warning("rate_limited", account=self._calls.outlet.account, retry_after=error.retry_after)
        self._calls.outlet.governor.penalty(
            self._calls.turn.address, error.retry_after, account_wide=error.account_wide
        )
