"""Construction of the run request for a turn: messages with stable ids in envelopes, earlier messages,
context.

Messages that arrive during a run are offered to it (docs/decisions/steer-through-the-run-inbox.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from agent.shared.aio import wait_first
from agent.shared.approval_words import is_yes
from agent.shared.envelope import escape_text
from bot.access import Role
from bot.access.run_context import build_run_context
from bot.commands.escaping import quoted
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.run.agent_message import AgentMessages, render_change, stopped_message
from bot.dispatch.run.hooks import RoleOf, RunHooks, RunScope
from bot.domain import HistoryMessage, PartialHistory
from bot.errors import DeliveryError, RuntimeProblem, RuntimeUnreachable
from bot.faults import Step, reach
from bot.runtime.interface import RunRequest, SteerMessage
from bot.store.quotations import with_quotations
from bot.store.steering import accepts_steering, load_steerable
from bot.turn import Turn, TurnMessage, thread_message_id

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """The service's answer to an agent's call: the interrupt's id, and the value."""

    interrupt: str
    value: Mapping[str, str]


MAX_HISTORY_MESSAGES = 100
"""Maximum number of messages read from a thread."""
# Seconds; the earlier messages are optional, so an answer does not wait longer for them.
READ_SECONDS = 5.0


# Seconds between attempts while the runtime is unavailable.
RETRY_SECONDS = 1.0
LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class EarlierInThread:
    """Earlier messages by others in a thread, oldest first. Messages before `begins` (s since the epoch) are
    unknown; 0.0: none are missing.
    """

    messages: Sequence[HistoryMessage]
    begins: float


async def load_thread_history(turn: Turn, channel: AccountChannel, role_of: RoleOf) -> EarlierInThread | None:
    """Return earlier messages by others in the turn's thread, as reported by the platform, without those by
    blocked people; None if they can't be read.
    """
    adapter, first = channel.capabilities.reads_threads, turn.messages[0].message_id if turn.messages else ""
    if adapter is None or not turn.address.topic or not first:
        return None
    try:
        async with asyncio.timeout(READ_SECONDS):
            found = await adapter.earlier(turn.address, first, MAX_HISTORY_MESSAGES)
    except (DeliveryError, TimeoutError) as problem:
        log.info("thread_not_read", turn=turn.id, problem=str(problem) or "no answer in time")
        return None
    readable = (one for one in found if one.text or one.quotations)
    heard = [one for one in readable if role_of(turn, one.sender) is not Role.BLOCKED]
    is_complete = len(found) < MAX_HISTORY_MESSAGES and not isinstance(found, PartialHistory)
    # For a page without people's messages, the time of its first message is unknown.
    oldest = found[0].sent_at if found else turn.messages[0].sent_at
    return EarlierInThread(heard, 0.0 if is_complete else oldest)


def message_ids(turn: Turn) -> list[str]:
    """Return the thread's ids of a turn's messages. They are stable, so a repeated run replaces the messages
    instead of adding duplicates.
    """
    return [message_id(turn, message.id) for message in turn.messages]


def message_id(turn: Turn, number: int) -> str:
    """Return the thread's id of a message that this turn answers."""
    return thread_message_id(turn.id, number)


def message_number(turn: Turn, identity: str) -> int:
    """Return a message's number by its id in the thread, or 0 if the turn does not answer it."""
    number = identity.rpartition("-")[2]
    is_ours = number.isdecimal() and identity == thread_message_id(turn.id, int(number))
    return int(number) if is_ours else 0


async def build_run_request(
    scope: RunScope,
    hooks: Sequence[RunHooks],
    roles: Sequence[str],
    *,
    repeated: bool,
    facts: Mapping[str, Any],
    history: str = "",
    steerable: bool = False,
) -> RunRequest:
    """Build the run request for a turn. `facts` describe the chat; `history` is the text of earlier messages;
    messages may join a `steerable` run.

    Raises RuntimeUnreachable.
    """
    turn, channel, texts = scope.turn, scope.channel, scope.texts
    builder = AgentMessages(scope, hooks)
    messages = [
        await builder.build_message(message, identity)
        for message, identity in zip(turn.messages, message_ids(turn), strict=True)
        if not message.deleted
    ]
    decision = _decision(turn, [str(message["content"]) for message in messages])
    told = [escape_text(note) for note in ([history] if history else [])]
    told += [render_change(turn.platform, note, texts) for note in turn.notes]
    if told and messages:
        messages[0]["content"] = "\n\n".join([*told, messages[0]["content"]])
    if messages:
        messages = [*(stopped_message(one, texts) for one in turn.cut_off), *messages]
    configurable = build_run_context(turn, scope.profile, texts.locale, roles, facts)
    if steerable:
        configurable["steerable"] = True
    return RunRequest(
        thread_id=turn.thread_id,
        key=f"{turn.id}:{turn.attempt}",
        messages=messages,
        answers=turn.answers,
        decision=decision,
        configurable=configurable,
        checkpoint=turn.checkpoint,
        repeated=repeated,
        assistant=channel.assistant,
    )


def build_resume_request(
    scope: RunScope,
    roles: Sequence[str],
    *,
    facts: Mapping[str, Any],
    answer: ServiceAnswer,
    steerable: bool,
    repeated: bool,
) -> RunRequest:
    """Build the request that resumes a run with the answer to a service call."""
    turn, channel = scope.turn, scope.channel
    configurable = build_run_context(turn, scope.profile, scope.texts.locale, roles, facts)
    if steerable:
        configurable["steerable"] = True
    return RunRequest(
        thread_id=turn.thread_id,
        key=f"{turn.id}:{turn.attempt}",
        messages=(),
        answers=answer.interrupt,
        decision=answer.value,
        configurable=configurable,
        repeated=repeated,
        assistant=channel.assistant,
    )


def _decision(turn: Turn, contents: Sequence[str]) -> dict[str, str] | None:
    """Return the answer to an approval; "" rejects the call. A rejection includes its author, as in
    `contents`.
    """
    if not turn.covers:
        return None
    said = [message.text for message in turn.messages if not message.deleted]
    answer = said[-1] if said else ""
    return {"answer": contents[-1] if said and not is_yes(answer) else answer, "covers": turn.covers}


class Steering:
    """The inbox of a turn's run: `on` if the run has one, `offered` if it has ever contained a message.

    `by_people`: people's messages may join. New alerts of the incident that the run is about always may.
    """

    def __init__(self, scope: RunScope, hooks: Sequence[RunHooks], *, by_people: bool) -> None:
        self.on = (by_people or scope.turn.is_incident) and accepts_steering(scope.turn)
        self._by_people = by_people
        self.offered = False
        self._uploader = scope.uploader
        self._db = scope.core.db
        self._view = scope.view
        self._texts = scope.texts
        self._builder = AgentMessages(scope, hooks)
        self._known: dict[str, TurnMessage] = {}
        self._waiting: dict[str, TurnMessage] = {}
        self._inbox: dict[str, TurnMessage] = {}
        self._news = asyncio.Event()
        self._news.set()

    def notify(self) -> None:
        """Signal that the waiting messages have changed."""
        self._news.set()

    def reset(self) -> None:
        """Refill the inbox, which the runtime may have lost."""
        self._inbox.clear()
        self.notify()

    async def run(self) -> None:
        """Synchronize the inbox with the waiting messages until cancelled."""
        pause = 0.0
        while self.on:
            await self._wait_for_news(pause)
            try:
                pause = await self._sync_inbox()
            except RuntimeUnreachable:
                pause = RETRY_SECONDS
            except RuntimeProblem as problem:
                # The run has no inbox, so the next turn answers the waiting messages.
                log.info("inbox_refused", turn=self._uploader.turn.id, problem=str(problem))
                return

    async def load_waiting(self) -> float:
        """Load the waiting messages. Return the seconds until more become eligible (0.0: none)."""
        turn, now = self._uploader.turn, self._uploader.clock.now()
        others = (partial(self._view.may_steer, turn),) if self._by_people else ()
        behind = await self._db.transact(load_steerable, turn, now, *others)
        self._waiting = {message_id(self._uploader.turn, one.id): one for one in behind.messages}
        self._known |= self._waiting
        return behind.more

    async def empty_inbox(self) -> None:
        """Remove all messages from the inbox after the run. Raises RuntimeProblem."""
        self.on = False
        for identity in list(self._inbox):
            await self._remove_message(identity)

    def joined_line(self, identity: str) -> str:
        """Return the line that marks a joined message, or "" if the id is unknown."""
        message = self._known.get(identity)
        if message is None:
            return ""
        text = with_quotations("" if message.is_incident else message.text, message.quotations)
        return self._texts("joined", text=quoted(text, LONGEST_SHOWN)) if text.strip() else ""

    def message_number(self, identity: str) -> int:
        """Return the number of the message with this thread id, or 0 if it is not part of this turn."""
        return message_number(self._uploader.turn, identity)

    async def _wait_for_news(self, pause: float) -> None:
        if pause:
            await wait_first(self._news, self._uploader.clock.sleep, pause)
        else:
            await self._news.wait()
        self._news.clear()

    async def _sync_inbox(self) -> float:
        """Update the inbox. Return the seconds until more messages become eligible."""
        more = await self.load_waiting()
        for identity in [one for one in self._inbox if one not in self._waiting]:
            await self._remove_message(identity)
        for identity, message in self._waiting.items():
            if self._inbox.get(identity) != message:
                await self._put_message(identity, message)
        return more

    async def _put_message(self, identity: str, message: TurnMessage) -> None:
        handing = self._uploader
        body = await self._builder.build_message(message, identity)
        self.offered = True
        await handing.runtime.steer(handing.turn.thread_id, SteerMessage(handing.turn.id, message.id, body))
        self._inbox[identity] = message
        reach(Step.OFFERED)

    async def _remove_message(self, identity: str) -> None:
        await self._uploader.runtime.unsteer(self._uploader.turn.thread_id, identity)
        self._inbox.pop(identity, None)
