"""Delivery of one reply's calls to its platform, recorded as an intent before each post and a receipt after
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import PurePosixPath

from bot.dispatch.observation import observe_delivery
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.reply.diff import RETRACTED_TEXT, EditPart, PostPart, RemovePart, Reply, mark_repeated
from bot.dispatch.reply.mentions import build_names
from bot.domain import (
    LOCAL_PLATFORMS,
    ChatKind,
    Mention,
    MentionKind,
    OutboundFile,
    OutboundMessage,
    Part,
    PartKind,
    PartState,
    ProgressItem,
    ProgressState,
    Sender,
    ToolStep,
)
from bot.errors import NotModified
from bot.faults import Step, reach
from bot.platforms.base import Adapter, TooLong
from bot.platforms.manifest import Operation
from bot.render.mentions import find_in_markdown, names_in
from bot.render.renderer import Renderer
from bot.store.known_names import list_known_names
from bot.store.turns import PartChange, save_turn
from bot.store.usage import TurnUsage, increment_counter
from bot.turn import RunTrace, Turn, TurnKind, TurnState
from bot.wiring import Core

REPEATED_COUNTER = "possibly_repeated"
DOCUMENT_TYPES = {".txt": "text/plain; charset=utf-8", ".json": "application/json"}
"""MIME types of the files that the service creates."""


def document_type(filename: str) -> str:
    """Return the MIME type of a file created by the service."""
    return DOCUMENT_TYPES.get(PurePosixPath(filename).suffix, "application/octet-stream")


class ReplySender:
    """Sender of one turn's reply through its adapter, with its database rows. Raises DeliveryError and
    RuntimeProblem.

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
        self._outages = core.outages
        self._ownership = core.ownership
        self.progress: tuple[ProgressItem, ...] = ()
        """The progress list that messages carry in addition to their text."""
        self.heard: list[Sender] = []
        """Who wrote in the thread before the bot was addressed there."""
        self._runtime = core.runtime
        self._on_call = core.on_call
        self._renderer: Renderer | None = None
        self._sealed = sealed
        self._alone = alone
        self._names: tuple[Mention, ...] | None = None
        self._dirty: dict[int, PartChange] = {}
        self._seen: list[str] = []

    @property
    def adapter(self) -> Adapter:
        """The account's current adapter; a reloaded configuration may replace it during a reply."""
        return self.channel.adapter

    @property
    def renderer(self) -> Renderer:
        """The renderer that splits this reply."""
        return self._renderer or self.adapter.renderer

    def split_smaller(self, problem: TooLong) -> bool:
        """Switch to smaller parts for the rest of this reply, after the platform rejected its format. Return
        False if that was already done.
        """
        is_new = self._renderer is not problem.renderer
        self._renderer = problem.renderer
        return is_new

    @property
    def can_edit(self) -> bool:
        """Return whether the platform can edit messages."""
        return self.channel.capabilities.edits is not None

    def repeats_safely(self, part: Part) -> bool:
        """Return whether repeating a post with an unknown outcome is safe from duplicates."""
        private, repeats = self.channel.capabilities.shows_alone, self.channel.capabilities.repeats
        message = self._outbound_message(part, final=True, full=False)
        if part.kind is PartKind.TEXT and private is not None and private.is_untraceable(message):
            return False
        return repeats is not None and repeats.repeats_safely

    def is_shown(self, part: Part) -> bool:
        """Return whether a final part needs no call: its text is displayed, and it has no mentions, buttons,
        progress list or open stream.
        """
        if part.choices or self.progress or not self.reply.shows(part) or self.find_mentions(part.content):
            return False
        streams = self.channel.capabilities.streams_natively
        return streams is None or not streams.streaming(self.turn.address, part.platform_id)

    async def load_names(self, texts: Iterable[str]) -> None:
        """Load the names available for mentions, once, if any of the texts may contain one."""
        adapter, address = self.channel.capabilities.mentions, self.turn.address
        if self._names is not None or adapter is None or address.chat_kind is not ChatKind.GROUP:
            return
        if self._alone or not any("@" in text or "#" in text for text in texts):
            return
        if self.turn.kind is TurnKind.CHAT:
            earlier = [
                Mention(MentionKind.PERSON, one.name, "" if one.is_bot else one.id) for one in self.heard
            ]
            known = [*await self.db.transact(list_known_names, self.turn), *earlier]
            self._names = build_names(known, adapter.mention_kinds, adapter.mentionable_groups)
        elif self.turn.kind is TurnKind.NOTICE:
            self._names = build_names(self._on_call.list_people(address.account), adapter.mention_kinds)

    def find_mentions(self, text: str) -> list[Mention]:
        """Return the mentions in a text, based on the loaded names."""
        names = names_in(text, self._names or ())
        return [place.mention for place in find_in_markdown(text, names)]

    def names_others(self, text: str) -> bool:
        """Return whether a growing text mentions someone other than the turn's authors, or may be about to.
        They are notified only if the posted message itself mentions them.
        """
        authors = {message.sender.id for message in self.turn.messages}
        others = [one for one in self._names or () if one.id and one.id not in authors]
        people = [one for one in others if one.kind is not MentionKind.CHANNEL]
        rest = text[text.rfind("@") :] if "@" in text else ""
        is_begun = bool(rest) and any(one.label.startswith(rest) for one in people)
        return is_begun or not {one.id for one in people}.isdisjoint(
            one.id for one in self.find_mentions(text)
        )

    def finish_progress(self, state: TurnState) -> None:
        """Set the progress list's active items to their final state."""
        cut_off = state in (TurnState.CANCELLED, TurnState.FAILED)
        over = ProgressState.FAILED if cut_off else ProgressState.DONE
        self.progress = tuple(
            replace(item, state=over) if item.state is ProgressState.ACTIVE else item
            for item in self.progress
        )

    async def post_part(self, action: PostPart, *, final: bool, full: bool = False) -> None:
        """Post a new message. If it may have been sent already, mark and count it, unless repeats are
        safe.
        """
        part = action.part
        if action.unknown and not self.repeats_safely(part):
            part = replace(part, repeated=True)
            await self.db.transact(increment_counter, self.turn.address.account, REPEATED_COUNTER)
        self.stage_part(replace(part, state=PartState.INTENDED))
        await self.flush()
        reach(Step.POST_INTENDED)
        with self._observe(Operation.POST):
            platform_id = await self._send(part, final=final, full=full, unsure=action.unknown)
        reach(Step.PART_SENT if final else Step.POSTED)
        self._remember_message(platform_id)
        state = PartState.FINAL if final else PartState.POSTED
        self.stage_part(replace(part, state=state, platform_id=platform_id), shown=part.content)

    async def edit_part(self, action: EditPart, *, final: bool, full: bool = False) -> None:
        """Replace the text of a posted message. Raises OwnershipLost if another replica does that now."""
        part = action.part
        await self._ownership.confirm()
        if (adapter := self.channel.capabilities.edits) is not None:
            with suppress(NotModified), self._observe(Operation.FINAL if final else Operation.EDIT):
                message = self._outbound_message(part, final=final, full=full)
                await adapter.edit(message, part.platform_id)
        reach(Step.PART_SENT if final else Step.MID_STREAM)
        state = PartState.FINAL if final else PartState.POSTED
        self.stage_part(replace(part, state=state), shown=part.content)
        if self._ownership.has_company and self.turn.platform in LOCAL_PLATFORMS:
            # The consoles of other replicas read the growing text from the store.
            await self.flush()

    async def remove_part(self, action: RemovePart) -> None:
        """Delete a message, or clear its text where the platform can't delete."""
        await self._ownership.confirm()
        deletes, edits = self.channel.capabilities.deletes, self.channel.capabilities.edits
        if deletes is not None:
            with self._observe(Operation.FINAL):
                await deletes.delete(self.turn.address, action.part.platform_id)
        elif edits is not None:
            empty = self._outbound_message(
                replace(action.part, content=RETRACTED_TEXT), final=True, full=False
            )
            with suppress(NotModified), self._observe(Operation.FINAL):
                await edits.edit(empty, action.part.platform_id)
        self.reply.update_part(replace(action.part, state=PartState.UNDELIVERED))

    async def unmark_intended(self, action: PostPart) -> None:
        """Reset a part to planned after a post that did not happen."""
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
        trace: RunTrace | None = None,
    ) -> None:
        """Write the staged parts and, if given, the turn's state, token usage, joined messages and tool calls
        in one transaction. Waits for an unavailable store, so that nothing is sent twice.
        """
        if not self._dirty and not self._seen and state is None:
            return
        changes, self._dirty = [self._dirty[index] for index in sorted(self._dirty)], {}
        ids, self._seen = self._seen, []
        await self._outages.complete(
            lambda: self.db.transact(
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
                trace=trace,
                seen=(self.turn.address, self.turn.conversation, ids) if ids else None,
            )
        )

    def _observe(self, operation: Operation) -> AbstractContextManager[None]:
        return observe_delivery(self.channel.account, operation.value)

    def _remember_message(self, platform_id: str) -> None:
        """Store a message id, so that replies to it find their conversation."""
        address = self.turn.address
        if address.chat_kind is ChatKind.GROUP and not address.topic:
            self._seen.append(platform_id)

    async def _send(self, part: Part, *, final: bool, full: bool, unsure: bool) -> str:
        adapter = self.channel.capabilities.sends_files
        if part.kind is not PartKind.TEXT and adapter is not None:
            data, mime = await self._read_content(part)
            return await adapter.send_file(
                OutboundFile(
                    self._part_key(part),
                    self.turn.address,
                    part.filename,
                    mime,
                    data,
                    self.turn.created_at,
                    self._alone,
                )
            )
        message = self._outbound_message(part, final=final, full=full)
        return await self.adapter.send(replace(message, unsure=unsure))

    async def _read_content(self, part: Part) -> tuple[bytes, str]:
        """Return a file's content and MIME type."""
        if part.kind is PartKind.DOCUMENT:
            return part.content.encode(errors="replace"), document_type(part.filename)
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
            mentions=names_in(text, self._names or ()) if final else (),
            rated=final and self._completes_answer(part),
        )

    def _completes_answer(self, part: Part) -> bool:
        """Return whether a part is the last text of an agent's answer that everyone in the chat may see."""
        texts = [one.index for one in self.reply.parts if one.kind is PartKind.TEXT]
        is_last = part.kind is PartKind.TEXT and part.index == max(texts, default=part.index)
        return is_last and self.turn.kind is TurnKind.CHAT and not part.choices and not self._alone

    def _part_key(self, part: Part) -> str:
        return f"{self.turn.id}:{part.index}"
