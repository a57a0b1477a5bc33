"""Erase everything that a person said, from the bot's store and from the agent.

A stored request is worked off in steps that can be repeated. The agent's state is never rewritten: in every
chat in which the person took part, the agent threads are replaced by new ones, and the memory of a group is
deleted. The database files are compacted last.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from bot.domain import ReplyAddress
from bot.errors import RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.faults import ErasureStep, reach
from bot.features.privacy import erasures
from bot.features.privacy.erasures import ErasureRequest, SaidMessage
from bot.features.privacy.leaving_threads import (
    drop_abandoned_thread,
    has_abandoned_threads,
    list_abandoned_threads,
)
from bot.features.privacy.quotation_masking import mask_audit, mask_edits, mask_messages, mask_turns
from bot.features.privacy.text_masking import TextMask
from bot.features.privacy.thread_replacement import collect_chats, replace_threads
from bot.features.privacy.written_messages import STEP, erase_person, find_newest_message
from bot.store.person_data import ChatKey, PersonKey
from bot.turn import TurnState
from bot.wiring import Core

log = structlog.get_logger(__name__)

POLLS, POLL_EVERY = 50, 0.2
"""Number of looks at runs that have to end, and seconds between them."""
MISSING_ROUTES = frozenset({404, 405, 501})


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """Result of an erasure: what was erased where (`counts`), and what is left.

    `open_messages` are in progress, also the command that asked for the erasure. `done` is false while
    something has to be repeated, for which the service tries again by itself. `unsupported` are the places
    that the agent runtime can't erase from. `copies` are path and time of backups, which are not touched.
    """

    counts: Mapping[str, int]
    open_messages: int = 0
    done: bool = True
    problem: str = ""
    unsupported: tuple[str, ...] = ()
    copies: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class _Progress:
    request: ErasureRequest
    counts: Counter[str]
    said: Sequence[SaidMessage] = ()
    unsupported: set[str] = field(default_factory=set)


class PersonErasure:
    """Works off requests to erase a person, one at a time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._db = core.db
        self._runtime = core.runtime
        self._clock = core.clock
        self._one_at_a_time = asyncio.Lock()

    async def work(self, number: int) -> ErasureReport:
        """Work off a request as far as possible now."""
        async with self._one_at_a_time:
            request = await self._db.transact(erasures.load_erasure, number)
            progress = _Progress(request, Counter(request.counts))
            open_, problem = 0, ""
            if not request.finished_at:
                try:
                    open_ = await self._erase(progress)
                except RuntimeProblem as error:
                    problem = str(error) or type(error).__name__
                    log.warning("erasure_postponed", erasure=number, problem=problem)
                    await self._db.transact(erasures.save_counts, number, dict(progress.counts))
            copies = await self.list_copies()
        return ErasureReport(
            counts=dict(progress.counts),
            open_messages=open_,
            done=not open_ and not problem,
            problem=problem,
            unsupported=tuple(sorted(progress.unsupported)),
            copies=tuple(copies),
        )

    async def list_copies(self) -> list[tuple[str, float]]:
        """Return path and time (s since the epoch) of each copy of the data directory that still exists.

        On PostgreSQL, SQLite files that the data was copied from are copies too.
        """
        data, home = self._core.person_data, self._core.home
        copies = [copy for one in data for copy in await asyncio.to_thread(one.list_copies, home)]
        if self._core.config.database.url is not None:
            copies += await asyncio.to_thread(_list_sqlite_files, home)
        return copies

    async def resume(self) -> bool:
        """Continue all open requests; return whether none is left."""
        found = await self._db.transact(erasures.list_open_erasures)
        return all([(await self.work(request.id)).done for request in found])

    async def _erase(self, progress: _Progress) -> int:
        """Erase everything, and return the number of messages and commands that are still in progress.

        The store comes first, so that no run which begins meanwhile gets the person's words from there.
        """
        request, person = progress.request, progress.request.person
        await self._end_runs(request)
        await self._load_said(progress)
        conversations = sorted({one.conversation for one in progress.said})
        data = self._core.person_data
        chats = await self._db.transact(collect_chats, request.id, conversations, data)
        await self._mask_quotations(progress, chats)
        reach(ErasureStep.QUOTATIONS_MASKED)
        await self._delete_inbox_files(progress)
        open_ = await self._erase_rows(progress)
        reach(ErasureStep.ROWS_ERASED)
        for chat in chats:
            await self._replace_threads(progress, chat)
            reach(ErasureStep.THREADS_REPLACED)
        await self._db.transact(erasures.erase_names, person)
        await self._core.languages.load_languages()
        try:
            await self._delete_threads()
        finally:
            # A run that ends on an old thread may still have added to the memory of a group.
            await self._erase_memory(request)
        reach(ErasureStep.AGENT_ERASED)
        await self._compact(progress)
        reach(ErasureStep.COMPACTED)
        if open_:
            await self._db.transact(erasures.save_counts, request.id, dict(progress.counts))
        else:
            counts, now = dict(progress.counts), self._clock.now()
            await self._db.transact(erasures.finish_erasure, request.id, counts, now)
            log.info("person_erased", erasure=request.id, **counts)
        return open_

    async def _end_runs(self, request: ErasureRequest) -> None:
        """Cancel the runs that answer the person alone, and wait a little for their end."""
        for _ in range(POLLS):
            turns = await self._db.transact(erasures.list_open_turns, request.person, request.upto)
            running = [turn for turn in turns if turn[1] is not TurnState.ACCEPTED]
            if not running:
                return
            for conversation, state, is_shared in running:
                if not is_shared and state is not TurnState.DELIVERING:
                    await self._core.runs.stop(conversation)
            await self._clock.sleep(POLL_EVERY)

    async def _load_said(self, progress: _Progress) -> None:
        request, said = progress.request, list[SaidMessage]()
        for after in range(0, min(request.upto, await self._db.transact(find_newest_message)), STEP):
            said += await self._db.transact(erasures.list_said, request.person, after, request.upto)
        progress.said = said

    async def _mask_quotations(self, progress: _Progress, chats: Sequence[ChatKey]) -> None:
        """Mask quotations of the person in what others wrote, in answers to others, and in the audit log."""
        person, said = progress.request.person, progress.said
        found = [(text, one.name) for one in said for text in one.texts]
        for chat in chats:
            found += await self._db.transact(erasures.list_texts_in, person, chat, self._core.person_data)
        mask = TextMask((text for text, _ in found), (name for _, name in found), str(person))
        own, answers = await self._list_answers(progress)
        told = TextMask(answers)
        for chat in chats:
            for conversation, is_told in await self._db.transact(
                erasures.list_conversations_in, chat, person
            ):
                await self._db.transact(mask_edits, conversation, mask, person)
                if is_told:
                    # The agent may have repeated what it was told of answers to the person.
                    await self._mask_turns(conversation, told, person, own)
                await self._mask_turns(conversation, mask, person, own)
            await self._db.transact(mask_messages, chat, mask, person, self._core.person_data)
        progress.counts["quotations"] += mask.masked + told.masked
        after = 0
        while (masked := await self._db.transact(mask_audit, person, after, mask)) is not None:
            after = masked[0]
            progress.counts["audit_events"] += masked[1]

    async def _mask_turns(
        self, conversation: int, mask: TextMask, person: PersonKey, spared: Collection[int]
    ) -> None:
        after: int | None = 0
        while after is not None:
            after = await self._db.transact(mask_turns, conversation, after, mask, person, spared)

    async def _list_answers(self, progress: _Progress) -> tuple[Collection[int], Sequence[str]]:
        """Return the turns that answered the person, and the answers."""
        turns = {one.turn for one in progress.said}
        turns |= {*await self._db.transact(erasures.list_turns_for, progress.request.person)}
        whole, answers = sorted(turns), list[str]()
        for start in range(0, len(whole), STEP):
            answered, texts = await self._db.transact(erasures.list_answers, whole[start : start + STEP])
            turns.update(answered)
            answers += texts
        return turns, answers

    async def _replace_threads(self, progress: _Progress, chat: ChatKey) -> None:
        core = self._core
        done = await self._db.transact(
            replace_threads, progress.request, chat, core.new_id, self._describe_renewal, self._clock.now()
        )
        progress.counts["deleted_threads"] += done.deleted
        progress.counts["shared_threads"] += done.shared
        for conversation in done.conversations:
            core.runs.wake_conversation(conversation)
        if done.notice:
            core.runs.deliver_notice(done.notice)

    def _describe_renewal(self, address: ReplyAddress) -> str:
        """Return the notice that the agent starts over in a chat, or "" if the account no longer exists."""
        account = self._core.account(address.account)
        return account.texts_at(address)("context_renewed") if account.configured else ""

    async def _delete_inbox_files(self, progress: _Progress) -> None:
        """Delete files that were stored here before the agent got them."""
        refs = [ref for one in progress.said for ref in one.files]
        progress.counts["files"] += await asyncio.to_thread(_delete_files, self._core.home / "inbox", refs)

    async def _erase_rows(self, progress: _Progress) -> int:
        """Erase the person from the bot's store, and return the number of messages in progress."""
        request, person, now = progress.request, progress.request.person, self._clock.now()
        for start in range(0, request.upto, STEP):
            await self._db.transact(erasures.erase_leftovers, person, start, request.upto)
        counts, open_ = await erase_person(self._db, person, self._core.person_data, now, request.upto)
        progress.counts.update(counts)
        return open_

    async def _erase_memory(self, request: ErasureRequest) -> None:
        """Delete the agent's memory of the person and of their groups, and their sign-ins."""
        for scope in (await self._db.transact(erasures.load_erasure, request.id)).scopes:
            try:
                await self._runtime.management.delete_memory(scope)
            except RuntimeRefused:
                continue  # a runtime without memory
        try:
            await self._runtime.erase_sign_ins(str(request.person))
        except RuntimeRefused as refused:
            # A runtime without the route has no sign-ins.
            if refused.status not in MISSING_ROUTES:
                raise

    async def _delete_threads(self) -> None:
        """Delete the threads that were left. Raises RuntimeUnreachable if a run on one does not end soon."""
        for _ in range(POLLS):
            for thread in await self._db.transact(list_abandoned_threads):
                await self._runtime.delete_thread(thread)
                reach(ErasureStep.THREAD_DELETED)
                await self._db.transact(drop_abandoned_thread, thread)
            if not await self._db.transact(has_abandoned_threads):
                return
            await self._clock.sleep(POLL_EVERY)
        raise RuntimeUnreachable("Another person's run is in progress.")

    async def _compact(self, progress: _Progress) -> None:
        try:
            await self._runtime.compact_storage()
        except RuntimeRefused as refused:
            if refused.status not in MISSING_ROUTES:
                raise
            progress.unsupported.add("storage")
        await self._db.compact()


def _list_sqlite_files(home: Path) -> list[tuple[str, float]]:
    found = (home / name for name in ("bot.db", "agent.db", "checkpoints.db"))
    return [(str(path), path.stat().st_mtime) for path in found if path.exists()]


def _delete_files(folder: Path, refs: Sequence[str]) -> int:
    """Delete the files in the folder that are among these references, and return their number. Blocking."""
    found = [path for path in map(Path, refs) if path.parent == folder and path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
