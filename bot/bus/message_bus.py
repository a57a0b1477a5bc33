"""The message bus: it stores events before the adapter acknowledges them, then wakes the dispatcher.

`TurnLanes` run work in order within a key and concurrently between keys. A lane is a key (a conversation, a
control turn) with at most one worker. Waking an active lane makes it check for work again when it is done, so
that no wake-up is lost or counted twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace

import structlog

from agent.shared.recent_items import RecentItems
from bot.bus.admission import AdmissionPolicy, is_refused_click
from bot.clock import Clock
from bot.domain import (
    UNKNOWN_SENDER,
    InboundChange,
    InboundEvent,
    InboundMessage,
    InboundRating,
    Origin,
    Sender,
)
from bot.errors import StoreUnavailable
from bot.faults import Step, reach
from bot.languages import add_locale
from bot.store import Database
from bot.store.admission_types import Accepted, AddressedEdit, Admission, AppLimited, InboxItem, Refusal
from bot.store.chat_migration import migrate_chat
from bot.store.command_buttons import find_pressed_button
from bot.store.connection import Accounts
from bot.store.conversations import set_topic_title
from bot.store.database import urgent
from bot.store.inbox import accept_batch, load_cursor
from bot.store.outages import StoreOutages, is_lost, is_outage
from bot.store.person_data import PersonData
from bot.store.ratings import record_rating
from bot.store.turns import list_open_turns
from bot.turn import TurnKind

log = structlog.get_logger(__name__)

RETRY = (0.5, 2.0, 10.0, 60.0)


MAX_LANES = 1000
"""Maximum number of active lanes of a kind; each takes 17 KB."""
"""Maximum number of waiting conversations; messages in further ones are declined."""
MAX_REMEMBERED = 128
LONGEST_TITLE = 120
"""Characters of a title, as of one that `/title` sets."""
MOVED = "roles, budgets and schedules moved too; entries of config.yaml with the old id need the new one"


class TurnLanes:
    """Runs `work(key)` for every woken key, and `give_up(key)` after repeated failures.

    An unavailable store is not a failure: the lane waits for it. Lanes beyond `capacity` wait without a task,
    only as a key, which saves memory and time at a stop. `run` owns the tasks and ends when cancelled.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[int], Awaitable[None]],
        give_up: Callable[[int], Awaitable[None]],
        clock: Clock,
        outages: StoreOutages | None = None,
        capacity: int = MAX_LANES,
    ) -> None:
        self._name = name
        self._work = work
        self._give_up = give_up
        self._clock = clock
        self._outages = outages
        self._capacity = capacity
        self._parked = 0
        self._waiting: dict[int, None] = {}
        self._active_keys: set[int] = set()
        self._again: set[int] = set()
        self._early: list[int] = []
        self._group: asyncio.TaskGroup | None = None
        self._context = copy_context()

    @property
    def active_count(self) -> int:
        """Number of active lanes."""
        return len(self._active_keys)

    @property
    def waiting_count(self) -> int:
        """Number of lanes that wait for a place or are parked."""
        return len(self._waiting) + self._parked

    def wake(self, key: int) -> None:
        """Start the lane of `key`, or make an active lane check for work again."""
        if self._group is None:
            self._early.append(key)
        elif key in self._active_keys:
            self._again.add(key)
        else:
            self._waiting[key] = None
            self._start_waiting()

    @contextmanager
    def parked(self) -> Iterator[None]:
        """Free the place of the caller's lane while it waits, so that other lanes can start."""
        self._parked += 1
        self._start_waiting()
        try:
            yield
        finally:
            self._parked -= 1

    def _start_waiting(self) -> None:
        """Start the lanes that have waited longest, up to the capacity."""
        while self._group and self._waiting and len(self._active_keys) - self._parked < self._capacity:
            key = next(iter(self._waiting))
            del self._waiting[key]
            self._active_keys.add(key)
            # A lane may be woken from a task whose transactions depend on a lease; those of the lane don't.
            context = self._context.copy()
            self._group.create_task(self._run_lane(key), name=f"{self._name}:{key}", context=context)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            early, self._early = self._early, []
            for key in early:
                self.wake(key)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    async def _run_lane(self, key: int) -> None:
        failures = 0
        try:
            while True:
                self._again.discard(key)
                try:
                    gave_up = failures == len(RETRY)
                    await (self._give_up if gave_up else self._work)(key)
                    failures = 0
                except Exception as error:  # the lane's supervisor: a failed turn must not end the others
                    if is_lost(error):
                        log.info("lane_handed_over", lanes=self._name, key=key)
                        return
                    if self._outages is not None and is_outage(error):
                        await self._outages.wait(error)
                        continue
                    log.exception("lane_failed", lanes=self._name, key=key, failures=failures)
                    if failures == len(RETRY):
                        return
                    await self._clock.sleep(RETRY[failures])
                    failures += 1
                    continue
                if not gave_up and key not in self._again:
                    return
        finally:
            self._active_keys.discard(key)
            self._start_waiting()


class OutOfOrderEdits:
    """The latest changes of an account, in memory only."""

    def __init__(self) -> None:
        self._latest = RecentItems[tuple[str, str], InboundChange](MAX_REMEMBERED)

    def add_overtaking(self, events: Iterable[InboundEvent]) -> Iterator[InboundEvent]:
        """Yield the events, each message followed by the change that arrived before it.

        A change that did not overtake its message is stored already; the store drops it by its event id.
        """
        for event in events:
            yield event
            if isinstance(event, InboundChange):
                self._remember(event)
            elif (known := self._latest.get(_key(event.origin))) is not None and not event.clicked:
                yield known

    def _remember(self, change: InboundChange) -> None:
        key = _key(change.origin)
        known = self._latest.get(key)
        if known is None or known.at <= change.at:
            self._latest[key] = change
            self._latest.move_to_end(key)


def _key(origin: Origin) -> tuple[str, str]:
    return origin.chat, origin.message_id


class MessageBus:
    """Passes accepted turns to the lanes of the dispatcher.

    Chat turns run in one lane per conversation, so that each conversation is processed in order; each command
    and notice has its own lane, so it does not wait for them.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        queue_limit: int,
        waiting_limit: int,
        data: Sequence[PersonData] = (),
    ) -> None:
        self._db = db
        self._data = data
        self._clock = clock
        self._queue_limit = queue_limit
        self._waiting_limit = waiting_limit
        self._chat: TurnLanes | None = None
        self._control: TurnLanes | None = None
        self._watchers: list[Callable[[Accepted], None]] = []
        self._movers: list[Callable[[], Awaitable[None]]] = []
        self._followers: list[Callable[[InboundChange], None]] = []
        self._feeds: list[Callable[[int], None]] = []
        self._unknown_batch = False

    def connect_lanes(self, chat: TurnLanes, control: TurnLanes) -> None:
        """Attach the dispatcher's lanes."""
        self._chat, self._control = chat, control

    def on_move(self, follow: Callable[[], Awaitable[None]]) -> None:
        """Register a callback for chat id changes."""
        self._movers.append(follow)

    async def move_chat(self, account: str, old: str, new: str) -> None:
        """Assign the new id to all stored data of a chat."""
        await self._db.transact(migrate_chat, account, old, new, self._data)
        log.warning("chat_moved", account=account, old=old, new=new, advice=MOVED)
        for follow in self._movers:
            await follow()

    def watch_accepted(self, watcher: Callable[[Accepted], None]) -> None:
        """Register a callback for accepted turns."""
        self._watchers.append(watcher)

    def watch_others(self, watcher: Callable[[int], None]) -> None:
        """Register a callback for conversations in which another replica has stored a turn."""
        self._feeds.append(watcher)

    def follow_others(self, conversations: Iterable[int]) -> None:
        """Notify the watchers of turns that other replicas have stored."""
        for conversation in conversations:
            for watcher in self._feeds:
                watcher(conversation)

    def watch_changes(self, follower: Callable[[InboundChange], None]) -> None:
        """Register a callback for stored edits and deletions."""
        self._followers.append(follower)

    def open_inbox(self, account: str, admissions: AdmissionPolicy) -> AccountInbox:
        """Return the inbox of an account for its adapter."""
        return AccountInbox(account, admissions, self, self._db)

    def wake(self, conversation: int) -> None:
        """Wake a conversation's lane."""
        if self._chat is not None:
            self._chat.wake(conversation)

    async def accept(
        self, account: str, admissions: AdmissionPolicy, events: Sequence[InboundEvent], cursor: str
    ) -> dict[str, str]:
        """Store a batch, then wake the lanes that answer it. Return refusals by event id, like
        Inbox.accept.
        """
        now = self._clock.now()
        events = [add_locale(await self._find_command(event)) for event in events]
        admitted = [(event, admissions.admit_event(event, now)) for event in events]
        refused = {event.event_id: "" for event, found in admitted if is_refused_click(event, found)}
        batch = [found for _, found in admitted if found is not None]
        if not batch and not cursor:
            return refused
        for admission in (found for found in batch if isinstance(found, Admission)):
            await admissions.note_locale(admission)
        taken = await self._store(account, admissions, batch, cursor, now)
        accepted = [one for one in taken if isinstance(one, Accepted)]
        if accepted:
            reach(Step.STORED)
        for turn in accepted:
            self._wake_turn(turn)
        for change in _list_changes(batch):
            for follower in self._followers:
                follower(change)
        for limited in (one for one in taken if isinstance(one, AppLimited)):
            where = {"account": account, "chat": limited.chat}
            log.warning("app_limit_reached", app=limited.person, limit=limited.limit, **where)
        if accepted:
            log.info("accepted", account=account, turns=[turn.turn for turn in accepted])
        return refused | {one.event_id: one.text for one in taken if isinstance(one, Refusal)}

    async def _store(
        self, account: str, admissions: AdmissionPolicy, batch: Sequence[InboxItem], cursor: str, now: float
    ) -> list[Accepted | Refusal | AppLimited]:
        if self._chat is not None and self._chat.waiting_count >= self._waiting_limit:
            batch = [_crowd_out(found) for found in batch]
        token = urgent.set(True)
        try:
            taken = await self._db.transact(
                accept_batch, account, batch, cursor, now, self._queue_limit, admissions.record
            )
        except StoreUnavailable:
            # The batch may have been stored nevertheless; the platform's repetition is then a duplicate.
            self._unknown_batch = True
            raise
        finally:
            urgent.reset(token)
        if self._unknown_batch:
            await self.recover()
            self._unknown_batch = False
        return taken

    async def rate(self, admissions: AdmissionPolicy, rating: InboundRating) -> str:
        """Store a rating by a person with access. Return the text for them, like Inbox.rate."""
        if not admissions.is_user(rating.origin):
            return ""
        is_answer = await self._db.transact(record_rating, rating, self._clock.now())
        return admissions.texts_for(rating.origin)("rating_thanks" if is_answer else "rating_unknown")

    async def retitle(self, admissions: AdmissionPolicy, origin: Origin, title: str) -> None:
        """Store a new title, set by a person with access, for a topic with its own conversation."""
        key = admissions.find_topic(origin)
        if key is not None:
            await self._db.transact(set_topic_title, key, " ".join(title.split())[:LONGEST_TITLE])

    async def _find_command(self, event: InboundEvent) -> InboundEvent:
        """Return the event, including its command if it is a click on a command button."""
        if not isinstance(event, InboundMessage) or not event.clicked:
            return event
        pressed = await self._db.transact(find_pressed_button, event)
        return event if pressed is None else replace(event, text=f"/{pressed.command}", pressed=pressed)

    async def recover(self, accounts: Accounts = None) -> tuple[int, int]:
        """Wake all turns of some accounts (None: all) that are open, as after a stop of the service. Return
        their numbers: (conversations, control turns).
        """
        found = await self._db.transact(list_open_turns, accounts)
        lanes = dict.fromkeys(one.conversation for one in found if one.kind is TurnKind.CHAT)
        control = [one.turn for one in found if one.kind is not TurnKind.CHAT]
        for turn in control:
            if self._control is not None:
                self._control.wake(turn)
        for conversation in lanes:
            self.wake(conversation)
        return len(lanes), len(control)

    def _wake_turn(self, turn: Accepted) -> None:
        if turn.kind is TurnKind.CHAT:
            self.wake(turn.conversation)
        elif self._control is not None:
            self._control.wake(turn.turn)
        for watcher in self._watchers:
            watcher(turn)


def _crowd_out(item: InboxItem) -> InboxItem:
    """Return the item, marked to be declined if its conversation has no waiting turn yet."""
    if isinstance(item, AddressedEdit):
        return replace(item, admission=replace(item.admission, is_crowded_out=True))
    return replace(item, is_crowded_out=True) if isinstance(item, Admission) else item


def _list_changes(batch: Iterable[InboxItem]) -> list[InboundChange]:
    found = (one.change if isinstance(one, AddressedEdit) else one for one in batch)
    return [one for one in found if isinstance(one, InboundChange)]


class AccountInbox:
    """The inbox of one account; see `bot.platforms.base.Inbox`."""

    def __init__(self, account: str, admissions: AdmissionPolicy, bus: MessageBus, db: Database) -> None:
        self._account = account
        self.admissions = admissions
        self._bus = bus
        self._db = db
        self._early = OutOfOrderEdits()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        if events:
            reach(Step.RECEIVED)
        return await self._bus.accept(
            self._account, self.admissions, [*self._early.add_overtaking(events)], cursor
        )

    async def cursor(self) -> str:
        return await self._db.transact(load_cursor, self._account)

    def records(self, chat: str) -> bool:
        return self.admissions.is_read(chat)

    async def has_thread_start(self, chat: str, topic: str) -> bool:
        return await self._db.transact(self.admissions.record.has_recorded_start, self._account, chat, topic)

    def reaches_agent(self, message: InboundMessage) -> bool:
        return self.admissions.is_for_agent(message)

    def answers(self, message: InboundMessage) -> bool:
        return self.admissions.admit_message(message) is not None

    async def rate(self, rating: InboundRating) -> str:
        return await self._bus.rate(self.admissions, rating)

    async def retitle(self, origin: Origin, title: str) -> None:
        await self._bus.retitle(self.admissions, origin, title)

    def text(self, key: str, chat: str, sender: Sender = UNKNOWN_SENDER) -> str:
        return self.admissions.texts_in(chat, sender)(key)

    def alone(self, message: InboundMessage) -> bool:
        return self.admissions.is_private_command(message)

    async def migrate_chat(self, old: str, new: str) -> None:
        await self._bus.move_chat(self._account, old, new)
