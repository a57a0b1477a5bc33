"""What this process owns: the accounts whose turns it answers, and the background jobs.

Without replicas, it owns everything. With replicas, each account and job has one owner (`replica_leases`).
The owner of an account processes its turns, so that their order, the pacing of calls and the state of a reply
stay in one process; every replica accepts messages. Work on something owned runs in a `scope`, which ends
with OwnershipLost as soon as this process finds that it is no longer the owner.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from agent.shared.aio import within_time
from agent.shared.metrics import set_leases_held
from bot.clock import Clock
from bot.errors import OwnershipLost, StoreError, StoreUnavailable
from bot.store.connection import Connection
from bot.store.database import Database
from bot.store.replica_leases import (
    EXPIRES_AFTER,
    KnownLeases,
    OwnerLease,
    Replica,
    check_lease,
    claim,
    describe_lease,
    fence,
    fenced,
    leave,
    release,
    renew_replica,
    start_replica,
)

log = structlog.get_logger(__name__)
T = TypeVar("T")

ACCOUNT = "account "
"""Prefix of an account's name among leases."""
JOBS = "jobs"
"""The lease of the background jobs."""
RENEW_EVERY = 0.5
"""Seconds between renewals, and between attempts to own something."""
FRESH = 2.0
"""Seconds after the start of a renewal in which nobody can have taken over, with a margin for a slow call."""
HAND_OVER = 10.0
"""Seconds that a hand-over waits for the end of the work in progress."""
OVERLOADED_FOR = 5.0
"""Seconds after which a replica gives away what is more than its share."""
OTHERS_FIRST = 1.5
"""Seconds for which a replica with its share leaves the rest to others."""


@dataclass(slots=True, eq=False)
class _Held:
    """Something owned, with the scopes of the work on it."""

    lease: OwnerLease
    since: float
    scopes: set[asyncio.Timeout] = field(default_factory=set)
    is_idle: asyncio.Event = field(default_factory=asyncio.Event)
    is_ending: bool = False

    def end_scopes(self) -> None:
        """End the work in progress."""
        self.is_ending = True
        for scope in self.scopes:
            if not scope.expired():
                scope.reschedule(-1)


class Ownership:
    """What this process owns; see the module. Without a `replica`, it owns everything, at no cost."""

    def __init__(self, db: Database, clock: Clock, replica: Replica | None = None) -> None:
        self._db = db
        self._clock = clock
        self.replica = replica
        self.known = KnownLeases({}, {})
        """All leases, as of the last renewal."""
        self._held: dict[str, _Held] = {}
        self._renewed_at = -math.inf
        self._steady_since = math.inf
        self._overloaded_since = math.inf
        self._wanted = 0
        self._followers: list[Callable[[str], Awaitable[None]]] = []
        self.describe: Callable[[str], str] = lambda _account: ""

    def on_acquired(self, follow: Callable[[str], Awaitable[None]]) -> None:
        """Register a callback for what this process owns from now on."""
        self._followers.append(follow)

    @property
    def has_company(self) -> bool:
        """Whether other replicas are running."""
        return len(self.known.replicas) > 1

    def owns(self, account: str) -> bool:
        """Return whether this process owns an account, as far as it knows."""
        return self.replica is None or ACCOUNT + account in self._held

    def list_accounts(self) -> list[str]:
        """Return the accounts that this process owns, if there are replicas."""
        return [name.removeprefix(ACCOUNT) for name in self._held if name.startswith(ACCOUNT)]

    def find_other_owner(self, account: str) -> tuple[str, str]:
        """Return another replica that owns an account, and how it describes its state; ("", "") if none."""
        lease, about = self.known.owned.get(ACCOUNT + account, (None, ""))
        for one in self.known.replicas.values():
            if lease is not None and one.holder == lease.holder and one != self.replica:
                return one.name, about
        return "", ""

    def guard(self, connection: Connection, account: str) -> None:
        """Raise OwnershipLost unless this process owns an account until the end of the transaction."""
        if self.replica is not None:
            check_lease(connection, self._find(account).lease)

    def _find(self, account: str) -> _Held:
        held = self._held.get(ACCOUNT + account)
        if held is None or held.is_ending:
            raise OwnershipLost(ACCOUNT + account)
        return held

    @asynccontextmanager
    async def scope(self, account: str) -> AsyncIterator[None]:
        """Work for an owned account. Every transaction of the context depends on the lease.

        Raises OwnershipLost at once if this process does not own it, or when it is lost.
        """
        if self.replica is None:
            yield
            return
        async with self._enter(self._find(account)):
            yield

    @asynccontextmanager
    async def _enter(self, held: _Held) -> AsyncIterator[None]:
        held.is_idle.clear()
        scope = asyncio.timeout(None)
        try:
            with fenced(held.lease):
                async with scope:
                    held.scopes.add(scope)
                    yield
        except TimeoutError as error:
            if scope.expired():
                raise OwnershipLost(held.lease.name) from error
            raise
        finally:
            held.scopes.discard(scope)
            if not held.scopes:
                held.is_idle.set()

    async def confirm(self) -> None:
        """Confirm the lease of the current scope before an effect that no transaction protects.

        Raises OwnershipLost. Costs a statement only if the last renewal was a while ago, as after a pause.
        """
        lease = fence.get()
        if lease is None:
            return
        held = self._held.get(lease.name)
        # The end of a scope reaches its tasks a moment later.
        if held is None or held.is_ending or held.lease != lease:
            raise OwnershipLost(lease.name)
        if self._clock.now() - self._renewed_at > FRESH:
            await self._db.transact(check_lease, lease)

    async def _store_descriptions(self) -> None:
        """Store the states of owned accounts, for the consoles of other replicas."""
        for account in self.list_accounts() if self.has_company else ():
            lease, stored = self.known.owned.get(ACCOUNT + account, (None, ""))
            if lease is not None and (about := self.describe(account)) != stored:
                with suppress(StoreUnavailable):
                    await self._db.transact(describe_lease, lease, about)

    async def while_held(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Wait until this process owns something, then work. After a loss, wait and begin again."""
        if self.replica is None:
            return await work()
        self._wanted += 1
        try:
            while True:
                held = await self._acquire(self.replica, name)
                try:
                    async with self._enter(held):
                        for follow in self._followers:
                            await follow(name)
                        return await work()
                except OwnershipLost:
                    log.warning("ownership_ended", name=name)
                finally:
                    await self._leave(name, held)
        finally:
            self._wanted -= 1

    async def _acquire(self, replica: Replica, name: str) -> _Held:
        while True:
            try:
                # Who owns less comes first.
                await self._clock.sleep(min(RENEW_EVERY, 0.05 * len(self._held)))
                lease = OwnerLease(name, replica.holder, secrets.token_hex(8))
                if len(self._held) >= self._share:
                    await self._clock.sleep(OTHERS_FIRST)
                now = self._clock.now()
                steady = now - self._steady_since >= EXPIRES_AFTER and now - self._renewed_at < FRESH
                if await self._db.transact(claim, lease, steady=steady):
                    held = self._held[name] = _Held(lease, now)
                    log.info("ownership_taken", name=name, replica=replica.name)
                    return held
            except StoreUnavailable:
                self._steady_since = math.inf
            await self._clock.sleep(RENEW_EVERY)

    async def _leave(self, name: str, held: _Held) -> None:
        """End the work on something owned, then let another replica take over."""
        del self._held[name]
        if held.scopes:
            held.end_scopes()
            await within_time(held.is_idle.wait(), self._clock.sleep, HAND_OVER)
        try:
            await self._db.transact(release, held.lease)
        except StoreError as error:
            log.warning("lease_not_released", name=name, problem=str(error))  # it expires

    async def start(self) -> None:
        """Join the replicas. Raises StoreUnavailable."""
        if self.replica is not None:
            await self._renew(start_replica, self.replica)

    async def keep(self) -> None:
        """Renew the lease of this replica until cancelled, and end the work on what it has lost."""
        assert self.replica is not None
        while True:
            await self._clock.sleep(RENEW_EVERY)
            try:
                await self._renew(renew_replica, self.replica)
            except StoreUnavailable:
                self._steady_since = math.inf
                continue
            for name, held in list(self._held.items()):
                lease, _ = self.known.owned.get(name, (None, ""))
                if lease != held.lease and held.since < self._renewed_at:
                    held.end_scopes()
            set_leases_held("account", len(self.list_accounts()))
            self._give_away()
            await self._store_descriptions()

    async def _renew(self, work: Callable[[Connection, Replica], KnownLeases], replica: Replica) -> None:
        began = self._clock.now()
        self.known = await self._db.transact(work, replica)
        if began - self._renewed_at > FRESH:
            self._steady_since = began
        self._renewed_at = began

    @property
    def _share(self) -> float:
        """The number of things that this replica should own."""
        replicas = len(self.known.replicas)
        return math.ceil(self._wanted / replicas) if replicas > 1 else math.inf

    def _give_away(self) -> None:
        """Hand over what has the least work, once other replicas have owned less for a while."""
        now = self._clock.now()
        if len(self._held) <= self._share:
            self._overloaded_since = now
        elif now - self._overloaded_since >= OVERLOADED_FOR:
            self._overloaded_since = now
            held = min(self._held.values(), key=lambda one: len(one.scopes))
            log.info("ownership_given_away", name=held.lease.name)
            held.end_scopes()

    async def stop(self) -> None:
        """Leave the replicas."""
        if self.replica is not None:
            try:
                await self._db.transact(leave, self.replica)
            except StoreError as error:
                log.warning("lease_not_released", name=self.replica.name, problem=str(error))
