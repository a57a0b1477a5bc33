"""A turn is answered without a restart, even if one of its writes or all log lines fail."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest
import sqlalchemy
import structlog

from bot.app.logs import configure_logging
from bot.config import Config
from bot.dispatch.reply.diff import mark_repeated
from bot.errors import StoreError, StoreUnavailable
from bot.faults import Step, act_at
from bot.store import Database
from bot.store.connection import Connection
from bot.store.read_models import list_turns
from bot.turn import TurnState
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench, bench

P = ParamSpec("P")
T = TypeVar("T")
AWAY, BROKEN = StoreUnavailable("disk I/O error"), StoreError("constraint failed")


class FailingDatabase:
    """A store whose next transaction fails once after `arm`: before it begins, or after its commit."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner
        self.error: Exception | None = None
        self.commits = False
        self.left = 0

    def arm(self, error: Exception, *, commits: bool = False, after: int = 0) -> None:
        """Fail once, after this number of further transactions."""
        self.error, self.commits, self.left = error, commits, after

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        self.left -= 1
        if self.error is None or self.left >= 0:
            return await self.inner.transact(work, *args, **kwargs)
        error, self.error = self.error, None
        if self.commits:
            await self.inner.transact(work, *args, **kwargs)
        raise error

    async def schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        return await self.inner.schema(work)

    async def compact(self) -> None:
        await self.inner.compact()

    async def close(self) -> None:
        await self.inner.close()


@pytest.fixture
async def failing(tmp_path: Path) -> AsyncIterator[tuple[Bench, FailingDatabase]]:
    async with bench(tmp_path) as at:
        at.db = database = FailingDatabase(at.db)
        at.runtime.script = answer_with("yes")
        yield at, database


async def answer(at: Bench, database: FailingDatabase, arm: Callable[[], None]) -> list[TurnState]:
    """Send a message and return the states of all turns once they are closed."""
    arm()
    await at.adapter.hears("hi")
    for _ in range(900):
        views = await database.inner.transact(list_turns, 1)
        if views and all(view.finished_at for view in views):
            return [view.state for view in views]
        await at.rest(0.1)
    raise AssertionError("the turn is still open")


@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("error", [AWAY, BROKEN])
async def test_each_write_of_a_turn_may_fail_once(
    failing: tuple[Bench, FailingDatabase], error: Exception, commits: bool
) -> None:
    at, database = failing
    async with at.running():
        for number in range(1, 60):
            posted = len(at.adapter.texts())
            # The message itself is stored: if that fails, the platform sends it again.
            arm = partial(database.arm, error, commits=commits, after=number)
            states = await answer(at, database, arm)
            assert set(states) == {TurnState.DONE}, number
            # A lane that failed after its turn's end would count the next turn's failure as its second.
            await at.until(lambda: at.dispatcher and not at.dispatcher.chat.active_count, most=120)
            first, *repeated = at.adapter.texts()[posted:]
            # An intention that was stored despite the error may have been carried out.
            expected = ["yes", mark_repeated("yes")] if error is BROKEN and commits else ["yes"]
            assert first in expected, number
            # A reply is repeated if an error other than an outage kept its receipt from being written.
            assert repeated == [mark_repeated("yes")] * len(repeated), number
            assert len(repeated) <= (error is BROKEN and not commits), number
            if database.error is not None:
                return
    raise AssertionError("a turn has more writes than that")


@pytest.mark.parametrize(
    "step",
    [Step.STORED, Step.RUN_CREATED, Step.POST_INTENDED, Step.FINAL_COMPOSED, Step.PART_SENT, Step.RECORDED],
)
async def test_the_store_is_away_from_a_step_on(failing: tuple[Bench, FailingDatabase], step: Step) -> None:
    at, database = failing
    async with at.running():
        with act_at(step, lambda: database.arm(AWAY)):
            assert await answer(at, database, lambda: None) == [TurnState.DONE]
    assert len(at.adapter.texts()) == 1


async def test_a_message_with_an_unknown_commit_is_answered(failing: tuple[Bench, FailingDatabase]) -> None:
    at, database = failing
    async with at.running():
        database.arm(AWAY, commits=True)
        with pytest.raises(StoreUnavailable):
            await at.adapter.hears("hi")
        at.adapter._number -= 1
        assert await answer(at, database, lambda: None) == [TurnState.DONE]
    assert at.adapter.texts() == ["yes"]


class FullDisk(io.StringIO):
    """A stream on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.fixture
def full_log() -> Iterator[None]:
    before = structlog.get_config()
    configure_logging(Config(), FullDisk())
    structlog.configure(cache_logger_on_first_use=False)
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("full_log")
async def test_no_log_line_can_be_written(failing: tuple[Bench, FailingDatabase]) -> None:
    at, database = failing
    async with at.running():
        assert await answer(at, database, lambda: database.arm(BROKEN, after=3)) == [TurnState.DONE]
    assert at.adapter.texts() == ["yes"]


async def test_a_part_of_the_dispatcher_that_fails_once_starts_again(at: Bench) -> None:
    at.runtime.script = answer_with("yes")
    async with at.running():
        dispatcher = at.dispatcher
        assert dispatcher is not None
        group = dispatcher.acknowledgements._tasks._group
        assert group is not None
        group.create_task(_fail())
        await at.rest(1.0)
        await at.adapter.hears("hi")
        await at.until(lambda: at.adapter.texts() == ["yes"])
        assert dispatcher.acknowledgements._tasks._group not in (None, group)


async def _fail() -> None:
    await asyncio.sleep(0)
    raise RuntimeError("a plug-in's task")
