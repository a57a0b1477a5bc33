"""One run, from its creation to its outcome: joined, joined again after every break, stopped on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from bot.clock import Clock
from bot.dispatch.handing import Handing
from bot.dispatch.input import message_ids, run_request
from bot.dispatch.outlet import Outlet
from bot.dispatch.questions import Question, question_of
from bot.dispatch.starts import Starts
from bot.dispatch.transcript import Transcript
from bot.dispatch.tries import Tries
from bot.domain import ProgressItem, Stopped, Turn, TurnState
from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.faults import Step, reach
from bot.runtime.port import Answer, RuntimePort, Usage
from bot.store import BotStore
from bot.texts import Texts

log = structlog.get_logger(__name__)

# How long a stopped run may take to say that it ended.
STOP_GRACE = 0.6
# A run that the runtime forgot is started anew that many times.
MOST_RUNS = 3
ADVICE = {"ProfileUnknown": "failed_agent"}
"""What helps in a chat, by the class of a run's error."""
MESSAGE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: the final text, artifacts (virtual paths), and the state that the turn closes in.

    `question` is what the agent asks at the end of it; `interrupt` is the id by which its run is resumed with
    the answer ("" where it asks nothing). `used` is what it cost, None where nobody counted.
    """

    text: str
    artifacts: tuple[str, ...] = ()
    state: TurnState = TurnState.DONE
    error: str = ""
    question: Question = field(default_factory=Question)
    interrupt: str = ""
    used: Usage | None = None


class Conversation:
    """Talks to the runtime for one turn.

    `show` is called with the whole text, the work in hand and whether a text was taken back, whenever one
    changed; `starts` gives the place to create a run in; `roles` are the author's; `mask` hides secrets.
    """

    def __init__(
        self,
        turn: Turn,
        outlet: Outlet,
        *,
        store: BotStore,
        runtime: RuntimePort,
        clock: Clock,
        texts: Texts,
        roles: Sequence[str],
        show: Callable[[str, tuple[ProgressItem, ...], bool], None],
        starts: Starts,
        mask: Callable[[str], str],
    ) -> None:
        self._turn = turn
        self._outlet = outlet
        self._store = store
        self._runtime = runtime
        self._clock = clock
        self._texts = texts
        self._roles = roles
        self._show = show
        self._starts = starts
        self._mask = mask
        self._stop = asyncio.Event()
        self._transcript = Transcript()
        self._why = turn.stopped
        if turn.stopped:
            self._stop.set()

    def stop(self, why: Stopped = Stopped.ASKED) -> None:
        """End the run now."""
        self._why = self._why or why
        self._stop.set()

    async def run(self, *, restarted: bool) -> Outcome:
        """The outcome of the turn's run, however many connections it takes."""
        outcome = await self._run(restarted)
        return replace(outcome, used=self._transcript.used)

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
                self._transcript = Transcript(used=self._transcript.used)
        raise RuntimeUnreachable("the runtime loses its runs")

    async def _create(self, *, repeated: bool) -> None:
        handing = Handing(self._turn, self._outlet, self._runtime, self._clock)
        request = await run_request(handing, self._texts, self._roles, repeated=repeated)
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
        self._turn = replace(self._turn, run_id=run_id)

    async def _name(self) -> None:
        """Record the run. Nothing waits for it: the idempotency key finds the run all the same."""
        await self._store.set_run(self._turn.id, self._turn.run_id, self._turn.attempt)

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
                    if self._transcript.take(logged.event):
                        said = self._transcript
                        self._show(said.text, said.progress.items, said.taken_back)
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
        if self._transcript.incomplete:
            self._transcript.settle(await self._read(Tries(self._clock)))
        if self._transcript.gap:
            await self._count()
        return self._outcome()

    async def _read(self, tries: Tries) -> Answer:
        """What the thread's state answers to the turn, however often the runtime has to be asked."""
        while True:
            try:
                return await self._runtime.answer(self._turn.thread_id, message_ids(self._turn))
            except RuntimeUnreachable as problem:
                await tries.pause(problem)

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
            return self._failure(message[:MESSAGE_LIMIT], said.failure.kind if said.failure else "run")
        if self._stop.is_set():
            return self._stopped()
        asked = said.question
        question = question_of(asked.value, self._texts, self._mask) if asked is not None else Question()
        artifacts = tuple(said.artifacts)
        if not said.text and not artifacts and not question.text:
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
            return str(problem)[:MESSAGE_LIMIT]
        return self._texts("runtime_unreachable")
