"""Streaming of a growing reply: paced frames of its latest text, preceded by a typing indicator.

The text of a frame is taken when the rate limit grants it, so no frame is stale.

The first paragraph of a text is held back for a moment, since a tool call beside it may turn it into a
remark. At 50 tokens per second, the first text comes after 0.5 s instead of 0.25 s, and no
later where the rate limits are tight. The console and the terminal, where corrections are free, hold nothing
back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from agent.shared.aio import shielded
from bot.dispatch.observation import observe_delivery
from bot.dispatch.pacing import TYPING_EVERY, Applicant, show_typing
from bot.dispatch.reply.diff import RETRACTED_TEXT, Action, EditPart, PostPart
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.run.transcript import REMARK, Draft
from bot.domain import OutboundMessage, PartState, ProgressItem, ProgressState
from bot.errors import DeliveryError, RateLimited
from bot.faults import Step, report_step
from bot.platforms.base import StreamsDrafts, TooLong
from bot.platforms.manifest import Operation
from bot.render.renderer import Splitter, format_progress

log = structlog.get_logger(__name__)


BLOCK = "\n\n"


def extrapolate(text: str, count: int) -> str:
    """Return about `count` characters that continue `text`, extending its last paragraph to the length of the
    previous one.
    """
    last = text.rfind(BLOCK) + len(BLOCK)
    before = text.rfind(BLOCK, 0, max(0, last - len(BLOCK)))
    start = before + len(BLOCK) if before >= 0 else 0
    if last < len(BLOCK) or last <= start:
        return "x" * count
    rest = text[start + len(text) - last : last] or BLOCK
    paragraph = text[start:last]
    return (rest + paragraph * (1 + count // len(paragraph)))[:count]


def _opening(draft: Draft) -> str:
    """Return the last text of a draft, which may still turn out to be a remark."""
    return draft.text[len(draft.settled) :].strip()


def _remark_items(draft: Draft) -> list[ProgressItem]:
    return [ProgressItem(REMARK, draft.remark, ProgressState.ACTIVE)] if draft.remark else []


# Seconds after acceptance of a message until typing is shown, if nothing else is.
TYPING_AFTER = 0.1
# Seconds; an older turn had to wait for another one, so typing is timed from its start.
QUEUED_AFTER = 1.0
AFTER_FAILURE = 2.0
# Seconds; an answer that is complete within this time after its first word is posted whole, without a frame.
AT_ONCE = 0.25
# An opening paragraph of up to REMARK_SIZE characters may be a remark next to a tool call. It is held back
# for REMARK_SECONDS if frames are held back at all, or for AFTER_CALL seconds after a call, when that is
# likelier.
REMARK_SIZE, REMARK_SECONDS, AFTER_CALL = 200, 0.5, 1.4
# Seconds that a run must have lasted before its progress is shown.
PROGRESS_AFTER = 5.0
# Seconds that a granted frame waits for the next piece of text, so as to include it.
BEAT = 0.03
# Seconds; during a longer pause between frames, LOOKS times it is checked whether a part has become full.
LONG_REST = 0.3
LOOKS = 16


class ReplyStreamer:
    """Streamer of one reply. `update` accepts the latest text and progress, `run` is its task, `close` stops
    it between calls. `typed_at` is the time at which typing was last shown for it (0.0: never).
    """

    def __init__(self, sender: ReplySender, *, typed_at: float = 0.0) -> None:
        self._sender = sender
        self._typed_at = typed_at
        self._clock = sender.clock
        self._manifest = sender.channel.manifest
        self._alarms = sender.channel.governor.alarms
        self._applicants = Applicant(), Applicant()
        self._next = (Operation.EDIT if sender.reply.visible else Operation.POST), False
        self._pause_until = 0.0
        self._read_draft: Callable[[], Draft] = Draft
        self._draft = Draft()
        self._is_behind = False
        self._text = ""
        self._looked_at = ""
        self._held_until = 0.0
        self._progress: tuple[ProgressItem, ...] = ()
        self._shown_progress: tuple[ProgressItem, ...] = ()
        self._shows_progress = False
        self._draft_progress: tuple[ProgressItem, ...] = ()
        self._drafted = False
        self._since = 0.0
        self._splitter: Splitter | None = None
        self._framing: Callable[[str], str] | None = None
        self._parts = 0
        self._changed = asyncio.Event()
        self._enough = asyncio.Event()
        self._closing = asyncio.Event()

    def update(self, read_draft: Callable[[], Draft], grows: bool) -> None:
        """Register new content of the run, which `read_draft` returns. If the text only `grows`, it is read
        when a frame needs it, because most intermediate states are never displayed.

        If a text was retracted and nothing is left of it, its remark or a placeholder replaces it in the
        chat; otherwise the shown text stays until there is a new one.
        """
        self._read_draft = read_draft
        is_shown = self._text == self._draft.text
        if grows and is_shown and self._enough.is_set() and _opening(self._draft):
            self._is_behind = True
            self._changed.set()
        else:
            self._take_draft(read_draft())

    def _catch_up(self) -> None:
        """Read the latest content."""
        if self._is_behind:
            self._take_draft(self._read_draft())

    def _take_draft(self, draft: Draft) -> None:
        self._is_behind = False
        if draft.text and not self._draft.text:
            self._since = self._clock.now()
            self._changed.set()
        if _opening(draft) and not _opening(self._draft):
            is_immediate = not self._manifest.first_frame_after
            held = AFTER_CALL if draft.remark or draft.progress else REMARK_SECONDS
            self._held_until = self._clock.now() + (0.0 if is_immediate else held)
        before, self._draft = self._text, draft
        self._text = self._visible_text()
        progress = (*_remark_items(draft), *draft.progress)
        if self._text != before or (self._shows_progress and progress != self._progress):
            self._changed.set()
        self._progress = progress
        if len(self._text) >= self._manifest.first_frame_characters:
            self._enough.set()

    def close(self) -> None:
        """Allow no calls after the one in flight. The final reply receives the current progress list."""
        if self._sender.progress:
            self._sender.progress = self._progress
        for event in (self._closing, self._changed, self._enough):
            event.set()
        for applicant in self._applicants:
            applicant.close()

    async def run(self) -> None:
        """Show frames until closed; with progress once the run has lasted PROGRESS_AFTER seconds."""
        alarm = self._alarms.set(self._clock.now() + PROGRESS_AFTER, self._begin_progress)
        try:
            await self._wait_for_text()
            while await self._wait_for_change() and await self._wait_for_chance():
                pause = await self._show_frame()
                self._pause_until = self._clock.now() + pause
        finally:
            self._alarms.drop(alarm)

    async def run_typing(self) -> None:
        """Show typing until the first frame is posted or the reply is closed."""
        channel, address, applicant = self._sender.channel, self._sender.turn.address, self._applicants[1]
        if channel.capabilities.shows_typing is None:
            return
        pause = self._typing_delay()
        while not await self._alarms.wait_first(self._closing, pause):
            if not await channel.governor.wait_for_chance(applicant, address, Operation.TYPING):
                return
            if self._sender.reply.visible:
                return
            pause = 0.0 if await show_typing(channel, address) else TYPING_EVERY

    def _begin_progress(self) -> None:
        self._shows_progress = True
        if self._progress:
            self._changed.set()

    def _typing_delay(self) -> float:
        now = self._clock.now()
        if self._typed_at:
            return TYPING_EVERY - (now - self._typed_at)
        waited = now - self._sender.turn.created_at
        return TYPING_AFTER - waited if waited < QUEUED_AFTER else TYPING_AFTER

    async def _wait_for_text(self) -> None:
        """Wait for enough text for the first frame, up to a short limit, because a short answer may be
        complete before that.
        """
        await self._changed.wait()
        await self._alarms.wait_first(self._closing, min(AT_ONCE, self._manifest.first_frame_after))
        left = self._since + self._manifest.first_frame_after - self._clock.now()
        await self._alarms.wait_first(self._enough, left)

    async def _wait_for_change(self) -> bool:
        """Wait for new content to show, including held-back text whose time has passed. Return False once
        closed.
        """
        if self._text == self._draft.text:
            await self._changed.wait()
        else:
            await self._alarms.wait_first(self._changed, max(0.0, self._held_until - self._clock.now()))
            self._text = self._visible_text()
        return not self._closing.is_set()

    async def _wait_for_chance(self) -> bool:
        """Wait until the next frame may be shown; after a pause also for the next piece of text, unless a
        part is full. Return False once closed.
        """
        governor, address = self._sender.channel.governor, self._sender.turn.address
        operation, completes = self._next
        pause = governor.chat_wait(address, operation, at_once=completes)
        pause = max(pause, self._pause_until - self._clock.now())
        if pause > 0:
            completes = await self._wait_for_full_part(pause) or completes
            if not completes:
                self._changed.clear()
                await self._alarms.wait_first(self._changed, BEAT)
        return await governor.wait_for_chance(self._applicants[0], address, operation, at_once=completes)

    def _visible_text(self) -> str:
        """Return the text without an opening paragraph that may still turn out to be a remark."""
        opening = _opening(self._draft)
        may_be_remark = len(opening) <= REMARK_SIZE and BLOCK not in opening
        held = opening and may_be_remark and self._clock.now() < self._held_until
        return self._draft.settled if held else self._draft.text

    async def _wait_for_full_part(self, pause: float) -> bool:
        """Wait until a pause is over, or until a part is full and may be completed now. Return whether a part
        is full.
        """
        until = self._clock.now() + pause
        step = max(0.1, pause / LOOKS) if pause > LONG_REST else pause
        while (left := until - self._clock.now()) > 0:
            if await self._alarms.wait_first(self._closing, min(left, step)):
                return False
            if pause > LONG_REST and self._part_is_full():
                return True
        return False

    def _part_is_full(self) -> bool:
        """Return whether the text continues in another part and the displayed one may be completed now."""
        governor, address = self._sender.channel.governor, self._sender.turn.address
        if not self._parts or governor.optional_wait(address, Operation.EDIT, at_once=True):
            return False
        self._catch_up()
        if self._text == self._looked_at:
            return False
        self._looked_at = self._text
        return len(self._split_text(self._text)) > self._parts

    async def _show_frame(self) -> float:
        """Show the newest text if the rate limits still allow it. Return the minimum pause in seconds."""
        self._catch_up()
        self._changed.clear()
        can, address = self._sender.channel.capabilities, self._sender.turn.address
        if can.chooses_frames is not None and not can.chooses_frames.frames_in(address):
            return 0.0
        texts, drafts = self._part_texts(), self._find_drafts()
        if texts and drafts is not None:
            return await self._send_draft(drafts, texts[-1])
        if not self._sender.reply.visible and await self._waits_for_mention(texts):
            return 0.0
        action = self._sender.reply.next_frame(texts) or self._progress_edit(texts)
        return (
            await self._try_frame(action, texts) if action is not None and self._is_possible(action) else 0.0
        )

    async def _try_frame(self, action: Action, texts: Sequence[str]) -> float:
        """Make a call if granted, and determine the next one. Return the minimum pause in seconds."""
        governor, address = self._sender.channel.governor, self._sender.turn.address
        more = action.part.index < len(texts) - 1
        operation = Operation.POST if isinstance(action, PostPart) else Operation.EDIT
        completes = more and isinstance(action, EditPart)
        async with governor.optional_call(address, operation, at_once=completes) as wait:
            pause = 0.0 if wait else await shielded(self._send_frame(action, full=more))
        if wait:
            # A call of another kind was expected, or something else came first.
            self._next = operation, completes
            self._changed.set()
            return 0.0
        behind = self._sender.reply.next_frame(texts)
        is_behind = behind is not None and behind.part.index < len(texts) - 1
        is_new = isinstance(behind, PostPart)
        self._next = (Operation.POST if is_new else Operation.EDIT), is_behind and not is_new
        if pause or more or is_behind:
            self._changed.set()
            return pause
        return self._manifest.frame_interval

    async def _waits_for_mention(self, texts: Sequence[str]) -> bool:
        """Return whether to show nothing yet because the text starts with a mention: frames contain no
        mentions, and edits notify nobody.
        """
        await self._sender.load_names(texts)
        return any(self._sender.names_others(text) for text in texts)

    def _part_texts(self) -> list[str]:
        """Return the text as parts: full ones in their final form, the last one with its markup closed."""
        self._text = self._visible_text()
        texts = self._split_text(self._text)
        self._parts = len(texts)
        if texts:
            texts[-1] = self._cut_at_border(texts) or self._close_markup(texts[-1])
        return self._with_progress([text for text in texts if text.strip()] or self._retracted_texts())

    def _find_drafts(self) -> StreamsDrafts | None:
        """Return the adapter if it shows the reply as a draft."""
        drafts = self._sender.channel.capabilities.streams_drafts
        return drafts if drafts is not None and drafts.drafts_in(self._sender.turn.address) else None

    def _retracted_texts(self) -> list[str]:
        """Return the replacement for a retracted text in every message that displays part of it. From now on
        the progress shows the text if it was a remark.
        """
        shown = sum(part.state is not PartState.PLANNED for part in self._sender.reply.parts)
        shown = max(shown, self._drafted) if self._draft.retracted else 0
        if not shown or not self._draft.remark:
            return [RETRACTED_TEXT] * shown
        self._shows_progress = True
        return [*[RETRACTED_TEXT] * (shown - 1), ""]

    def _with_progress(self, texts: list[str]) -> list[str]:
        """Add progress: in the platform's own list, or below the text if there is room; drafts have their own
        format. A remark is not repeated below an answer.
        """
        self._draft_progress = ()
        if not self._shows_progress:
            return texts
        lists = self._sender.channel.capabilities.shows_progress
        if lists is not None and lists.lists_in(self._sender.turn.address):
            self._sender.progress = self._progress
            return texts or [""] * bool(self._progress)
        self._sender.progress = ()
        listed = self._draft.progress if self._text else self._progress
        if not listed:
            return texts
        renderer = self._sender.renderer
        last = "\n\n".join(filter(None, [*texts[-1:], format_progress(renderer, listed)]))
        if len(renderer.split(last)) > 1:
            return texts
        if self._find_drafts() is not None:
            self._draft_progress = listed
            return texts or [""]
        return [*texts[:-1], last]

    def _progress_edit(self, texts: list[str]) -> Action | None:
        """Return the edit that updates only the progress list, if the text is unchanged."""
        parts = self._sender.reply.parts
        if self._sender.progress == self._shown_progress or len(parts) != len(texts):
            return None
        return EditPart(parts[-1]) if parts[-1].state is PartState.POSTED else None

    def _split_text(self, text: str) -> list[str]:
        self._splitter = self._splitter or self._sender.renderer.growing()
        return list(self._splitter.split(text))

    def _cut_at_border(self, texts: list[str]) -> str:
        """Truncate the last part at its expected end if the next frame would exceed it, which saves a call to
        remove the excess.

        "" if the part continues, or if as much is shown already: the rest then waits for at most one frame.
        """
        index, text = len(texts) - 1, texts[-1]
        pause = self._sender.channel.governor.optional_spacing(self._sender.turn.address, Operation.EDIT)
        if pause < LONG_REST:
            return ""
        more = 1 + int(len(self._text) * pause / max(pause, self._clock.now() - self._since))
        if len(self._split_text(self._text + "x" * more)) == len(texts):
            return ""
        later = self._sender.renderer.split(self._text + extrapolate(self._text, more))
        end = later[index] if len(later) > len(texts) else text
        if not text.startswith(end) or len(end) >= len(text) or self._sender.reply.shows_as_much(index, end):
            return ""
        return end

    def _close_markup(self, text: str) -> str:
        self._framing = self._framing or self._sender.renderer.framing()
        return self._framing(text)

    def _is_possible(self, action: Action) -> bool:
        """Return whether a frame can be sent. A part with an unknown outcome is left to the final reply, and
        uneditable text is only posted as final.
        """
        if isinstance(action, PostPart) and action.unknown:
            return self._sender.repeats_safely(action.part)
        return self._sender.can_edit

    async def _send_frame(self, action: Action, *, full: bool) -> float:
        try:
            if isinstance(action, PostPart):
                await self._sender.post_part(action, final=False, full=full)
                await self._sender.flush()
            elif isinstance(action, EditPart):
                await self._sender.edit_part(action, final=False, full=full)
            self._shown_progress = self._sender.progress
        except DeliveryError as error:
            if isinstance(action, PostPart) and not error.unknown_outcome:
                await self._sender.unmark_intended(action)
            return self._handle_failure(error)
        return 0.0

    async def _send_draft(self, adapter: StreamsDrafts, text: str) -> float:
        turn, governor = self._sender.turn, self._sender.channel.governor
        message = OutboundMessage(
            f"{turn.id}:draft", turn.address, text, final=False, progress=self._draft_progress
        )
        async with governor.optional_call(turn.address, Operation.DRAFT) as wait:
            self._next = Operation.DRAFT, False
            if wait:
                self._changed.set()
                return 0.0
            try:
                self._drafted = True
                with observe_delivery(self._sender.channel.account, Operation.DRAFT.value):
                    await adapter.draft(message, turn.id)
                report_step(Step.POSTED)
            except DeliveryError as error:
                return self._handle_failure(error)
        return self._manifest.frame_interval

    def _handle_failure(self, error: DeliveryError) -> float:
        if isinstance(error, RateLimited):
            self._apply_penalty(error)
            return error.retry_after
        if isinstance(error, TooLong) and self._sender.split_smaller(error):
            self._splitter = self._framing = None
            self._changed.set()
            return 0.0
        log.info("frame_failed", turn=self._sender.turn.id, category=error.category.value)
        return AFTER_FAILURE

    def _apply_penalty(self, error: RateLimited) -> None:
        log.warning("rate_limited", account=self._sender.channel.account, retry_after=error.retry_after)
        self._sender.channel.governor.add_penalty(
            self._sender.turn.address, error.retry_after, account_wide=error.account_wide
        )
