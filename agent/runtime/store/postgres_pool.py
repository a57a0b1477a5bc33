"""Connections to PostgreSQL for langgraph's savers and stores."""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from agent.shared.postgres_url import connect_arguments, libpq_url

CONNECTIONS: Final = 8
"""Number of connections to the database."""


class ConnectionPool:
    """At most `size` connections in autocommit mode. A broken one is replaced at once.

    A connection is known to be broken when its server has closed it. psycopg's own pool asks the server each
    time, and waits ever longer between attempts to connect after an outage.
    """

    def __init__(self, url: str, size: int = CONNECTIONS) -> None:
        self._url = url
        self._free = asyncio.Semaphore(size)
        self._idle: list[AsyncConnection[DictRow]] = []
        self._is_closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[DictRow]]:
        """Lend a connection. Raises `psycopg.OperationalError`."""
        async with self._free:
            connection = await self._take_idle() or await self.connect()
            try:
                yield connection
            finally:
                is_usable = connection.info.transaction_status is TransactionStatus.IDLE
                if is_usable and not self._is_closed:
                    self._idle.append(connection)
                else:
                    await connection.close()

    async def connect(self) -> AsyncConnection[DictRow]:
        """Open a connection that the pool does not own. Raises `psycopg.OperationalError`."""
        arguments = connect_arguments(self._url)
        return await AsyncConnection.connect(
            libpq_url(self._url), autocommit=True, row_factory=dict_row, **arguments
        )

    async def _take_idle(self) -> AsyncConnection[DictRow] | None:
        while self._idle:
            connection = self._idle.pop()
            # The server sends nothing unasked but the reason why it closes the connection.
            if not _is_readable(connection.fileno()):
                return connection
            await connection.close()
        return None

    async def close(self) -> None:
        """Close the idle connections; those that are lent are closed when they come back."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
