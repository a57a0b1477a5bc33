"""Failing writes, log lines and steps: the run ends with an answer or a reason, in the same process."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import structlog
from sqlalchemy import Connection, text
from structlog.testing import capture_logs

from agent.runtime.app import open_runtime
from agent.runtime.domain import START, CancelAction, MultitaskStrategy, NewRun, RunSpec, RunStatus
from agent.runtime.faults import Faults, RunStep
from agent.runtime.http.base import OpenRuntime
from agent.runtime.settings import LogSettings, RuntimeSettings
from agent.runtime.store import runs, threads
from agent.runtime.store.database import driver_connection
from agent.runtime.store.retries import is_storage_error
from agent.shared.safe_logging import configure_safe_logging
from tests.runtime import graphs
from tests.runtime.processes import runtime
from tests.runtime.serving import SOURCES, serve

THREAD = str(uuid4())
ENDED = {RunStatus.SUCCESS, RunStatus.ERROR, RunStatus.INTERRUPTED}


async def short_sleep(_seconds: float) -> None:
    """Retry at once, without starving the loop."""
    await asyncio.sleep(0.001)


@asynccontextmanager
async def opened(home: Path, **options: Any) -> AsyncIterator[OpenRuntime]:
    """An open runtime whose back-off is short."""
    settings = RuntimeSettings(home=home, drain=0.2, log=LogSettings(prune_every=3600))
    async with open_runtime(settings, SOURCES, sleep=short_sleep, **options) as found:
        yield found


def new_run(graph: str, *, temporary: bool = False) -> NewRun:
    """A run with a log."""
    value: Any = {"messages": [{"role": "user", "content": "hi"}]} if graph == "chat" else {"ask": "x"}
    modes = ("values", "messages-tuple")
    spec = RunSpec(graph, "a", value, stream_mode=modes, stream_resumable=True, temporary_thread=temporary)
    thread = str(uuid4()) if temporary else THREAD
    return NewRun(
        str(uuid4()),
        thread,
        spec,
        MultitaskStrategy.ENQUEUE,
        if_not_exists="create",
        idempotency_scope=thread,
        idempotency_key=str(uuid4()),
    )


async def finish(found: OpenRuntime, graph: str = "chat", action: CancelAction | None = None) -> RunStatus:
    """Create a run as often as a client would, stop it if asked, and wait for its outcome."""
    new = new_run(graph)
    while True:
        try:
            created = await found.manager.create_run(new)
            break
        except Exception as error:  # noqa: BLE001 - whatever a failing disk raises
            assert is_storage_error(error), error
    if created.active is None:
        return created.run.status
    if action is not None:
        await graphs.arrived("x").wait()
        await found.manager.cancel_run(THREAD, created.run.run_id, action)
    async with asyncio.timeout(20):
        outcome = await created.active.done
    assert outcome is not None
    if action is not CancelAction.ROLLBACK:
        stored = await found.database.read(runs.get_run, THREAD, created.run.run_id)
        assert stored.status is outcome.status
    return outcome.status


class FailingConnection(sqlite3.Connection):
    """A connection one of whose transactions fails when it begins or commits."""

    moment, number, counted = "", 0, 0

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql.startswith("BEGIN"):
            self._pass("begin")
        return super().execute(sql, *values)

    def commit(self) -> None:
        self._pass("commit")
        super().commit()

    def _pass(self, moment: str) -> None:
        if moment != self.moment:
            return
        self.counted += 1
        if self.counted == self.number:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error


@pytest.fixture
def failing_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect with `FailingConnection`."""
    monkeypatch.setattr(sqlite3.dbapi2, "connect", partial(sqlite3.connect, factory=FailingConnection))


def fail_once(connection: Connection, moment: str, number: int) -> FailingConnection:
    """Let the transaction `number` from now on fail."""
    found = driver_connection(connection)
    assert isinstance(found, FailingConnection)
    found.moment, found.number, found.counted = moment, number, 0
    return found


@pytest.mark.usefixtures("failing_connections")
@pytest.mark.parametrize("moment", ["begin", "commit"])
@pytest.mark.parametrize("action", [None, CancelAction.INTERRUPT, CancelAction.ROLLBACK])
async def test_each_write_may_fail_once(tmp_path: Path, moment: str, action: CancelAction | None) -> None:
    graph = "chat" if action is None else "gated"
    expected = RunStatus.SUCCESS if action is None else RunStatus.INTERRUPTED
    async with opened(tmp_path) as found:
        for number in count(1):
            connection = await found.database.write(fail_once, moment, number + 1)
            graphs.entered.clear()
            assert await finish(found, graph, action) is expected
            if connection.counted <= number:
                break
        assert number > 1
        thread = await found.database.read(threads.get_thread, THREAD)
        assert thread.status == ("interrupted" if action is CancelAction.INTERRUPT else "idle")
        assert not found.manager.list_active()


@pytest.mark.parametrize("step", list(RunStep))
async def test_each_step_may_fail_once(tmp_path: Path, step: RunStep) -> None:
    def fail() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    async with opened(tmp_path, faults=Faults(step, kill=fail)) as found:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)
        assert await finish(found) in ENDED
        assert await finish(found) is RunStatus.SUCCESS
        loop.set_exception_handler(None)


@pytest.mark.may_block
async def test_a_locked_database_delays_the_end_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        await found.database.write(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout=20"))
        created = await found.manager.create_run(new_run("gated"))
        await graphs.arrived("x").wait()
        assert created.active is not None
        connected = closing(sqlite3.connect(tmp_path / "agent.db", isolation_level=None))
        with capture_logs() as logged, connected as other:
            other.execute("BEGIN IMMEDIATE")
            graphs.gate("x").set()
            await asyncio.sleep(0.3)
            assert not created.active.done.done()
            other.execute("ROLLBACK")
            outcome = await created.active.done
            assert await finish(found) is RunStatus.SUCCESS
        assert outcome is not None
        assert outcome.status is RunStatus.SUCCESS
        names = [line["event"] for line in logged]
        assert names.count("storage_unavailable") == names.count("storage_available") == 1


@pytest.mark.may_block
async def test_stopping_does_not_wait_for_a_locked_database(tmp_path: Path) -> None:
    async with asyncio.timeout(5):
        async with opened(tmp_path) as found:
            await found.database.write(lambda connection: connection.exec_driver_sql("PRAGMA busy_timeout=0"))
            created = await found.manager.create_run(new_run("gated"))
            await graphs.arrived("x").wait()
            other = sqlite3.connect(tmp_path / "agent.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            graphs.gate("x").set()
            await asyncio.sleep(0.1)
    other.close()
    assert created.active is not None
    assert created.active.done.result() is None
    async with opened(tmp_path) as again:
        [active] = again.manager.list_active()
        outcome = await active.done
        assert outcome is not None
        assert outcome.status is RunStatus.SUCCESS


@pytest.mark.parametrize(
    "refused",
    ["INSERT ON events WHEN instr(NEW.body, 'second x')", "UPDATE ON runs WHEN NEW.status = 'success'"],
)
async def test_an_outcome_that_cannot_be_stored_is_replaced_by_its_reason(
    tmp_path: Path, refused: str
) -> None:
    trigger = f"CREATE TRIGGER refusal BEFORE {refused} BEGIN SELECT RAISE(ABORT, 'too large'); END"
    async with opened(tmp_path) as found:
        await found.database.write(lambda connection: connection.exec_driver_sql(trigger))
        created = await found.manager.create_run(new_run("gated"))
        await graphs.arrived("x").wait()
        graphs.gate("x").set()
        assert created.active is not None
        outcome = await created.active.done
        assert outcome is not None
        assert outcome.error is not None
        assert "too large" in outcome.error["message"]
        log = await found.event_log.read_events(created.run.run_id, START, 100)
        body = b"".join(chunk.body for chunk in log)
        assert body.count(b"event: end") == body.count(b"event: error") == 1
        assert sum(chunk.last - chunk.first + 1 for chunk in log) == log[-1].last


class FullDisk(StringIO):
    """A log file on which one line can't be written."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.lines = number, 0

    def write(self, text: str) -> int:
        self.lines += 1
        if self.lines == self.number:
            raise OSError(28, "No space left on device")
        return super().write(text)


@pytest.fixture
def log_to() -> Iterator[Callable[[Any], None]]:
    """Configure logging as the process does, to a file of the test."""
    before = structlog.get_config() if structlog.is_configured() else None

    def configure(file: Any) -> None:
        steps = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        configure_safe_logging(steps, logging.INFO, file)
        structlog.configure(cache_logger_on_first_use=False)

    yield configure
    if before is None:
        structlog.reset_defaults()
    else:
        structlog.configure(**before)


@pytest.mark.parametrize("number", range(1, 5))
async def test_each_log_line_may_fail(tmp_path: Path, log_to: Callable[[Any], None], number: int) -> None:
    log_to(FullDisk(number))
    async with opened(tmp_path) as found:
        assert await finish(found, "failing") is RunStatus.ERROR
        assert await finish(found, "gated", CancelAction.INTERRUPT) is RunStatus.INTERRUPTED
        assert await finish(found) is RunStatus.SUCCESS


@pytest.mark.may_block
async def test_health_reports_a_database_that_cannot_be_written(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        for path in ("/ok", "/health"):
            assert (await served.http.get(path)).json() == {"ok": True}
        with closing(sqlite3.connect(tmp_path / "agent.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answers = await asyncio.gather(*(served.http.get(path) for path in ("/ok", "/health", "/ok")))
            assert [answer.status_code for answer in answers] == [503] * 3
            assert "database can't be used" in answers[0].json()["detail"]
            other.execute("ROLLBACK")
        async with asyncio.timeout(5):
            while (await served.http.get("/ok")).status_code != 200:
                await asyncio.sleep(0.05)


async def test_a_run_ends_after_a_full_disk_has_room_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as found:
        pages = await found.database.write(
            lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        )
        created = await found.manager.create_run(new_run("gated"))
        await graphs.arrived("x").wait()
        limit = text(f"PRAGMA max_page_count={pages}")
        await found.database.write(lambda connection: connection.execute(limit))
        filler = b"x" * 1_000_000
        with pytest.raises(Exception, match="full"):
            await found.database.write(
                lambda connection: connection.execute(
                    text("INSERT INTO events VALUES ('f',1,1,1,:b)"), {"b": filler}
                )
            )
        graphs.gate("x").set()
        await asyncio.sleep(0.1)
        limit = text("PRAGMA max_page_count=1000000")
        await found.database.write(lambda connection: connection.execute(limit))
        assert created.active is not None
        outcome = await created.active.done
        assert outcome is not None
        assert outcome.status is RunStatus.SUCCESS


@pytest.mark.fault
@pytest.mark.may_block
async def test_a_process_that_cannot_log_answers_and_stops(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        async with runtime(tmp_path / "home", stderr=full.fileno()) as process:
            asked: Any = {"messages": [{"role": "user", "content": "hi"}]}
            run = await process.client.runs.create(THREAD, "counted", input=asked, if_not_exists="create")
            await process.client.runs.join(THREAD, run["run_id"])
            assert (await process.client.runs.get(THREAD, run["run_id"]))["status"] == "success"
            assert await process.terminate() in (0, 120)
