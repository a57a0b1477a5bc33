"""One thread that owns a connection: each job runs whole in it, queued writes share a commit.

A job is a plain function over a `Connection` without effects elsewhere: when one job of a shared
transaction fails, the transaction is rolled back and its jobs are run again, each in its own.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")
GROUP = 64


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    work: Callable[[Connection], T]
    done: Callable[[T | None, BaseException | None], None]
    result: T | None = None
    error: BaseException | None = None


class DatabaseThread:
    """Runs jobs in order on its own thread and connection, and answers on the loop that asked."""

    def __init__(self, connect: Callable[[], Connection], *, name: str) -> None:
        self._connect = connect
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def open(self) -> None:
        """Start the thread; returns when its connection stands. Raises what connecting raised."""
        self._thread.start()
        await self._opened

    async def close(self) -> None:
        """Finish what is queued, close the connection and end the thread."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def submit(
        self, work: Callable[[Connection], T], done: Callable[[T | None, BaseException | None], None]
    ) -> None:
        """Queue a job; `done(result, error)` is called on the loop after the commit."""
        self._jobs.put(_Job(work, done))

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Queue a job and wait for its result. A caller that is cancelled does not undo it."""
        future: asyncio.Future[T] = self._loop.create_future()

        def done(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        self.submit(work, done)
        return await future

    def _main(self) -> None:
        try:
            connection = self._connect()
        except BaseException as error:  # noqa: BLE001 - handed to whoever opens
            self._loop.call_soon_threadsafe(self._opened.set_exception, error)
            return
        self._loop.call_soon_threadsafe(self._opened.set_result, None)
        try:
            while batch := self._next_batch():
                self._commit(connection, batch)
                self._loop.call_soon_threadsafe(self._answer, batch)
        finally:
            connection.close()

    def _next_batch(self) -> list[_Job[Any]]:
        job = self._jobs.get()
        batch: list[_Job[Any]] = []
        while job is not None:
            batch.append(job)
            if len(batch) == GROUP:
                return batch
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._jobs.put(None)
        return batch

    def _commit(self, connection: Connection, batch: list[_Job[Any]]) -> None:
        try:
            with connection.begin():
                for job in batch:
                    job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 - goes to the one that asked
            if len(batch) == 1:
                batch[0].error = error
                return
            for job in batch:
                self._commit(connection, [job])

    @staticmethod
    def _answer(batch: list[_Job[Any]]) -> None:
        for job in batch:
            job.done(None if job.error else job.result, job.error)
