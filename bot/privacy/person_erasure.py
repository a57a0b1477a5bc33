"""Erase everything that a person said: in the agent's threads, files and memory, and in the bot's store.

A stored request is worked off in steps that can be repeated. The agent comes first, because only the bot's
store knows what was said; the store follows, and the database files are compacted last.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from agent.shared.text_masking import TextMask
from bot.clock import Clock
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.faults import ErasureStep, reach
from bot.privacy.backup_copies import list_copies
from bot.privacy.languages import Languages
from bot.runtime.interface import AgentRuntime, PersonWords
from bot.store import Database, erasures
from bot.store.erasures import ErasureRequest, SaidMessage, SharedChat
from bot.store.exchanges import drop_quoted_person
from bot.store.quotation_masking import mask_audit, mask_conversation, mask_record, mask_turns
from bot.store.retention import (
    STEP,
    PersonKey,
    drop_abandoned_thread,
    erase_person,
    find_newest_message,
    list_abandoned_threads,
)
from bot.turn import TurnState, thread_message_id

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
POLLS, POLL_EVERY = 50, 0.2
"""Number of looks at the runs of the person that were cancelled, and seconds between them."""
CONFLICT = 409
MISSING_ROUTES = frozenset({404, 405, 501})
StopRun = Callable[[int], Awaitable[bool]]
"""Stops the run of a conversation."""


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


@dataclass(frozen=True, slots=True)
class _Answered:
    """What the bot told the person in a chat: `words` are theirs and its `answers`, `turns` gave these."""

    chat: SharedChat
    words: PersonWords
    turns: Sequence[int]
    answers: Sequence[str]


@dataclass(slots=True)
class _Progress:
    request: ErasureRequest
    counts: Counter[str]
    said: Sequence[SaidMessage] = ()
    names: tuple[str, ...] = ()
    unsupported: set[str] = field(default_factory=set)


class PersonErasure:
    """Works off requests to erase a person, one at a time. `home` is the data directory, `stop` the function
    that stops a run, `languages` what holds the language of a person in memory.
    """

    def __init__(
        self, db: Database, runtime: AgentRuntime, clock: Clock, new_id: Callable[[], str], home: Path | None
    ) -> None:
        self._db = db
        self._runtime = runtime
        self._clock = clock
        self._new_id = new_id
        self._home = home
        self._one_at_a_time = asyncio.Lock()
        self.stop: StopRun | None = None
        self.languages: Languages | None = None

    async def work(self, number: int) -> ErasureReport:
        """Work off a request as far as possible now."""
        async with self._one_at_a_time:
            request = await self._db.transact(erasures.load_erasure, number)
            progress = _Progress(request, Counter(request.counts), names=request.names)
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
        """Return path and time (s since the epoch) of each copy of the data directory that still exists."""
        return await asyncio.to_thread(list_copies, self._home) if self._home is not None else []

    async def resume(self) -> bool:
        """Continue all open requests; return whether none is left."""
        found = await self._db.transact(erasures.list_open_erasures)
        return all([(await self.work(request.id)).done for request in found])

    async def _erase(self, progress: _Progress) -> int:
        """Erase everything, and return the number of messages and commands that are still in progress."""
        request = progress.request
        await self._end_runs(request)
        await self._load_said(progress)
        conversations = sorted({one.conversation for one in progress.said})
        # A private chat that goes on after the request keeps its thread, like a group.
        newer = await self._db.transact(erasures.list_newer, request.person, request.upto)
        continued = {conversation for conversation, _, _ in newer}
        chats = await self._db.transact(erasures.list_shared_chats, request.person, conversations, continued)
        answered = [await self._erase_chat(progress, chat) for chat in chats]
        await self._delete_inbox_files(progress)
        open_ = await self._erase_rows(progress)
        for one in answered:
            await self._erase_told(progress, one)
        reach(ErasureStep.ROWS_ERASED)
        await self._erase_memory(progress)
        await self._delete_threads(progress)
        reach(ErasureStep.AGENT_ERASED)
        if not open_:
            # Before the files are compacted, so that no file holds them afterwards.
            await self._db.transact(erasures.save_names, request.id, ())
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
                if self.stop is not None and not is_shared and state is not TurnState.DELIVERING:
                    await self.stop(conversation)
            await self._clock.sleep(POLL_EVERY)

    async def _load_said(self, progress: _Progress) -> None:
        """Load the person's messages, and store their names before the messages are gone."""
        request, said = progress.request, list[SaidMessage]()
        for after in range(0, min(request.upto, await self._db.transact(find_newest_message)), STEP):
            said += await self._db.transact(erasures.list_said, request.person, after, request.upto)
        progress.said = said
        progress.names = tuple(dict.fromkeys([*progress.names, *(one.name for one in said if one.name)]))
        await self._db.transact(erasures.save_names, request.id, progress.names)

    async def _erase_chat(self, progress: _Progress, chat: SharedChat) -> _Answered:
        """Erase the person from the threads, the memory and the stored answers of a group."""
        words = await self._collect_words(progress, chat)
        conversations, threads = await self._db.transact(erasures.list_told, progress.request.person, chat)
        own, answers = await self._list_answers(progress, chat)
        more = replace(words, texts=(*words.texts, *answers))
        for thread in chat.threads:
            theirs = more if thread in threads else words
            await self._ask_agent(progress, "threads", self._runtime.erase_from_thread(thread, theirs))
        scope = f"group:{chat.account}:{chat.chat}"
        await self._ask_agent(progress, "memory", self._runtime.erase_from_memory(scope, words))
        reach(ErasureStep.THREADS_ERASED)
        person, mask = progress.request.person, TextMask(words.texts, words.authors, words.names)
        quoted = TextMask(answers)
        for conversation in chat.conversations:
            await self._db.transact(mask_conversation, conversation, mask, person)
            if conversation in conversations:
                await self._mask_turns(conversation, quoted, person, own)
            await self._mask_turns(conversation, mask, person)
        await self._db.transact(mask_record, chat.account, chat.chat, mask, person)
        progress.counts["quotations"] += mask.masked + quoted.masked
        return _Answered(chat, more, own, answers)

    async def _erase_told(self, progress: _Progress, told: _Answered) -> None:
        """Erase once more where the agent was told the person's exchanges, and remove the person's labels.

        A run that was about to begin when its thread was erased may have brought them since.
        """
        person, mask = progress.request.person, TextMask(told.answers)
        conversations, threads = await self._db.transact(erasures.list_told, person, told.chat)
        words = replace(told.words, spared_ids=await self._list_spared(progress.request))
        for thread in sorted(threads):
            await self._ask_agent(progress, "threads", self._runtime.erase_from_thread(thread, words))
        for conversation in sorted(conversations):
            await self._mask_turns(conversation, mask, person, told.turns)
            await self._db.transact(drop_quoted_person, conversation, str(person))
        progress.counts["quotations"] += mask.masked

    async def _mask_turns(
        self, conversation: int, mask: TextMask, person: PersonKey, spared: Collection[int] = ()
    ) -> None:
        after: int | None = 0
        while after is not None:
            after = await self._db.transact(mask_turns, conversation, after, mask, person, spared)

    async def _list_answers(
        self, progress: _Progress, chat: SharedChat
    ) -> tuple[Sequence[int], Sequence[str]]:
        """Return the turns that answered the person in a chat, and the answers, which the agent may have
        repeated where it was told the exchange.
        """
        here = set(chat.conversations)
        said = {one.turn for one in progress.said if one.conversation in here}
        said |= set(await self._db.transact(erasures.list_turns_for, progress.request.person, chat))
        turns, answers = sorted(said), list[str]()
        for start in range(0, len(turns), STEP):
            chunk = turns[start : start + STEP]
            repeats = await self._db.transact(erasures.list_repeats, chunk)
            said |= {turn for repeated in repeats.values() for turn in repeated}
        turns = sorted(said)
        for start in range(0, len(turns), STEP):
            answers += await self._db.transact(erasures.list_answers, turns[start : start + STEP])
        return turns, answers

    async def _collect_words(self, progress: _Progress, chat: SharedChat) -> PersonWords:
        request, here = progress.request, set(chat.conversations)
        said = [one for one in progress.said if one.conversation in here]
        repeats: dict[int, list[int]] = {}
        turns = sorted({one.turn for one in said})
        for start in range(0, len(turns), STEP):
            repeats |= await self._db.transact(erasures.list_repeats, turns[start : start + STEP])
        recorded = await self._db.transact(
            erasures.list_recorded_texts, request.person, chat.account, chat.chat
        )
        quoted = await self._db.transact(erasures.list_quoted_texts, request.person, chat)
        ids = [
            (thread_message_id(turn, one.id), len(one.files))
            for one in said
            for turn in (one.turn, *repeats.get(one.turn, ()))
        ]
        texts = [text for one in said for text in one.texts] + [text for text, _ in [*recorded, *quoted]]
        names = [*progress.names, *(name for _, name in [*recorded, *quoted])]
        return PersonWords(
            message_ids=tuple(identity for identity, _ in ids),
            authors=(str(request.person),),
            spared_ids=await self._list_spared(request),
            texts=tuple(dict.fromkeys(filter(None, texts))),
            names=tuple(dict.fromkeys(filter(None, names))),
            upload_keys=tuple(f"{identity}-{number}" for identity, files in ids for number in range(files)),
        )

    async def _list_spared(self, request: ErasureRequest) -> tuple[str, ...]:
        """Return the ids in agent threads of what the person wrote after the request."""
        newer = await self._db.transact(erasures.list_newer, request.person, request.upto)
        return tuple(thread_message_id(turn, number) for _, turn, number in newer)

    async def _ask_agent(self, progress: _Progress, place: str, answer: Awaitable[Mapping[str, int]]) -> None:
        """Add up what the agent erased. A runtime without the route is reported, not retried."""
        try:
            for name, count in (await answer).items():
                progress.counts[name] += count
        except RuntimeRefused as refused:
            if refused.status not in MISSING_ROUTES:
                raise
            progress.unsupported.add(place)

    async def _delete_inbox_files(self, progress: _Progress) -> None:
        """Delete files that were stored here before the agent got them."""
        if self._home is None:
            return
        refs = [ref for one in progress.said for ref in one.files]
        progress.counts["files"] += await asyncio.to_thread(_delete_files, self._home / "inbox", refs)

    async def _erase_rows(self, progress: _Progress) -> int:
        """Erase the person from the bot's store, and return the number of messages in progress."""
        request, person, now = progress.request, progress.request.person, self._clock.now()
        mask = TextMask(text for one in progress.said for text in one.texts)
        after = 0
        while (masked := await self._db.transact(mask_audit, person, after, mask)) is not None:
            after = masked[0]
            progress.counts["audit_events"] += masked[1]
        for start in range(0, request.upto, STEP):
            await self._db.transact(erasures.erase_leftovers, person, start, request.upto)
        progress.counts["schedules"] += await self._db.transact(erasures.erase_schedules, person)
        await self._db.transact(erasures.erase_names, person)
        if self.languages is not None:
            await self.languages.load_languages()
        erased, open_ = await erase_person(self._db, person, now - now % DAY, now, self._new_id, request.upto)
        progress.counts["messages"] += erased.messages
        progress.counts["deleted_threads"] += len(erased.gone)
        progress.counts["shared_threads"] += len(erased.shared)
        return open_

    async def _erase_memory(self, progress: _Progress) -> None:
        for scope in progress.request.scopes:
            try:
                await self._runtime.management.delete_memory(scope)
            except RuntimeRefused:
                continue  # a runtime without memory
        try:
            await self._runtime.erase_sign_ins(str(progress.request.person))
        except RuntimeRefused as refused:
            # A runtime without the route has no sign-ins.
            if refused.status not in MISSING_ROUTES:
                raise

    async def _delete_threads(self, progress: _Progress) -> None:
        """Delete the threads that nobody uses any more."""
        while found := await self._db.transact(list_abandoned_threads):
            for thread in found:
                await self._runtime.delete_thread(thread)
                await self._db.transact(drop_abandoned_thread, thread)

    async def _compact(self, progress: _Progress) -> None:
        try:
            await self._runtime.compact_storage()
        except RuntimeRefused as refused:
            if refused.status not in MISSING_ROUTES:
                raise
            progress.unsupported.add("storage")
        await self._db.compact()


def _delete_files(folder: Path, refs: Sequence[str]) -> int:
    """Delete the files in the folder that are among these references, and return their number. Blocking."""
    found = [path for path in map(Path, refs) if path.parent == folder and path.is_file()]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
