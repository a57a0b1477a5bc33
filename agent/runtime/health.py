"""Health check of the runtime's database."""

from __future__ import annotations

import asyncio
from typing import Final

from sqlalchemy import Connection, select

from agent.errors import Unavailable
from agent.runtime.domain import Clock
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.schema import probes
from agent.runtime.store.statements import insert_into

PROBE_SECONDS: Final = 1.0
"""Time in which the database must respond (s)."""
_SELECT: Final = select(probes.c.value)


def _write_probe(connection: Connection, value: float) -> None:
    row = insert_into(connection, probes).values(id=1, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["id"], set_={"value": value}))


def _read_probe(connection: Connection) -> float | None:
    return connection.execute(_SELECT).scalar()


class DatabaseProbe:
    """Checks that the database can be written and read. Concurrent checks share one write, so that they don't
    queue up behind a lock.
    """

    def __init__(self, database: RuntimeDatabase, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._attempt: asyncio.Task[str] | None = None

    async def check(self) -> None:
        """Write and read a row. Raises `Unavailable` if that fails or takes longer than `PROBE_SECONDS`."""
        attempt = self._attempt
        if attempt is None or attempt.done():
            attempt = self._attempt = asyncio.create_task(self._probe(), name="database probe")
        done, _ = await asyncio.wait({attempt}, timeout=PROBE_SECONDS)
        problem = attempt.result() if done else "it does not respond"
        if problem:
            raise Unavailable(f"The agent's database can't be used: {problem}")

    async def close(self) -> None:
        """Cancel a check that still waits."""
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait({self._attempt})

    async def _probe(self) -> str:
        """Return why the database can't be used, or ""."""
        value = self._clock()
        try:
            await self._database.write(_write_probe, value)
            found = await self._database.read(_read_probe)
        except Exception as error:  # noqa: BLE001 - any failure is the answer of the check
            return str(error).partition("\n")[0]
        return "" if found == value else "it did not return the value that was written"
