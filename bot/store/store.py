"""The store as the rest of the bot sees it: one method, one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import ReplyAddress, ToolStep, Turn, TurnState
from bot.store import accept as accepting
from bot.store import (
    audit,
    chat_migration,
    interrupts,
    people,
    read_models,
    retries,
    steering,
    threads,
    turns,
    usage,
)
from bot.store import statements as sql
from bot.store.admission_types import Accepted, Admitted, Refusal
from bot.store.audit import Actor, AuditEntry, Deed
from bot.store.budget_store import BudgetStore
from bot.store.budgets import Limit
from bot.store.connection import Connection, Statement
from bot.store.database import Database
from bot.store.people import Given, Waiting
from bot.store.read_models import ConversationView, Counter, LaneView, TurnView
from bot.store.record_store import RecordStore
from bot.store.retention_store import ForgettingStore
from bot.store.schedule_store import ScheduleStore
from bot.store.steering import Behind
from bot.store.threads import Audience, ThreadView
from bot.store.tool_grant_store import PermissionStore
from bot.store.tool_grants import Remembered
from bot.store.turns import Answered, Claim, Decided, DecisionWord, Handed, PartChange
from bot.store.usage import Day, Spender, Spending, Spent
from bot.store.web_session_store import PageStore

KNOWN_MESSAGES_KEPT = 90 * 24 * 3600.0
AUDIT_KEPT = 400 * 24 * 3600.0
"""More than a year (seconds)."""


class BotStore:
    """Everything that outlives the process. `database` says where it runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.schedules = ScheduleStore(database)
        self.record = RecordStore(database)
        self.budgets = BudgetStore(database)
        self.forgetting = ForgettingStore(database)
        self.permissions = PermissionStore(database)
        self.pages = PageStore(database)

    @property
    def database(self) -> Database:
        """Where it runs."""
        return self._database

    async def close(self) -> None:
        """Finish what is under way and close."""
        await self._database.close()

    # Accepting

    async def accept(
        self,
        account: str,
        admitted: Sequence[Admitted],
        cursor: str,
        now: float,
        queue_limit: int,
    ) -> list[Accepted | Refusal]:
        """Store a batch of admitted messages and changes, and the receive cursor; see `bot.store.accept`."""
        return await self._database.run(accepting.accept, account, admitted, cursor, now, queue_limit)

    async def cursor(self, account: str) -> str:
        """The receive cursor of an account ("" for none)."""
        return await self._database.run(_cursor, account)

    async def migrate_chat(self, account: str, old: str, new: str) -> None:
        """A chat has another id now."""
        await self._database.run(chat_migration.migrate_chat, account, old, new)

    # Turns

    async def claim(self, conversation: int, now: float) -> Claim:
        """The turn that a conversation's lane works on next."""
        return await self._database.run(turns.claim, conversation, now)

    async def load(self, turn: int) -> Claim:
        """A turn and its parts as they stand."""
        return await self._database.run(turns.load, turn)

    async def open_lanes(self) -> list[int]:
        """Conversations with open chat turns (recovery)."""
        return await self._database.run(_ids, sql.OPEN_LANES)

    async def open_control(self) -> list[int]:
        """Open turns of commands and notices (recovery)."""
        return await self._database.run(_ids, sql.OPEN_CONTROL)

    async def set_run(self, turn: int, run_id: str, attempt: int) -> None:
        """The runtime has named the run; "" clears it before a new attempt."""
        await self._database.run(turns.set_run, turn, run_id, attempt)

    async def ask(
        self,
        turn: Turn,
        question: str,
        decisions: Sequence[str] | None = None,
        now: float = 0.0,
        *,
        remembered: Remembered | None = None,
    ) -> None:
        """The run of a turn stopped with a question (an interrupt's id): what comes next answers it, or for
        an approval with these answers, what comes from who may decide; `remembered` of them hold for later
        calls, too.
        """
        await self._database.run(interrupts.ask, turn, question, decisions, now, remembered)

    async def expire_approvals(self, before: float, now: float) -> list[int]:
        """End the approvals that were asked for before then; the conversations whose runs go on without."""
        return await self._database.run(interrupts.expire, before, now)

    async def save(
        self,
        turn: int,
        changes: Sequence[PartChange],
        now: float,
        *,
        state: TurnState | None = None,
        error: str = "",
        keep: int | None = None,
        seen: tuple[ReplyAddress, int, Sequence[str]] | None = None,
        spent: Spent | None = None,
        joined: Sequence[int] = (),
        steps: Sequence[ToolStep] = (),
    ) -> None:
        """Record parts of a reply, the state of its turn, what it cost, which messages have joined it, and
        which tools it called.
        """
        await self._database.run(
            turns.save,
            turn,
            changes,
            now,
            state=state,
            error=error,
            keep=keep,
            seen=seen,
            spent=spent,
            joined=joined,
            steps=steps,
        )

    async def behind(self, turn: Turn, now: float) -> Behind:
        """The messages that wait behind a turn and may join its run."""
        return await self._database.run(steering.behind, turn, now)

    async def stop(self, conversation: int, actor: Actor | None, now: float) -> int:
        """Mark the running turn as to be stopped, or give up an approval; see `bot.store.turns.stop`."""
        return await self._database.run(turns.stop, conversation, actor, now)

    async def last_answered(self, conversation: int) -> Answered | None:
        """What `/retry` would answer again."""
        return await self._database.run(turns.last_answered, conversation)

    async def retry(
        self,
        command: Turn,
        answered: Answered,
        *,
        checkpoint: str,
        thread_id: str,
        text: str,
        limits: Sequence[Limit] = (),
        now: float,
    ) -> int:
        """Open the turn of a `/retry`; its id."""
        return await self._database.run(
            retries.retry,
            command,
            answered,
            checkpoint=checkpoint,
            thread_id=thread_id,
            text=text,
            limits=limits,
            now=now,
        )

    async def retry_later(
        self, command: Turn, *, text: str, limits: Sequence[Limit] = (), now: float
    ) -> None:
        """Have the turn of a `/retry` wait behind what is under way."""
        await self._database.run(retries.retry_later, command, text=text, limits=limits, now=now)

    async def begin_retry(
        self, turn: int, answered: Answered, *, checkpoint: str, thread_id: str, now: float
    ) -> bool:
        """Tell a turn that waited what it repeats; see `bot.store.retries.begin_retry`."""
        return await self._database.run(
            retries.begin_retry, turn, answered, checkpoint=checkpoint, thread_id=thread_id, now=now
        )

    async def repeat(
        self,
        answered: Answered,
        view: ConversationView,
        *,
        checkpoint: str,
        thread_id: str,
        model: str,
        limits: Sequence[Limit],
        actor: Actor,
        now: float,
    ) -> int:
        """Open the turn that answers again without a command; see `bot.store.retries.repeat`."""
        return await self._database.run(
            retries.repeat,
            answered,
            view,
            checkpoint=checkpoint,
            thread_id=thread_id,
            model=model,
            limits=limits,
            actor=actor,
            now=now,
        )

    async def answer_by_agent(self, command: Turn, how: Handed, now: float) -> tuple[str, bool]:
        """Make a chat turn of a command's; see `bot.store.turns.answer_by_agent`."""
        return await self._database.run(turns.answer_by_agent, command, how, now)

    async def decide(
        self, command: Turn, number: int, now: float, word: DecisionWord, *, senior: bool
    ) -> tuple[Decided, int]:
        """Make the decision that a command is; see `bot.store.turns.decide`."""
        return await self._database.run(turns.decide, command, number, now, word, senior=senior)

    async def set_model(self, conversation: int, model: str) -> None:
        """The model chosen for a conversation ("" for the account's)."""
        await self._database.run(_execute, sql.SET_MODEL, {"id": conversation, "model": model})

    async def set_busy(self, conversation: int, busy: str) -> None:
        """What becomes of a message while a run is on there ("": what the account says)."""
        await self._database.run(_execute, sql.SET_BUSY, {"id": conversation, "busy": busy})

    async def set_plan(self, conversation: int, on: bool) -> None:
        """Whether a conversation's turns begin with a plan."""
        await self._database.run(_execute, sql.SET_PLAN, {"id": conversation, "plan": int(on)})

    async def set_agent(self, conversation: int, agent: str) -> None:
        """The agent of one's own chosen for a conversation ("" for the account's)."""
        await self._database.run(_execute, sql.SET_AGENT, {"id": conversation, "agent": agent})

    async def count(self, account: str, name: str) -> None:
        """Raise a durable count by one."""
        await self._database.run(_execute, sql.COUNT_UP, {"account": account, "name": name})

    async def forget_known(self, now: float) -> None:
        """Drop what is known of group messages too old to be answered, of changes as old, and old deeds."""
        for statement in sql.FORGET_KNOWN:
            await self._database.run(_execute, statement, {"before": now - KNOWN_MESSAGES_KEPT})
        await self._database.run(_execute, sql.FORGET_AUDIT, {"before": now - AUDIT_KEPT})

    # Views

    async def conversation(self, conversation: int) -> ConversationView | None:
        """One conversation."""
        return await self._database.run(read_models.conversation, conversation)

    async def conversations(
        self, account: str, before: int = read_models.NEWEST, limit: int = 50, owners: Sequence[str] = ()
    ) -> list[ConversationView]:
        """Conversations of an account, newest first: of all, or of these people."""
        return await self._database.run(read_models.conversations, account, before, limit, owners)

    async def lane(self, conversation: int, before: int = read_models.NEWEST) -> LaneView:
        """What goes on in a conversation, as far as its turns have ids below `before`."""
        return await self._database.run(read_models.lane, conversation, before)

    async def turns(
        self, conversation: int | None, before: int = read_models.NEWEST, limit: int = 50
    ) -> list[TurnView]:
        """Turns of a conversation, or of all (None), newest first."""
        return await self._database.run(read_models.turns, conversation, before, limit)

    async def turns_owned(
        self, owner: str, account: str, before: int = read_models.NEWEST, limit: int = 50
    ) -> list[TurnView]:
        """Turns of somebody's own conversations there and at the page, newest first."""
        return await self._database.run(read_models.turns_owned, owner, account, before, limit)

    async def counters(self) -> list[Counter]:
        """Every durable count."""
        return await self._database.run(read_models.counters)

    async def open_counts(self) -> dict[tuple[str, str], int]:
        """How many turns are open, by (kind, state)."""
        return await self._database.run(read_models.open_counts)

    # Tokens

    async def spending(
        self, since: float, *, person: str | None = None, conversation: int | None = None
    ) -> Spending:
        """What turns accepted since then cost: all, one person's, or those of one conversation."""
        return await self._database.run(usage.spending, since, person, conversation)

    async def days_spent(self, since: float, ahead: float, person: str | None = None) -> list[Day]:
        """What each day since then cost, as clocks show it that are `ahead` of UTC by so many seconds."""
        return await self._database.run(usage.days, since, ahead, person)

    async def last_spent(self, conversation: int) -> Spent | None:
        """What the newest turn of a conversation cost that cost anything."""
        return await self._database.run(usage.last_spent, conversation)

    async def spender(self, since: float, person: str) -> Spender:
        """What the turns of one person (`platform:id`) cost since then."""
        return await self._database.run(usage.spender, since, person)

    async def spenders(self, since: float, after: str = "", limit: int = 50) -> list[Spender]:
        """What each person's turns cost since then, by `person`, beginning after that one."""
        return await self._database.run(usage.spenders, since, after, limit)

    async def top_spenders(self, since: float, limit: int) -> list[Spender]:
        """Those whose turns cost most since then, the most first."""
        return await self._database.run(usage.top_spenders, since, limit)

    # Threads

    async def threads(self, conversation: int) -> list[ThreadView]:
        """The latest threads of a conversation, in the order in which they began."""
        return await self._database.run(threads.threads, conversation)

    async def set_title(self, conversation: int, title: str) -> None:
        """What a conversation is called."""
        await self._database.run(_execute, sql.SET_TITLE, {"id": conversation, "title": title})

    async def audiences(self, since: float) -> list[Audience]:
        """Every chat in which somebody was answered since then, once."""
        return await self._database.run(threads.audiences, since)

    async def announce(
        self, chosen: Sequence[Audience], text: str, command: Turn, answer: str, now: float
    ) -> list[int]:
        """Open a notice in each of these chats, and record the command's answer with them; their turns."""
        return await self._database.run(turns.announce, chosen, text, command, answer, now)

    # People

    async def given(self) -> list[Given]:
        """Every role that was given by people, by entry."""
        return await self._database.run(people.given)

    async def give(self, one: Given, actor: Actor, now: float) -> None:
        """Give a role in place of another one."""
        await self._database.run(people.give, one, actor, now)

    async def take(self, entry: str, actor: Actor, now: float) -> bool:
        """Take a role back; whether there was one."""
        return await self._database.run(people.take, entry, actor, now)

    async def waiting(self, now: float, code: str = "") -> list[Waiting]:
        """Strangers with a code that is still good; the one with this code where one is given."""
        return await self._database.run(people.waiting, now, code)

    async def pair(self, code: str, role: str, welcome: str, actor: Actor, now: float) -> int | None:
        """Give the stranger with this code a role, and record what they are told: the turn that tells them;
        None where nobody waits with that code.
        """
        return await self._database.run(people.admit, code, role, welcome, actor, now)

    async def admit(
        self, code: str, role: str, welcome: str, command: Turn, text: str, now: float
    ) -> int | None:
        """Give the stranger with this code a role, and record what they and who did it are told.

        The id of the turn that tells them; None where nobody waits with that code.
        """
        return await self._database.run(turns.admit, code, role, welcome, command, text, now)

    # Audit

    async def note(self, actor: Actor, deed: Deed, now: float) -> None:
        """Write down what somebody did, once."""
        await self._database.run(audit.note, actor, deed, now)

    async def audit(
        self, before: int = read_models.NEWEST, limit: int = 50, person: str = ""
    ) -> list[AuditEntry]:
        """What was done, newest first: by or to one person, or by all."""
        return await self._database.run(audit.entries, before, limit, person)

    async def deeds(self, person: str, action: str, since: float) -> int:
        """How often somebody did something since then."""
        return await self._database.run(audit.count, person, action, since)


def _cursor(connection: Connection, account: str) -> str:
    return str(connection.execute(sql.GET_CURSOR, {"account": account}).scalar_one_or_none() or "")


def _ids(connection: Connection, statement: Statement) -> list[int]:
    return [int(row[0]) for row in connection.execute(statement).all()]


def _execute(connection: Connection, statement: Statement, values: dict[str, object]) -> None:
    connection.execute(statement, values)
