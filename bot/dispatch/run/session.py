"""A turn's session on the agent runtime: follow its runs, answer their calls, recover lost connections,
stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import structlog
from structlog.contextvars import bind_contextvars

from agent.shared.aio import within_time
from bot.dispatch.pacing import Backoff
from bot.dispatch.questions import Question, read_question
from bot.dispatch.run.answer_files import AnswerPaths, attach_linked_files
from bot.dispatch.run.chat_facts import build_chat_facts
from bot.dispatch.run.exchanges import format_exchanges
from bot.dispatch.run.hooks import AnswerAddition, MakeHooks, RunScope, ServiceCall
from bot.dispatch.run.outcome import ADVICE, NO_ANSWER, RunOutcome, public_message
from bot.dispatch.run.request import (
    ServiceAnswer,
    Steering,
    build_resume_request,
    build_run_request,
    message_ids,
)
from bot.dispatch.run.service_calls import (
    MAX_REFUSED,
    MAX_SERVICE_CALLS,
    ServiceCalls,
    read_service_call,
    refuse_call,
)
from bot.dispatch.run.transcript import Draft, RunTranscript, ToolLog
from bot.dispatch.run.turn_runs import TurnRuns
from bot.dispatch.start_limiter import StartLimiter
from bot.domain import ToolStep
from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.faults import Step, reach
from bot.render.thread_paths import ThreadPaths
from bot.runtime.interface import MessageJoined, RunRequest, ThreadAnswer
from bot.store.conversations import set_agent_title
from bot.store.quotations import first_words
from bot.turn import Stopped, TurnState

log = structlog.get_logger(__name__)

# Time in which a stopped run has to report its end (s).
STOP_GRACE = 0.6
# Time limits for reading which messages joined a run: at its end, and after a stop (s).
SETTLED_WITHIN, STOPPED_WITHIN = 10.0, 0.2
# Number of starts of a run that the runtime has lost.
MOST_RUNS = 3
# Time limits for a creation that a stop has to wait for, and for cancelling after a restart, when the runtime
# may be starting too (s).
CREATED_WITHIN, CANCELLED_WITHIN = 5.0, 10.0


class RunSession:
    """The execution of a turn on the runtime.

    `show` is called after each change, with a function that returns what the run shows, and whether its last
    text has only grown; `start_limiter` limits the creation of runs; `roles` are the author's; `features`
    make the hooks of the run; with `steers`, people's messages may join the run by `steering`.
    """

    def __init__(
        self,
        scope: RunScope,
        features: Sequence[MakeHooks],
        *,
        roles: Sequence[str],
        show: Callable[[Callable[[], Draft], bool], None],
        start_limiter: StartLimiter,
        steers: bool = False,
    ) -> None:
        self._scope = scope
        self._turn = turn = scope.turn
        core = scope.core
        self._db = core.db
        self._runtime = core.runtime
        self._clock = core.clock
        self._texts = scope.texts
        self._roles = roles
        self._hooks = [make(scope) for make in features]
        self._services = ServiceCalls(turn, self._hooks)
        self._answer: ServiceAnswer | None = None
        self._show = show
        self._mask = core.mask_secrets
        self._runs = TurnRuns(turn, core.runtime, core.db, core.clock, start_limiter)
        self._restarted = False
        self.steering = Steering(scope, self._hooks, by_people=steers)
        self._transcript = RunTranscript(self.steering.joined_line, tool_log=ToolLog(core.mask_secrets))
        # True while events arrive as they happen, false while those before a lost connection are repeated.
        self._is_live = False
        self._paths = AnswerPaths()
        self._stop_reason = turn.stopped
        if turn.stopped:
            self._runs.stopping.set()

    @property
    def joined_count(self) -> int:
        """Number of messages that have joined the run, according to its events."""
        return len(self._transcript.joined)

    @property
    def live_steps(self) -> tuple[int, tuple[ToolStep, ...]]:
        """The turn, and the steps of its run so far."""
        return self._turn.id, self._transcript.steps

    def is_in(self, account: str, chat: str) -> bool:
        """Return whether the turn belongs to this chat."""
        return (self._turn.address.account, self._turn.address.chat) == (account, chat)

    def stop(self, why: Stopped = Stopped.ASKED) -> None:
        """Stop the run."""
        self._stop_reason = self._stop_reason or why
        self._runs.stopping.set()

    async def run(self, *, restarted: bool) -> RunOutcome:
        """Run the turn and return its outcome. Lost connections are re-established."""
        self._restarted, begin = restarted, self._clock.now()
        if restarted:
            self._runs.on_restart()
        outcome, said = await self._run_until_stopped(), self._transcript
        additions = tuple(await self._add_to_answer(outcome))
        if additions and outcome.error == NO_ANSWER:
            # They are the answer.
            outcome = RunOutcome(said.final_text)
        outcome = await self._attach_files(outcome)
        joined = await self._collect_steered()
        await self._empty_inbox()
        trace = said.trace(begin, self._clock.now())
        return replace(
            outcome, used=said.usage, joined=joined, steps=said.steps, additions=additions, trace=trace
        )

    async def _add_to_answer(self, outcome: RunOutcome) -> list[AnswerAddition]:
        """Return the features' additions to a finished answer."""
        if outcome.state is not TurnState.DONE and outcome.error != NO_ANSWER:
            return []
        return [one for hook in self._hooks for one in await hook.add_to_answer(restarted=self._restarted)]

    async def _attach_files(self, outcome: RunOutcome) -> RunOutcome:
        """Return the outcome without file paths in its text; a complete answer receives the linked files."""
        if outcome.state is not TurnState.DONE:
            return replace(outcome, text=ThreadPaths().clean(outcome.text))
        thread = self._turn.thread_id
        text, files = await attach_linked_files(self._runtime, thread, outcome.text, outcome.artifacts)
        question = outcome.question
        if not question.approval:
            # An approval shows the call as it is.
            asked, files = await attach_linked_files(self._runtime, thread, question.text, files)
            choices = dict.fromkeys(ThreadPaths().clean(choice) or choice for choice in question.choices)
            question = replace(question, text=asked, choices=tuple(choices))
        return replace(outcome, text=text, artifacts=files, question=question)

    async def _collect_steered(self) -> tuple[int, ...]:
        """Return the messages that joined the run, according to its thread's state, or to its events if the
        thread can't be read.
        """
        said, steering = self._transcript, self.steering
        cut_off = said.status is None
        if not self._runs.exist or not (said.joined or steering.offered or (cut_off and steering.on)):
            return ()
        hurry = cut_off or self._runs.stopping.is_set()
        reading = self._read_answer(Backoff(self._clock))
        try:
            answer = await within_time(
                reading, self._clock.sleep, STOPPED_WITHIN if hurry else SETTLED_WITHIN
            )
        except RuntimeProblem as problem:
            log.warning("joined_unknown", turn=self._turn.id, problem=str(problem))
            answer = None
        known = said.joined if answer is None else [join.id for join in answer.joins]
        return tuple(steering.message_number(identity) for identity in known)

    async def _empty_inbox(self) -> None:
        """Empty the run's inbox, so that no later run reads its unread messages."""
        if not self.steering.offered:
            return
        try:
            await within_time(self.steering.empty_inbox(), self._clock.sleep, STOPPED_WITHIN)
        except RuntimeProblem as problem:
            log.warning("inbox_left", turn=self._turn.id, problem=str(problem))

    async def _run_until_stopped(self) -> RunOutcome:
        work = asyncio.ensure_future(self._create_and_follow())
        stopping = asyncio.ensure_future(self._runs.stopping.wait())
        both: set[asyncio.Future[Any]] = {work, stopping}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._cancel_run(work)
            return work.result() if work.done() and not work.cancelled() else self._stopped_outcome()
        except RuntimeProblem as problem:
            log.warning("run_failed", turn=self._turn.id, problem=str(problem))
            return self._failed_outcome(self._describe_problem(problem), "runtime")
        finally:
            for task in (work, stopping):
                task.cancel()
            await asyncio.gather(work, stopping, return_exceptions=True)

    async def _cancel_run(self, work: asyncio.Future[RunOutcome]) -> None:
        """Cancel the newest run, and wait up to STOP_GRACE seconds for it to finish."""
        await self._runs.finish_creation(CREATED_WITHIN)
        if self._runs.may_exist:
            limit = CANCELLED_WITHIN if self._restarted else STOP_GRACE
            try:
                await within_time(self._runs.cancel(), self._clock.sleep, limit)
            except RuntimeProblem as problem:
                log.warning("cancel_failed", turn=self._turn.id, problem=str(problem))
            await within_time(asyncio.wait({work}), self._clock.sleep, STOP_GRACE)
        work.cancel()
        await asyncio.wait({work})

    async def _create_and_follow(self) -> RunOutcome:
        """Follow the turn's runs until they finish, answering their service calls."""
        if self._restarted and self.steering.on:
            # The run's events may refer to messages that joined it before the restart.
            await self.steering.load_waiting()
        outcome = await self._follow_one()
        for number in range(MAX_SERVICE_CALLS + MAX_REFUSED):
            call = read_service_call(self._transcript.question)
            if not await self._enters_known_run(call):
                if call is None:
                    return outcome
                if self._runs.stopping.is_set():
                    # The outcome was composed before the stop, and has the call as a question to people.
                    return self._stopped_outcome()
                value = (
                    await self._services.answer_call(call, self._clock.now())
                    if number < MAX_SERVICE_CALLS
                    else refuse_call()
                )
                self._answer = ServiceAnswer(call.interrupt, value)
                reach(Step.SERVICE_ANSWERED)
                self._runs.begin_next()
            self._transcript.go_on()
            outcome = await self._follow_one()
        if read_service_call(self._transcript.question) is None:
            return outcome
        return self._failed_outcome(self._texts("no_answer"), "service_calls")

    async def _enters_known_run(self, call: ServiceCall | None) -> bool:
        """Continue with the run that follows the current one if it was created before a restart. A run whose
        events are lost may also have called the service.
        """
        led_on = call is not None or self._transcript.events_missing
        return self._restarted and led_on and await self._runs.enter_next()

    async def _follow_one(self) -> RunOutcome:
        for _ in range(MOST_RUNS):
            naming = None
            if not self._runs.turn.run_id:
                if not await self._create_run():
                    return self._stopped_outcome()
                naming = asyncio.ensure_future(self._runs.record())
            try:
                return await self._follow_recorded(naming)
            except RunMissing:
                await self._runs.begin_anew()
                said = self._transcript
                self._transcript = RunTranscript(
                    self.steering.joined_line,
                    tool_log=said.tool_log,
                    calls=said.calls,
                    usage=said.usage,
                    earlier_usage=said.usage,
                )
                self.steering.reset()
        raise RuntimeUnreachable("the runtime keeps losing its runs")

    async def _create_run(self) -> bool:
        """Create the current run. Return False if the turn was stopped before."""
        if self._runs.stopping.is_set():
            return self._restarted and await self._runs.enter_current()
        created = await self._runs.create(await self._build_request(repeated=self._restarted))
        self._is_live = self._runs.is_fresh
        bind_contextvars(run_id=self._runs.turn.run_id)
        return created

    async def _build_request(self, *, repeated: bool) -> RunRequest:
        scope = replace(self._scope, turn=self._runs.turn)
        if self._answer is not None:
            return build_resume_request(
                scope,
                self._roles,
                facts=await self._describe_chat(),
                answer=self._answer,
                steerable=self.steering.on,
                repeated=repeated,
            )
        facts, history = await asyncio.gather(self._describe_chat(), self._read_chat_history())
        return await build_run_request(
            scope,
            self._hooks,
            self._roles,
            repeated=repeated,
            facts=facts,
            history=history,
            steerable=self.steering.on,
        )

    async def _read_chat_history(self) -> str:
        """Return the chat's messages before the turn that the conversation does not know yet."""
        turn, zone, blocked = self._turn, self._scope.zone, self._scope.blocked
        hidden = {person for hook in self._hooks for person in await hook.hidden_people()}
        exchanges = await format_exchanges(
            turn, self._db, self._texts, zone, is_hidden=blocked.is_blocked, hidden_people=hidden
        )
        notes = [note for hook in self._hooks for note in await hook.notes()]
        return "\n\n".join(filter(None, [exchanges, *notes]))

    async def _describe_chat(self) -> dict[str, Any]:
        offered, now = self._services.offered, self._clock.now()
        return await build_chat_facts(self._scope, now, offered)

    async def _follow_recorded(self, naming: asyncio.Future[None] | None) -> RunOutcome:
        """Follow the run while storing it; both are complete on return."""
        try:
            return await self._follow_run()
        finally:
            if naming is not None:
                await naming

    async def _follow_run(self) -> RunOutcome:
        """Follow the run's events until it finishes, reconnecting after the last received event."""
        after, run_id = "", self._runs.turn.run_id
        tries = Backoff(self._clock)
        while self._transcript.status is None:
            try:
                async for logged in self._runtime.join_run(self._turn.thread_id, run_id, after):
                    after = logged.id or after
                    tries.reset()
                    now = self._clock.now() if self._is_live else None
                    grows = self._transcript.is_growing(logged.event)
                    changed = self._transcript.record_event(logged.event, now)
                    if isinstance(logged.event, MessageJoined):
                        reach(Step.JOINED)
                    if changed:
                        self._show(self._read_draft, grows)
            except RuntimeUnreachable as problem:
                self._is_live = False
                await tries.pause(problem)
        # The run that follows a call may already have written to the thread, and its events report that too.
        called = read_service_call(self._transcript.question) is not None
        if self._transcript.is_told_in_part or (self._transcript.incomplete and not called):
            self._transcript.reconcile(await self._read_answer(Backoff(self._clock)))
        if self._transcript.events_missing:
            await self._read_usage()
        await self._title_conversation()
        return self._compose_outcome()

    def _read_draft(self) -> Draft:
        return self._paths.clean_draft(self._transcript.draft)

    async def _title_conversation(self) -> None:
        """Copy the thread's title to the conversation, unless a person has set one."""
        title, messages = self._transcript.title, self._turn.messages
        if title and messages:
            message = messages[0]
            first = first_words(message.text, message.quotations)
            await self._db.transact(set_agent_title, self._turn.conversation, title, first)

    async def _read_answer(self, tries: Backoff) -> ThreadAnswer:
        """Read the answer from the thread's state, retrying while the runtime is unreachable."""
        while True:
            try:
                answer = await self._runtime.read_answer(self._turn.thread_id, message_ids(self._turn))
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
            else:
                own = tuple(join for join in answer.joins if self.steering.message_number(join.id))
                return replace(answer, joins=own)

    async def _read_usage(self) -> None:
        """Read the run's token usage once, because events with token counts are missing."""
        try:
            used = await self._runtime.read_usage(self._turn.thread_id, self._runs.turn.run_id)
        except RuntimeProblem as problem:
            log.warning("usage_unknown", turn=self._turn.id, problem=str(problem))
        else:
            self._transcript.set_run_usage(used)

    def _compose_outcome(self) -> RunOutcome:
        said = self._transcript
        if said.failure is not None or said.status in {"error", "timeout"}:
            message = said.failure.message if said.failure else said.status or ""
            return self._failed_outcome(
                public_message(message, self._mask), said.failure.kind if said.failure else "run"
            )
        if self._runs.stopping.is_set():
            return self._stopped_outcome()
        asked = said.question
        question = self._read_question(asked.value) if asked is not None else Question()
        artifacts = tuple(said.artifacts)
        if said.silent and said.latest_remark is None and not artifacts and not question.text:
            return self._failed_outcome(self._texts("no_answer"), NO_ANSWER)
        interrupt = asked.id if asked is not None else ""
        return RunOutcome(said.final_text, artifacts, question=question, interrupt=interrupt)

    def _read_question(self, value: Any) -> Question:
        """Parse an interrupt value as a question, using the feature that handles its type."""
        for hook in self._hooks:
            if (question := hook.read_question(value)) is not None:
                return question
        return read_question(value, self._texts, self._mask)

    def _stopped_outcome(self) -> RunOutcome:
        mark = "interrupted" if self._stop_reason is Stopped.INTERRUPTED else "stopped"
        text = "\n\n".join(filter(None, [self._transcript.final_text, self._texts(mark)]))
        return RunOutcome(text, tuple(self._transcript.artifacts), TurnState.CANCELLED)

    def _failed_outcome(self, message: str, kind: str) -> RunOutcome:
        advice = self._texts(ADVICE[kind]) if kind in ADVICE else ""
        line = self._texts("failed", message=" ".join(filter(None, [message or kind, advice])))
        text = "\n\n".join(filter(None, [self._transcript.final_text, line]))
        return RunOutcome(text, tuple(self._transcript.artifacts), TurnState.FAILED, kind)

    def _describe_problem(self, problem: RuntimeProblem) -> str:
        if isinstance(problem, RuntimeRefused) and problem.status == HTTPStatus.UNAUTHORIZED:
            return self._texts("runtime_token")
        if isinstance(problem, RuntimeRefused):
            return public_message(str(problem), self._mask)
        return self._texts("runtime_unreachable")
