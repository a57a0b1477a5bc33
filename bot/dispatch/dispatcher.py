"""Processing of accepted turns: chat turns in order per conversation, commands immediately."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import structlog

from bot.access import Role
from bot.account_view import AccountView
from bot.bus.message_bus import TurnLanes
from bot.commands.registry import AnswerFile, Button, CommandServices, Handler, Invocation, Registry, Result
from bot.commands.retry import begin_queued_retry
from bot.config import Rejected, Reloaded
from bot.dispatch.acknowledgements import Acknowledgements
from bot.dispatch.observation import observe_turn
from bot.dispatch.pacing import AccountChannel, ChannelRegistry, typing_shown
from bot.dispatch.questions import mark_resolved
from bot.dispatch.reply.delivery import (
    Delivery,
    add_buttons,
    composed_outcome,
    final_parts,
    parts_of_answer,
    spent_tokens,
    with_stopper,
    without_retried_failure,
)
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.reply.streaming import ReplyStreamer
from bot.dispatch.run.chat_facts import describe_chat
from bot.dispatch.run.hooks import MakeHooks, RunScope
from bot.dispatch.run.outcome import RunOutcome
from bot.dispatch.run.session import RunSession
from bot.dispatch.side_tasks import keep_running
from bot.dispatch.start_limiter import StartLimiter
from bot.dispatch.stop_notices import StopNotices
from bot.domain import InboundChange, Origin, Part, PartKind, Sender, ToolStep
from bot.errors import OwnershipLost, RoebotError, RuntimeUnreachable, StoreUnavailable
from bot.faults import watch_steps
from bot.store.admission_types import Accepted
from bot.store.audit import Actor, author_of, record_event
from bot.store.database import urgent
from bot.store.interrupts import open_interrupt
from bot.store.stopped_answers import find_stop, find_stopper
from bot.store.turns import (
    Begin,
    Claim,
    Idle,
    Resume,
    Retry,
    Wait,
    claim_turn,
    load_turn,
    stop_turn,
)
from bot.texts import Texts
from bot.turn import OPEN_STATES, Busy, OpenedTurn, Stopped, Turn, TurnKind, TurnState
from bot.wiring import Core

log = structlog.get_logger(__name__)

RUNTIME_AWAY = 1.0
"""Retry interval while the runtime is unavailable (s)."""
MORE_LANES = 256
"""Number of conversations, in addition to those with a run, that are prepared or delivered concurrently."""
EXPIRES_AFTER = 12 * 3600.0
"""Age at which a turn that was not started expires instead of being answered (s)."""


class Dispatcher:
    """Owner of all open turns. `run` works until cancelled; a shutdown publishes no partial answers."""

    def __init__(
        self,
        core: Core,
        channels: ChannelRegistry,
        *,
        hooks: Sequence[MakeHooks],
        commands: Registry,
        reload: Callable[[], Awaitable[Reloaded | Rejected]],
    ) -> None:
        self._core = core
        self._db = core.db
        self._runtime = core.runtime
        self._clock = core.clock
        self._ownership = core.ownership
        self._channels = channels
        self._hooks = hooks
        self._commands = commands
        self._slots = asyncio.Semaphore(core.config.limits.max_runs)
        self.start_limiter = StartLimiter(channels, core.clock)
        self.acknowledgements = Acknowledgements(channels, core.db, core.clock)
        self._sessions: dict[int, RunSession] = {}
        self._sealed: dict[int, tuple[str, str]] = {}
        self._stop_notices = StopNotices(core.clock)
        lanes = core.clock, core.outages, core.config.limits.max_runs + MORE_LANES
        self.chat = TurnLanes("chat", self._work_conversation, self._give_up_conversation, *lanes)
        self.control = TurnLanes("control", self._work_control, self._give_up_control, *lanes)
        core.runs = self
        self._services = CommandServices(core, reload, queue_limit=core.config.limits.queue)

    async def run(self) -> None:
        """Process turns until cancelled."""
        parts = {
            "starts": self.start_limiter.run,
            "reactions": self.acknowledgements.run,
            "lanes:chat": self.chat.run,
            "lanes:control": self.control.run,
        }
        async with asyncio.TaskGroup() as group:
            for name, part in parts.items():
                group.create_task(keep_running(name, part, self._clock, self._core.outages), name=name)

    async def stop(self, conversation: int, actor: Actor | None = None, command: int = 0) -> bool:
        if command:
            self._stop_notices.open(conversation, command)
        stopped = await self._db.transact(stop_turn, conversation, actor, self._clock.now())
        session = self._sessions.get(conversation)
        if session is not None:
            session.stop()
        elif stopped:
            self.chat.wake(conversation)
        if not stopped:
            self._stop_notices.close(command)
        return bool(stopped)

    def on_accepted(self, accepted: Accepted) -> None:
        """Handle a new turn, which may interrupt a run or join one."""
        self.start_limiter.on_accepted(accepted)
        self.acknowledgements.on_accepted(accepted)
        session = self._sessions.get(accepted.conversation)
        if accepted.interrupts:
            self.interrupt_run(accepted.conversation)
        if session is not None and accepted.steers:
            session.steering.notify()

    def interrupt_run(self, conversation: int) -> None:
        session = self._sessions.get(conversation)
        if session is not None:
            session.stop(Stopped.INTERRUPTED)

    def on_edited(self, change: InboundChange) -> None:
        """Handle a changed message, which may be waiting to join a run."""
        for session in self._sessions.values():
            if session.is_in(change.origin.account, change.origin.chat):
                session.steering.notify()

    def joined_count(self, conversation: int) -> int:
        session = self._sessions.get(conversation)
        return session.joined_count if session is not None else 0

    def find_live_steps(self, conversation: int) -> tuple[int, tuple[ToolStep, ...]]:
        """Return the turn that runs in a conversation (0: none), and its steps so far."""
        session = self._sessions.get(conversation)
        return session.live_steps if session is not None else (0, ())

    def wake_conversation(self, conversation: int) -> None:
        self.chat.wake(conversation)

    def deliver_notice(self, turn: int) -> None:
        self.control.wake(turn)

    async def takes_notices(self, turn: Turn) -> bool:
        channel = await self._connected_channel(turn)
        return channel is None or not (await describe_chat(turn, channel)).topics_only

    def dispatch_turn(self, opened: OpenedTurn) -> None:
        # A notice may also have abandoned a question, which has to show that.
        self.chat.wake(opened.conversation)
        # Its messages may join the run.
        if session := self._sessions.get(opened.conversation):
            session.steering.notify()
        if opened.kind is not TurnKind.CHAT:
            self.control.wake(opened.turn)

    async def look_again(self, turns: Sequence[OpenedTurn], stopped: Sequence[int]) -> None:
        """Follow what other replicas have stored: new turns, and conversations whose turn was stopped."""
        for turn in turns:
            self.dispatch_turn(turn)
        for conversation in stopped:
            session = self._sessions.get(conversation)
            if session is None:
                self.chat.wake(conversation)
            elif why := await self._db.transact(find_stop, session.live_steps[0]):
                session.stop(why)

    @property
    def run_count(self) -> int:
        """Number of current runs."""
        return len(self._sessions)

    async def _work_conversation(self, conversation: int) -> None:
        """Process the open chat turns of a conversation."""
        while True:
            await self._stop_notices.wait(conversation)
            async with self.start_limiter.claim_slot(conversation):
                claim = await self._claim(conversation)
            match claim:
                case Retry(number):
                    if not await self._begin_retry(number):
                        return
                case Wait(seconds):
                    await self._clock.sleep(seconds)
                case Begin(turn) | Resume(turn):
                    async with self._ownership.scope(turn.address.account):
                        channel = await self._connected_channel(turn)
                        if channel is None:
                            return
                        self.acknowledgements.adopt(turn)
                        with observe_turn(turn, self._clock, is_new=isinstance(claim, Begin)):
                            await self._answer_turn(claim, channel)
                    self.acknowledgements.on_answered(conversation)
                case Idle():
                    return

    async def _claim(self, conversation: int) -> Claim:
        now, guard = self._clock.now(), self._ownership.guard
        return await self._db.transact(claim_turn, conversation, now, self._connected_at, guard)

    async def _begin_retry(self, number: int) -> bool:
        """Start a queued retry, or reply why it is impossible. Return False if its account no longer
        exists.
        """
        stored = await self._db.transact(load_turn, number)
        if stored is None:
            return False
        turn = stored.turn
        async with self._ownership.scope(turn.address.account):
            channel = await self._connected_channel(turn)
            if channel is None:
                return False
            try:
                problem = await begin_queued_retry(
                    turn, self._db, self._runtime, self._core.new_id, self._clock.now()
                )
            except RuntimeUnreachable:
                await self._clock.sleep(RUNTIME_AWAY)
                return True
            if problem:
                texts = self._texts_for(turn)
                await self._close_turn(stored, channel, RunOutcome(texts(problem)))
        return True

    def _connected_at(self, account: str) -> float | None:
        """Return when an account connected (s since the epoch), or None while it is not connected."""
        channel = self._channels.get(account)
        return None if channel is None else channel.connected_at

    async def _connected_channel(self, turn: Turn) -> AccountChannel | None:
        """Return a turn's account once it is connected, or None if it has been removed from the
        configuration.
        """
        channel = self._channels.get(turn.address.account)
        if channel is None:
            log.warning("account_missing", turn=turn.id, account=turn.address.account)
            return None
        if not channel.ready.is_set():
            lanes = self.chat if turn.kind is TurnKind.CHAT else self.control
            with lanes.parked():
                await channel.ready.wait()
        return channel

    async def _answer_turn(self, claim: Begin | Resume, channel: AccountChannel) -> None:
        turn, restarted = claim.turn, isinstance(claim, Resume)
        sender = self._reply_sender(turn, claim.parts, channel)
        delivery = Delivery(sender)
        outcome = composed_outcome(turn)
        if turn.state is not TurnState.DELIVERING:
            outcome = await self._run_turn(turn, sender, channel, restarted=restarted)
            outcome = self._without_retried_failure(turn, outcome, sender.reply.parts)
            if outcome.state is TurnState.CANCELLED:
                stopper = await self._db.transact(find_stopper, turn.id)
                outcome = with_stopper(turn, outcome, stopper, self._texts_for(turn))
            if outcome.interrupt:
                question = outcome.question
                decisions = question.choices if question.approval else None
                await self._db.transact(
                    open_interrupt,
                    turn,
                    outcome.interrupt,
                    decisions,
                    self._clock.now(),
                    remembered=question.remembered,
                    covers=question.covers,
                    joined=outcome.joined,
                )
            parts, spent = parts_of_answer(outcome, sender), spent_tokens(turn, outcome)
            joined, steps, error, trace = outcome.joined, outcome.steps, outcome.error, outcome.trace
            await delivery.compose(parts, error, spent, joined, steps, trace)
        await delivery.finish(outcome.state, error=outcome.error)
        log.info("turn_closed", turn=turn.id, state=outcome.state.value)

    def _without_retried_failure(self, turn: Turn, outcome: RunOutcome, parts: Sequence[Part]) -> RunOutcome:
        return without_retried_failure(outcome, parts, will_retry=self._core.will_retry(turn))

    def _account_of(self, turn: Turn) -> AccountView:
        return self._core.account(turn.address.account)

    def _texts_for(self, turn: Turn) -> Texts:
        """Return the texts for the reply to a turn."""
        return self._account_of(turn).texts_of(turn)

    async def _run_turn(
        self, turn: Turn, sender: ReplySender, channel: AccountChannel, *, restarted: bool
    ) -> RunOutcome:
        """Run a turn and stream its reply."""
        outcome = await self._outcome_without_run(turn, channel)
        if outcome is not None:
            return outcome
        streamer = ReplyStreamer(sender, typed_at=self.start_limiter.pop_typed_at(turn.conversation))
        zone = await self._core.zones.find_zone_at(turn.address)
        session = RunSession(
            RunScope(turn, channel, self._core, self._role_of, zone, sender.heard),
            self._hooks,
            roles=self._role_in(turn).role_names,
            show=streamer.update,
            start_limiter=self.start_limiter,
            steers=(turn.busy or self._account_of(turn).profile_of(turn).get("busy")) == Busy.STEER,
        )
        self._sessions[turn.conversation] = session
        try:
            # A stop or a newer message that came after the turn was loaded found no session.
            if why := await self._db.transact(find_stop, turn.id):
                session.stop(why)
            async with asyncio.TaskGroup() as group:
                group.create_task(streamer.run(), name=f"frames:{turn.id}")
                group.create_task(streamer.run_typing(), name=f"typing:{turn.id}")
                steering = group.create_task(session.steering.run(), name=f"steering:{turn.id}")
                if turn.asked_by:
                    group.create_task(self._mark_question_resolved(turn, channel), name=f"answered:{turn.id}")
                try:
                    async with self._slots:
                        return await session.run(restarted=restarted)
                finally:
                    streamer.close()
                    steering.cancel()
        finally:
            del self._sessions[turn.conversation]

    async def _outcome_without_run(self, turn: Turn, channel: AccountChannel) -> RunOutcome | None:
        """Return the outcome of a turn that needs no run; None if it needs one."""
        texts = self._texts_for(turn)
        if turn.stopped is Stopped.LEFT:
            await self._mark_question_resolved(turn, channel)
            return RunOutcome("", state=TurnState.CANCELLED)
        if not turn.run_id and turn.messages and all(message.deleted for message in turn.messages):
            return RunOutcome("", state=TurnState.CANCELLED, error="deleted")
        if not turn.run_id and self._clock.now() - turn.created_at > EXPIRES_AFTER:
            return RunOutcome(texts("expired"), state=TurnState.EXPIRED, error="expired")
        if not turn.messages and turn.stopped and turn.asked_by:
            await self._mark_question_resolved(turn, channel)
            return RunOutcome(texts("stopped"), state=TurnState.CANCELLED)
        return None

    def _role_in(self, turn: Turn) -> Role:
        return self._account_of(turn).role_in(turn)

    def _role_of(self, turn: Turn, sender: Sender) -> Role:
        """Return the role of a sender in the chat of a turn."""
        at = turn.address
        origin = Origin(at.account, turn.platform, at.chat, at.chat_kind, "", sender)
        return self._core.policy(at.account).role_of(origin)

    async def _mark_question_resolved(self, turn: Turn, channel: AccountChannel) -> None:
        """Mark the question that a turn answers or abandons as resolved."""
        question = await self._db.transact(load_turn, turn.asked_by)
        if question is not None:
            texts = self._texts_for(turn)
            sender = self._reply_sender(question.turn, question.parts, channel)
            with watch_steps(None):
                await mark_resolved(turn, sender, texts)

    async def _work_control(self, turn_id: int) -> None:
        """Answer a command, or deliver a notice."""
        urgent.set(True)
        stored = await self._db.transact(load_turn, turn_id)
        if stored is None or stored.turn.kind is TurnKind.CHAT:
            return
        turn = stored.turn
        if turn.state not in (TurnState.ACCEPTED, TurnState.DELIVERING):
            return
        async with self._ownership.scope(turn.address.account):
            channel = await self._connected_channel(turn)
            if channel is None:
                return
            with observe_turn(turn, self._clock, is_new=turn.state is TurnState.ACCEPTED):
                await self._answer_control(stored, channel)

    async def _answer_control(self, stored: Resume, channel: AccountChannel) -> None:
        turn = stored.turn
        if turn.state is TurnState.ACCEPTED:
            try:
                result = await self._run_command(turn, channel)
                if result.composed:
                    await self._work_control(turn.id)
                else:
                    with self._unsealed(turn, result):
                        outcome = RunOutcome(result.text, used=result.used)
                        await self._close_turn(stored, channel, outcome, result.documents, result.buttons)
            finally:
                self._stop_notices.close(turn.id)
        else:
            ended = composed_outcome(turn)
            await Delivery(self._reply_sender(turn, stored.parts, channel)).finish(
                ended.state, error=ended.error
            )

    @contextmanager
    def _unsealed(self, turn: Turn, result: Result) -> Iterator[None]:
        """Keep a result's secret in memory while it is delivered."""
        if result.sealed is not None:
            self._sealed[turn.id] = result.sealed
        try:
            yield
        finally:
            self._sealed.pop(turn.id, None)

    async def _close_turn(
        self,
        claim: Begin | Resume,
        channel: AccountChannel,
        outcome: RunOutcome,
        documents: Sequence[AnswerFile] = (),
        buttons: Sequence[Button] = (),
    ) -> None:
        """Close a turn that needs no run with its outcome."""
        delivery = Delivery(self._reply_sender(claim.turn, claim.parts, channel))
        parts = add_buttons(final_parts(outcome, channel), buttons, channel)
        for one in documents:
            parts.append(Part(len(parts), PartKind.DOCUMENT, one.content, filename=one.filename))
        await delivery.compose(parts, error=outcome.error, spent=spent_tokens(claim.turn, outcome))
        await delivery.finish(outcome.state, error=outcome.error)

    async def _give_up_conversation(self, conversation: int) -> None:
        """Close a turn that repeatedly fails inside the service with an error, so that it doesn't block its
        conversation.
        """
        claim = await self._claim(conversation)
        match claim:
            case Retry(number):
                await self._give_up_turn(await self._db.transact(load_turn, number))
            case Begin() | Resume():
                await self._give_up_turn(claim)
        self.acknowledgements.on_answered(conversation)

    async def _give_up_control(self, turn: int) -> None:
        await self._give_up_turn(await self._db.transact(load_turn, turn))

    async def _give_up_turn(self, claim: Begin | Resume | None) -> None:
        channel = self._channels.get(claim.turn.address.account) if claim else None
        if claim is None or channel is None or claim.turn.state not in OPEN_STATES:
            return
        turn = claim.turn
        texts = self._texts_for(turn)
        outcome = RunOutcome(
            texts("failed", message=texts("internal")), state=TurnState.FAILED, error="internal"
        )
        async with self._ownership.scope(turn.address.account):
            await self._close_turn(claim, channel, self._without_retried_failure(turn, outcome, claim.parts))

    def _reply_sender(self, turn: Turn, parts: Sequence[Part], channel: AccountChannel) -> ReplySender:
        sealed = self._sealed.get(turn.id)
        alone = self._commands.alone_for(turn, self._role_in)
        return ReplySender(turn, parts, channel, self._core, sealed, alone)

    async def _run_command(self, turn: Turn, channel: AccountChannel) -> Result:
        texts = self._texts_for(turn)
        message = turn.messages[0]
        parsed = self._commands.parse(message.text, mentioned=True, mentions=message.mentions)
        name = parsed.name if parsed else ""
        words = parsed.words if parsed else ()
        call = Invocation(turn, name, words, self._role_in(turn), texts, self._services, self._commands)
        command = self._commands.get(name)
        if command is None:
            return await self._run_handler(self._commands.fallback, call)
        refused = call.refusal_of(command)
        shown = typing_shown(channel, turn.address, self._clock) if command.slow else nullcontext()
        async with shown:
            result = Result(refused) if refused else await self._run_handler(command.handler, call)
        if event := command.audit_event(words, refused=bool(refused) or result.refused):
            await self._db.transact(record_event, author_of(turn), event, self._clock.now())
        return result

    async def _run_handler(self, handler: Handler, call: Invocation) -> Result:
        texts, name, turn = call.texts, call.name, call.turn
        try:
            return await handler(call)
        except (StoreUnavailable, OwnershipLost):
            raise
        except RoebotError as error:
            log.warning("command_failed", command=name, turn=turn.id, problem=str(error))
            return Result(texts("command_failed", name=name, reason=str(error)))
