"""Lease that lets only one service at a time use a database that several hosts can reach.

It is a row, because behind pgbouncer several services could get the same advisory lock. The holder renews it;
a lease that is not renewed expires. All times are from the database's clock, since the hosts' may differ.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import structlog

from bot.clock import Clock
from bot.errors import StartError, StoreUnavailable
from bot.store.connection import Connection, sql
from bot.store.database import Database
from bot.store.schema_version import HEAD

log = structlog.get_logger(__name__)

RENEW_EVERY = 5.0
EXPIRES_AFTER = 30.0
"""Seconds without a renewal after which another service may take the lease."""
LOOK_EVERY = 1.0
READ_TIME = sql("SELECT CURRENT_TIMESTAMP")
CLAIM = sql(
    f"""INSERT INTO leases (name, holder, place, about, renewed_at)
    VALUES ('service', :holder, :place, '{HEAD}', :now)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, place = excluded.place,
    about = excluded.about, renewed_at = excluded.renewed_at
    WHERE leases.place = excluded.place OR leases.renewed_at <= :expired RETURNING holder"""
)
RENEW = sql(
    "UPDATE leases SET renewed_at = :now WHERE name = 'service' AND holder = :holder RETURNING holder"
)
RELEASE = sql("UPDATE leases SET renewed_at = 0 WHERE name = 'service' AND holder = :holder")
READ_LEASE = sql("SELECT holder, place, renewed_at FROM leases WHERE name = 'service'")


def claim_lease(connection: Connection, holder: str, place: str) -> Any:
    """Take the lease if it is free, expired or held by the same place. Return None, or the holder's row."""
    now = _read_time(connection)
    values = {"holder": holder, "place": place, "now": now, "expired": now - EXPIRES_AFTER}
    if connection.execute(CLAIM, values).first() is not None:
        return None
    return connection.execute(READ_LEASE).one()


def renew_lease(connection: Connection, holder: str) -> Any:
    """Renew the lease. Return None, or the row of the service that has taken it."""
    values = {"holder": holder, "now": _read_time(connection)}
    if connection.execute(RENEW, values).first() is not None:
        return None
    return connection.execute(READ_LEASE).one()


def release_lease(connection: Connection, holder: str) -> None:
    """Let others take the lease at once."""
    connection.execute(RELEASE, {"holder": holder})


def _read_time(connection: Connection) -> float:
    found = connection.execute(READ_TIME).scalar_one()
    # SQLite returns text, in UTC.
    read = found if isinstance(found, datetime) else datetime.fromisoformat(found).replace(tzinfo=UTC)
    return read.timestamp()


class ServiceLease:
    """The lease of one service.

    `place` names its host and data directory, then " #" and the directory's id, because two hosts may have
    the same names. The service has locked this directory, so it can take over at once the lease of a process
    that crashed there.
    """

    def __init__(self, db: Database, clock: Clock, place: str, holder: str) -> None:
        self._db = db
        self._clock = clock
        self._place = place
        self._holder = holder

    async def claim(self) -> None:
        """Take the lease, waiting until another one expires. Raises StartError if that one is renewed."""
        before: Any = None
        while (found := await self._db.transact(claim_lease, self._holder, self._place)) is not None:
            if before is not None and found.renewed_at != before.renewed_at:
                raise StartError(_describe_holder(found))
            if before is None:
                log.warning("database_in_use", place=found.place, seconds=EXPIRES_AFTER)
            before = found
            await self._clock.sleep(LOOK_EVERY)

    async def renew(self) -> None:
        """Renew the lease. Raises StartError if another service has taken it."""
        found = await self._db.transact(renew_lease, self._holder)
        if found is not None:
            raise StartError(_describe_holder(found))

    async def keep(self) -> None:
        """Renew the lease until cancelled. Raises StartError if another service has taken it."""
        while True:
            await self._clock.sleep(RENEW_EVERY)
            try:
                await self.renew()
            except StoreUnavailable:
                continue

    async def release(self) -> None:
        """Let another service start at once."""
        try:
            await self._db.transact(release_lease, self._holder)
        except StoreUnavailable:
            return  # it expires


def _describe_holder(found: Any) -> str:
    place = found.place.partition(" #")[0]
    return (
        f"another service uses this database ({place}). Stop it first, or set a different "
        "database.url: a database can serve only one service."
    )
