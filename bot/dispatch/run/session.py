"""One run, from its creation to its outcome: joined, joined again after every break, stopped on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from agent.shared.aio import within_time
from bot.clock import Clock
from bot.dispatch.account_channel import Outlet
from bot.dispatch.approvals.interrupts import Question, question_of
from bot.dispatch.pacing.backoff import Tries
from bot.dispatch.pacing.start_limiter import Starts
from bot.dispatch.run.attachments import Handing
from bot.dispatch.run.error_text import told
from bot.dispatch.run.request import message_ids, run_request
from bot.dispatch.run.steering import Steering
from bot.dispatch.run.thread_history import earlier_in
from bot.dispatch.run.tool_log import Steps
from bot.dispatch.run.transcript import Transcript
from bot.domain import Earlier, ProgressItem, Sender, Stopped, ToolStep, Turn, TurnState
from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.faults import Step, reach
from bot.privacy.record_formatting import heard_before
from bot.runtime.interface import Answer, Joined, RuntimePort, Usage
from bot.store import Database
from bot.store.turns import set_run
from bot.texts import Texts

log = structlog.get_logger(__name__)

# How long a stopped run may take to say that it ended.
STOP_GRACE = 0.6
# So long it is tried to read what a run took in, at its end and when it is stopped.
SETTLED_WITHIN, STOPPED_WITHIN = 10.0, 0.2
# A run that the runtime forgot is started anew that many times.
MOST_RUNS = 3
ADVICE = {"ProfileUnknown": "failed_agent"}
"""What helps in a chat, by the class of a run's error."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the final text, artifacts (virtual paths), and the state that the turn closes in.

    `question` is what the agent asks at the end of it; `interrupt` is the id by which its run is resumed with
    the answer ("" where it asks nothing). `used` is what it cost, None where nobody counted. `joined` are the
    waiting messages that it took in, `steps` the tools that it called.
    """

    text: str
    artifacts: tuple[str, ...] = ()
    state: TurnState = TurnState.DONE
    error: str = ""
    question: Question = field(default_factory=Question)
    interrupt: str = ""
    used: Usage | None = None
    joined: tuple[int, ...] = ()
    steps: tuple[ToolStep, ...] = ()


class Conversation:
    """Talks to the runtime for one turn.

    `show` is called with the whole text, the work in hand and whether a text was taken back, whenever one
    changed; `starts` gives the place to create a run in; `roles` are the author's; `mask` hides secrets;
    `shut_out` says whose words don't count; `steers`: messages may join the run. `steering` is their task.
    """

    def __init__(
        self,
        turn: Turn,
        outlet: Outlet,
        *,
        db: Database,
        runtime: RuntimePort,
        clock: Clock,
        texts: Texts,
        roles: Sequence[str],
        show: Callable[[str, tuple[ProgressItem, ...], bool], None],
        starts: Starts,
        mask: Callable[[str], str],
        shut_out: Callable[[Turn, Sender], bool],
        steers: bool = False,
    ) -> None:
        self._shut_out = shut_out
        self._turn = turn
        self._outlet = outlet
        self._db = db
        self._runtime = runtime
        self._clock = clock
        self._texts = texts
        self._roles = roles
        self._show = show
        self._starts = starts
        self._mask = mask
        self._stop = asyncio.Event()
        self.steering = Steering(Handing(turn, outlet, runtime, clock), db, texts, on=steers)
        self._transcript = Transcript(self.steering.mark, steps=Steps(mask))
        # Whether events are heard as they happen: not those that are told again after a break.
        self._live = False
        self._why = turn.stopped
        if turn.stopped:
            self._stop.set()

    @property
    def joined(self) -> int:
        """How many messages have joined the run, as far as it has told."""
        return len(self._transcript.joined)

    def is_in(self, account: str, chat: str) -> bool:
        """Whether it talks in this chat."""
        return (self._turn.address.account, self._turn.address.chat) == (account, chat)

    def stop(self, why: Stopped = Stopped.ASKED) -> None:
        """End the run now."""
        self._why = self._why or why
        self._stop.set()

    async def run(self, *, restarted: bool) -> Outcome:
        """The outcome of the turn's run, however many connections it takes."""
        outcome = await self._run(restarted)
        joined = await self._taken_in()
        await self._empty_inbox()
        said = self._transcript
        return replace(outcome, used=said.used, joined=joined, steps=said.steps.kept)

    async def _taken_in(self) -> tuple[int, ...]:
        """The waiting messages that the run has taken in: what its thread says counts, what its events said
        where the thread can't be read.
        """
        said, steering = self._transcript, self.steering
        cut_off = said.status is None
        if not self._turn.run_id or not (said.joined or steering.offered or (cut_off and steering.on)):
            return ()
        hurry = cut_off or self._stop.is_set()
        reading = self._read(Tries(self._clock))
        try:
            answer = await within_time(reading, self._clock, STOPPED_WITHIN if hurry else SETTLED_WITHIN)
        except RuntimeProblem as problem:
            log.warning("joined_unknown", turn=self._turn.id, problem=str(problem))
            answer = None
        known = said.joined if answer is None else [join.id for join in answer.joins]
        return tuple(steering.number(identity) for identity in known)

    async def _empty_inbox(self) -> None:
        """What the run did not take in is not for it any more."""
        if not self.steering.offered:
            return
        try:
            await within_time(self.steering.withdraw(), self._clock, STOPPED_WITHIN)
        except RuntimeProblem as problem:
            log.warning("inbox_left", turn=self._turn.id, problem=str(problem))

    async def _run(self, restarted: bool) -> Outcome:
        work = asyncio.ensure_future(self._talk(restarted))
        stopping = asyncio.ensure_future(self._stop.wait())
        both: set[asyncio.Future[Any]] = {work, stopping}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._cancel(work)
            return work.result() if work.done() and not work.cancelled() else self._stopped()
        except RuntimeProblem as problem:
            log.warning("run_failed", turn=self._turn.id, problem=str(problem))
            return self._failure(self._describe(problem), "runtime")
        finally:
            for task in (work, stopping):
                task.cancel()
            await asyncio.gather(work, stopping, return_exceptions=True)

    async def _cancel(self, work: asyncio.Future[Outcome]) -> None:
        """Ask the runtime to end the run, and give it a moment to say so."""
        if self._turn.run_id:
            cancel = asyncio.ensure_future(self._runtime.cancel(self._turn.thread_id, self._turn.run_id))
            timer = asyncio.ensure_future(self._clock.sleep(STOP_GRACE))
            pending: set[asyncio.Future[Any]] = {work, timer}
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in (cancel, timer):
                task.cancel()
            for result in await asyncio.gather(cancel, timer, return_exceptions=True):
                if isinstance(result, RuntimeProblem):
                    log.warning("cancel_failed", turn=self._turn.id, problem=str(result))
        work.cancel()
        await asyncio.wait({work})

    async def _talk(self, restarted: bool) -> Outcome:
        if restarted and self.steering.on:
            # The run may have told already of what joined it.
            await self.steering.look()
        for _ in range(MOST_RUNS):
            naming = None
            if not self._turn.run_id:
                await self._create(repeated=restarted)
                naming = asyncio.ensure_future(self._name())
            try:
                return await self._follow_named(naming)
            except RunMissing:
                # The runtime has lost the run (another home, a server that forgets): ask again.
                log.warning("run_missing", turn=self._turn.id, run=self._turn.run_id)
                self._turn = replace(self._turn, run_id="", attempt=self._turn.attempt + 1)
                await self._name()
                said = self._transcript
                self._transcript = Transcript(self.steering.mark, steps=said.steps, used=said.used)
                self.steering.again()
        raise RuntimeUnreachable("the runtime loses its runs")

    async def _create(self, *, repeated: bool) -> None:
        handing = Handing(self._turn, self._outlet, self._runtime, self._clock)
        heard = await heard_before(self._turn, self._db, self._texts, self._earlier)
        request = await run_request(
            handing,
            self._texts,
            self._roles,
            repeated=repeated,
            heard=heard,
            steerable=self.steering.on,
        )
        tries = Tries(self._clock)
        while True:
            try:
                async with self._starts.creation():
                    run_id = await self._runtime.create(request)
                break
            except RuntimeUnreachable as problem:
                request = replace(request, repeated=True)
                await tries.pause(problem)
        reach(Step.RUN_CREATED)
        self._live = not request.repeated
        self._turn = replace(self._turn, run_id=run_id)

    async def _name(self) -> None:
        """Record the run. Nothing waits for it: the idempotency key finds the run all the same."""
        await self._db.run(set_run, self._turn.id, self._turn.run_id, self._turn.attempt)

    async def _follow_named(self, naming: asyncio.Future[None] | None) -> Outcome:
        """Follow the run while it is being recorded; the recording has ended when this has."""
        try:
            return await self._follow()
        finally:
            if naming is not None:
                await naming

    async def _follow(self) -> Outcome:
        """Read the run's events up to its end, from where the last connection broke."""
        after = ""
        tries = Tries(self._clock)
        while self._transcript.status is None:
            try:
                async for logged in self._runtime.join(self._turn.thread_id, self._turn.run_id, after):
                    after = logged.id or after
                    tries.reset()
                    now = self._clock.now() if self._live else None
                    changed = self._transcript.take(logged.event, now)
                    if isinstance(logged.event, Joined):
                        reach(Step.JOINED)
                    if changed:
                        said = self._transcript
                        self._show(said.text, said.progress.items, said.taken_back)
            except RuntimeUnreachable as problem:
                self._live = False
                await tries.pause(problem)
        if self._transcript.incomplete:
            self._transcript.settle(await self._read(Tries(self._clock)))
        if self._transcript.gap:
            await self._count()
        return self._outcome()

    async def _earlier(self, turn: Turn) -> Sequence[Earlier]:
        return await earlier_in(turn, self._outlet, self._shut_out)

    async def _read(self, tries: Tries) -> Answer:
        """What the thread's state answers to the turn, however often the runtime has to be asked."""
        while True:
            try:
                answer = await self._runtime.answer(self._turn.thread_id, message_ids(self._turn))
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
            else:
                own = tuple(join for join in answer.joins if self.steering.number(join.id))
                return replace(answer, joins=own)

    async def _count(self) -> None:
        """Events are missing, and what they told of tokens with them: the run itself is asked, once."""
        try:
            used = await self._runtime.usage(self._turn.thread_id, self._turn.run_id)
        except RuntimeProblem as problem:
            log.warning("usage_unknown", turn=self._turn.id, problem=str(problem))
        else:
            self._transcript.used = used or self._transcript.used

    def _outcome(self) -> Outcome:
        said = self._transcript
        if said.failure is not None or said.status in {"error", "timeout"}:
            message = said.failure.message if said.failure else said.status or ""
            return self._failure(told(message, self._mask), said.failure.kind if said.failure else "run")
        if self._stop.is_set():
            return self._stopped()
        asked = said.question
        question = question_of(asked.value, self._texts, self._mask) if asked is not None else Question()
        artifacts = tuple(said.artifacts)
        if said.silent and not artifacts and not question.text:
            return self._failure(self._texts("no_answer"), "no_answer")
        interrupt = asked.id if asked is not None else ""
        return Outcome(said.text, artifacts, question=question, interrupt=interrupt)

    def _stopped(self) -> Outcome:
        mark = "interrupted" if self._why is Stopped.INTERRUPTED else "stopped"
        text = "\n\n".join(filter(None, [self._transcript.text, self._texts(mark)]))
        return Outcome(text, tuple(self._transcript.artifacts), TurnState.CANCELLED)

    def _failure(self, message: str, kind: str) -> Outcome:
        advice = self._texts(ADVICE[kind]) if kind in ADVICE else ""
        line = self._texts("failed", message=" ".join(filter(None, [message or kind, advice])))
        text = "\n\n".join(filter(None, [self._transcript.text, line]))
        return Outcome(text, tuple(self._transcript.artifacts), TurnState.FAILED, kind)

    def _describe(self, problem: RuntimeProblem) -> str:
        if isinstance(problem, RuntimeRefused):
            return told(str(problem), self._mask)
        return self._texts("runtime_unreachable")
