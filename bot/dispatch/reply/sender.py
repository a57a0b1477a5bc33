"""Send one reply to its platform and record every call: intent before a post, receipt after it.

A reply is an ordered list of parts. What should be seen (`want`) and what is known to be seen (`parts`,
`shown`) are compared; the first difference is the next action. Streaming, the final answer and recovery after
a crash all use this comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from bot.dispatch.pacing import AccountChannel
from bot.domain import (
    ChatKind,
    OutboundFile,
    OutboundMessage,
    Part,
    PartKind,
    PartState,
    ProgressItem,
    ProgressState,
    ToolStep,
    Turn,
    TurnState,
)
from bot.errors import NotModified
from bot.faults import Step, reach
from bot.platforms.base import (
    Adapter,
    DeletesMessages,
    EditsMessages,
    RepeatsSafely,
    SendsFiles,
    ShowsAlone,
    StreamsNatively,
)
from bot.store.turns import PartChange, save_turn
from bot.store.usage import TurnUsage, increment_counter
from bot.wiring import Core

REPEATED_MARK = "(possibly repeated)"
# Placeholder in a message whose text was retracted, until it gets another one.
RETRACTED_TEXT = "…"
SEEN = frozenset({PartState.POSTED, PartState.FINAL})


@dataclass(frozen=True, slots=True)
class PostPart:
    """Send a new message; `unknown`: it may have been sent before."""

    part: Part
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class EditPart:
    """Replace the text of a posted message."""

    part: Part


@dataclass(frozen=True, slots=True)
class RemovePart:
    """Delete a message that the final answer does not need."""

    part: Part


Action = PostPart | EditPart | RemovePart


class Reply:
    """The parts of a turn's reply, as far as they are known to be shown.

    `parts` comes from the store; after a crash, the outcome of an `intended` part is unknown.
    """

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self._parts: list[Part] = list(parts)
        self._shown: dict[int, str] = {}

    @property
    def parts(self) -> tuple[Part, ...]:
        """The known parts, in order."""
        return tuple(self._parts)

    @property
    def visible(self) -> bool:
        """Return whether a part of this reply is visible, or may be."""
        return any(part.state is not PartState.PLANNED for part in self._parts)

    def next_frame(self, want: Sequence[str]) -> Action | None:
        """Return the next action of the stream towards these texts: earlier parts first, none is removed.

        If text moves from one part to the next, the earlier part keeps it until the next one is posted.
        """
        for index, text in enumerate(want):
            action = self._next_action(Part(index, PartKind.TEXT, text), final=False)
            if isinstance(action, EditPart) and self._shrinks(index, text) and index + 1 < len(want):
                later = self._next_action(Part(index + 1, PartKind.TEXT, want[index + 1]), final=False)
                if isinstance(later, PostPart) and not later.unknown:
                    return later
            if action is not None:
                return action
        return None

    def _shrinks(self, index: int, text: str) -> bool:
        return self._shown.get(index, "").startswith(text)

    def next_final(self, want: Sequence[Part]) -> Action | None:
        """Return the next action towards the final parts; None when all are shown or given up."""
        for part in want:
            action = self._next_action(part, final=True)
            if action is not None:
                return action
        wanted = {part.index for part in want}
        for part in self._parts:
            if part.index not in wanted and part.state in SEEN:
                return RemovePart(part)
        return None

    def _next_action(self, want: Part, *, final: bool) -> Action | None:
        have = self._parts[want.index] if want.index < len(self._parts) else None
        if have is None:
            return PostPart(want)
        if have.state is PartState.PLANNED:
            # A part that may have been posted before stays marked, even if the platform rejected the repeat.
            return PostPart(replace(want, repeated=have.repeated))
        if have.state is PartState.INTENDED:
            return PostPart(want, unknown=True)
        if have.state is PartState.UNDELIVERED or have.state is PartState.FINAL:
            return None
        if self._shown.get(want.index) == want.content and not final:
            return None
        return EditPart(replace(want, platform_id=have.platform_id, repeated=have.repeated))

    def shows_as_much(self, index: int, text: str) -> bool:
        """Return True if a part is known to show at least as many characters as this text."""
        return len(self._shown.get(index, "")) >= len(text)

    def shows(self, part: Part) -> bool:
        """Return True if exactly this text is known to be shown."""
        return self._shown.get(part.index) == part.content

    def update_part(self, part: Part, *, shown: str | None = None) -> Part:
        """Record a part's new state; `shown` is the text that it shows now."""
        while len(self._parts) <= part.index:
            self._parts.append(Part(len(self._parts), PartKind.TEXT, ""))
        self._parts[part.index] = part
        if shown is not None:
            self._shown[part.index] = shown
        return part

    def cut(self, count: int) -> None:
        """Drop the parts from `count` on."""
        del self._parts[count:]


def place_parts(want: Sequence[Part], known: Sequence[Part]) -> list[Part]:
    """Assign an index to each final part: a message with text never becomes a file."""
    found: list[Part] = []
    index = 0
    for part in want:
        while part.kind is not PartKind.TEXT and index < len(known) and _holds_text(known[index]):
            index += 1
        found.append(replace(part, index=index))
        index += 1
    return found


def _holds_text(part: Part) -> bool:
    return part.kind is PartKind.TEXT and part.state is not PartState.PLANNED


def mark_repeated(text: str) -> str:
    """Return the text of a part that may be shown twice, with a mark."""
    return f"{REPEATED_MARK}\n\n{text}"


REPEATED_COUNTER = "possibly_repeated"
DOCUMENT_TYPE = "application/json"


class ReplySender:
    """One turn's reply, its adapter and its rows. Raises DeliveryError and RuntimeProblem.

    `sealed` is a placeholder in the text and the secret that is sent instead; `alone` is the only person in a
    group who may see the reply ("": everybody).
    """

    def __init__(
        self,
        turn: Turn,
        parts: Sequence[Part],
        channel: AccountChannel,
        core: Core,
        sealed: tuple[str, str] | None = None,
        alone: str = "",
    ) -> None:
        self.turn = turn
        self.reply = Reply(parts)
        self.channel = channel
        self.clock = core.clock
        self.db = core.db
        self.progress: tuple[ProgressItem, ...] = ()
        """The progress list that messages carry in addition to their text."""
        self._runtime = core.runtime
        self._sealed = sealed
        self._alone = alone
        self._dirty: dict[int, PartChange] = {}
        self._seen: list[str] = []

    @property
    def adapter(self) -> Adapter:
        """The account's current adapter; a reloaded configuration may replace it during a reply."""
        return self.channel.adapter

    @property
    def can_edit(self) -> bool:
        """Return whether the platform can edit messages."""
        return isinstance(self.adapter, EditsMessages)

    @property
    def repeats_safely(self) -> bool:
        """Return whether a post of unknown outcome can be repeated without a duplicate."""
        adapter = self.adapter
        if self._alone and isinstance(adapter, ShowsAlone) and adapter.shows_alone:
            return False
        return isinstance(adapter, RepeatsSafely) and adapter.repeats_safely

    def is_shown(self, part: Part) -> bool:
        """Return True if a final part needs no call: its text is shown, without buttons, progress list or
        open stream.
        """
        if part.choices or self.progress or not self.reply.shows(part):
            return False
        adapter = self.adapter
        open_ = isinstance(adapter, StreamsNatively) and adapter.streaming(
            self.turn.address, part.platform_id
        )
        return not open_

    def finish_progress(self, state: TurnState) -> None:
        """Set active items of the progress list to their final state."""
        cut_off = state in (TurnState.CANCELLED, TurnState.FAILED)
        over = ProgressState.FAILED if cut_off else ProgressState.DONE
        self.progress = tuple(
            replace(item, state=over) if item.state is ProgressState.ACTIVE else item
            for item in self.progress
        )

    async def post_part(self, action: PostPart, *, final: bool, full: bool = False) -> None:
        """Send a new message. If it may have been sent before, it is marked and counted, unless repeats are
        safe.
        """
        part = action.part
        if action.unknown and not self.repeats_safely:
            part = replace(part, repeated=True)
            await self.db.run(increment_counter, self.turn.address.account, REPEATED_COUNTER)
        self.stage_part(replace(part, state=PartState.INTENDED))
        await self.flush()
        reach(Step.POST_INTENDED)
        platform_id = await self._send(part, final=final, full=full)
        reach(Step.PART_SENT if final else Step.POSTED)
        self._remember_message(platform_id)
        state = PartState.FINAL if final else PartState.POSTED
        self.stage_part(replace(part, state=state, platform_id=platform_id), shown=part.content)

    async def edit_part(self, action: EditPart, *, final: bool, full: bool = False) -> None:
        """Replace the text of a posted message."""
        part = action.part
        if isinstance(self.adapter, EditsMessages):
            with suppress(NotModified):
                message = self._outbound_message(part, final=final, full=full)
                await self.adapter.edit(message, part.platform_id)
        reach(Step.PART_SENT if final else Step.MID_STREAM)
        state = PartState.FINAL if final else PartState.POSTED
        self.stage_part(replace(part, state=state), shown=part.content)

    async def remove_part(self, action: RemovePart) -> None:
        """Delete a message, or clear its text where the platform can't delete."""
        if isinstance(self.adapter, DeletesMessages):
            await self.adapter.delete(self.turn.address, action.part.platform_id)
        elif isinstance(self.adapter, EditsMessages):
            empty = self._outbound_message(
                replace(action.part, content=RETRACTED_TEXT), final=True, full=False
            )
            with suppress(NotModified):
                await self.adapter.edit(empty, action.part.platform_id)
        self.reply.update_part(replace(action.part, state=PartState.UNDELIVERED))

    async def unmark_intended(self, action: PostPart) -> None:
        """Reset a part to planned, because its post did not happen."""
        have = self.reply.parts[action.part.index]
        self.stage_part(replace(have, state=PartState.PLANNED))
        await self.flush()

    def stage_part(self, part: Part, *, shown: str | None = None, category: str = "") -> None:
        """Record a part's new state; the next flush writes it."""
        self.reply.update_part(part, shown=shown)
        self._dirty[part.index] = PartChange(part, category)

    async def flush(
        self,
        state: TurnState | None = None,
        *,
        error: str = "",
        keep: int | None = None,
        spent: TurnUsage | None = None,
        joined: Sequence[int] = (),
        steps: Sequence[ToolStep] = (),
    ) -> None:
        """Write the staged parts and, if given, the turn's state, token usage, joined messages and tool calls
        in one transaction.
        """
        if not self._dirty and not self._seen and state is None:
            return
        changes, self._dirty = [self._dirty[index] for index in sorted(self._dirty)], {}
        ids, self._seen = self._seen, []
        await self.db.run(
            save_turn,
            self.turn.id,
            changes,
            self.clock.now(),
            state=state,
            error=error,
            keep=keep,
            spent=spent,
            joined=joined,
            steps=steps,
            seen=(self.turn.address, self.turn.conversation, ids) if ids else None,
        )

    def _remember_message(self, platform_id: str) -> None:
        """Remember a message id, so that replies to it find their conversation."""
        address = self.turn.address
        if address.chat_kind is ChatKind.GROUP and not address.topic:
            self._seen.append(platform_id)

    async def _send(self, part: Part, *, final: bool, full: bool) -> str:
        if part.kind is not PartKind.TEXT and isinstance(self.adapter, SendsFiles):
            data, mime = await self._read_content(part)
            return await self.adapter.send_file(
                OutboundFile(
                    self._part_key(part), self.turn.address, part.filename, mime, data, self.turn.created_at
                )
            )
        return await self.adapter.send(self._outbound_message(part, final=final, full=full))

    async def _read_content(self, part: Part) -> tuple[bytes, str]:
        """Return a file's content and MIME type."""
        if part.kind is PartKind.DOCUMENT:
            return part.content.encode(), DOCUMENT_TYPE
        limit = self.channel.manifest.max_file_out
        return await self._runtime.read_artifact(self.turn.thread_id, part.content, limit)

    def _outbound_message(self, part: Part, *, final: bool, full: bool) -> OutboundMessage:
        text = part.content if part.kind is PartKind.TEXT else f"📎 `{part.filename}`"
        text = mark_repeated(text) if part.repeated else text
        text = text.replace(*self._sealed) if self._sealed else text
        return OutboundMessage(
            self._part_key(part),
            self.turn.address,
            text,
            final,
            choices=part.choices if final else (),
            since=self.turn.created_at,
            progress=self.progress,
            full=full,
            alone=self._alone,
        )

    def _part_key(self, part: Part) -> str:
        return f"{self.turn.id}:{part.index}"
