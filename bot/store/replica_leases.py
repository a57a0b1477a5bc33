"""Leases of replicas, the services that share a PostgreSQL database: which one owns an account or a job.

A replica renews one row by the database's clock, since the clocks of machines differ. What it owns has a row
with a fence, a random value of this ownership. Every transaction of work on it checks that row in the same
transaction (`fence`), so that a replica that was paused writes nothing once another one has taken over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import structlog

from agent.shared.metrics import count_refused_write
from bot.errors import OwnershipLost
from bot.store.connection import Connection, sql
from bot.store.schema_version import HEAD

log = structlog.get_logger(__name__)

EXPIRES_AFTER = 3.5
"""Seconds without a renewal after which others may take over what a replica owns."""
NOW = "extract(epoch FROM clock_timestamp())"
REPLICA = "replica "
"""Prefix of the names of replicas in the table of leases; their `about` is the revision of their schema."""
_LIVE = f"""SELECT r.holder FROM leases r WHERE r.name LIKE '{REPLICA}%'
    AND r.renewed_at > {NOW} - {EXPIRES_AFTER}"""
READ_TIME = sql(f"SELECT {NOW}")
RENEW = sql(
    f"""INSERT INTO leases (name, holder, place, about, renewed_at)
    VALUES (:name, :holder, :place, '{HEAD}', {NOW})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, place = excluded.place,
    about = excluded.about, renewed_at = excluded.renewed_at"""
)
# Delete what an earlier process of this replica owned.
FORGET = sql(
    """DELETE FROM leases WHERE holder IN (SELECT r.holder FROM leases r WHERE r.name = :name)
    AND name <> 'service'"""
)
CLAIM = sql(
    f"""INSERT INTO leases (name, holder, fence, renewed_at) VALUES (:name, :holder, :fence, {NOW})
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, about = '',
    renewed_at = excluded.renewed_at WHERE leases.holder = excluded.holder
    OR (:steady = 1 AND leases.holder NOT IN ({_LIVE})) RETURNING holder"""
)
RELEASE = sql("DELETE FROM leases WHERE name = :name AND holder = :holder AND fence = :fence")
# The shared lock makes a takeover wait for the end of the transaction.
CHECK = sql("SELECT 1 FROM leases WHERE name = :name AND holder = :holder AND fence = :fence FOR SHARE")
LIST = sql(
    f"""SELECT name, holder, fence, place, about, renewed_at > {NOW} - {EXPIRES_AFTER} AS is_live
    FROM leases WHERE fence <> '' OR name LIKE '{REPLICA}%' ORDER BY name"""
)
DESCRIBE = sql("UPDATE leases SET about = :about WHERE name = :name AND holder = :holder AND fence = :fence")


@dataclass(frozen=True, slots=True)
class OwnerLease:
    """The ownership of an account or job by a replica; `fence` is different each time."""

    name: str
    holder: str
    fence: str


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica: its name, a random `holder` for this process, and the id of its data directory."""

    name: str
    holder: str
    place: str


@dataclass(frozen=True, slots=True)
class KnownLeases:
    """All leases: of live replicas by their name, and what is owned, by name, with its description."""

    replicas: Mapping[str, Replica]
    owned: Mapping[str, tuple[OwnerLease, str]]


fence: ContextVar[OwnerLease | None] = ContextVar("fence", default=None)
"""The lease on which the current task's transactions depend; tasks inherit it."""


@contextmanager
def fenced(lease: OwnerLease) -> Iterator[None]:
    """Make all transactions of the current task, and of the tasks that it starts, depend on a lease."""
    token = fence.set(lease)
    try:
        yield
    finally:
        fence.reset(token)


@contextmanager
def unfenced() -> Iterator[None]:
    """Let transactions of the current task depend on no lease."""
    token = fence.set(None)
    try:
        yield
    finally:
        fence.reset(token)


def check_lease(connection: Connection, lease: OwnerLease) -> None:
    """Raise OwnershipLost if another replica owns it. None takes over before the transaction ends."""
    if connection.execute(CHECK, _values(lease)).first() is None:
        count_refused_write("account")
        log.warning("write_refused", lease=lease.name)
        raise OwnershipLost(lease.name)


def read_time(connection: Connection) -> float:
    """Return the database's time in seconds since the epoch."""
    return float(connection.execute(READ_TIME).scalar_one())


def start_replica(connection: Connection, replica: Replica) -> KnownLeases:
    """Add a replica. What an earlier process of the same name owned is free at once."""
    connection.execute(FORGET, {"name": REPLICA + replica.name})
    return renew_replica(connection, replica)


def renew_replica(connection: Connection, replica: Replica) -> KnownLeases:
    """Renew a replica's lease. Return all leases."""
    about = {"holder": replica.holder, "place": replica.place}
    connection.execute(RENEW, {"name": REPLICA + replica.name, **about})
    return list_leases(connection)


def list_leases(connection: Connection) -> KnownLeases:
    """Return the live replicas, and what replicas own, including expired ones."""
    rows = connection.execute(LIST).all()
    live = [row for row in rows if row.name.startswith(REPLICA) and row.is_live]
    found = [Replica(row.name.removeprefix(REPLICA), row.holder, row.place) for row in live]
    owned = {row.name: (OwnerLease(row.name, row.holder, row.fence), row.about) for row in rows if row.fence}
    return KnownLeases({one.name: one for one in found}, owned)


def claim(connection: Connection, lease: OwnerLease, *, steady: bool) -> bool:
    """Take what nobody owns or, if `steady`, what the owner's lost lease left. Return whether that worked."""
    return connection.execute(CLAIM, {**_values(lease), "steady": int(steady)}).first() is not None


def release(connection: Connection, lease: OwnerLease) -> None:
    """Let another replica take over at once."""
    connection.execute(RELEASE, _values(lease))


def leave(connection: Connection, replica: Replica) -> None:
    """Remove a replica with all that it owns."""
    connection.execute(FORGET, {"name": REPLICA + replica.name})


def describe_lease(connection: Connection, lease: OwnerLease, about: str) -> None:
    """Store the state of what a replica owns, for the others."""
    connection.execute(DESCRIBE, {**_values(lease), "about": about})


def _values(lease: OwnerLease) -> dict[str, str]:
    return {"name": lease.name, "holder": lease.holder, "fence": lease.fence}
