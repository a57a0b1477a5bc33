"""The saver tells who waits for a checkpoint whether it is on disk."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from agent.errors import CheckpointLost
from agent.runtime.saver import RuntimeSaver

PLACE: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.timeout(20)
async def test_who_waits_learns_that_a_checkpoint_could_not_be_stored(
    tmp_path: Path, is_waiting: bool
) -> None:
    checkpoint = empty_checkpoint()
    async with RuntimeSaver.open(tmp_path / "checkpoints.db") as saver:
        saver.conn.execute("PRAGMA query_only = ON")
        early = asyncio.create_task(saver.wait_stored("t", checkpoint["id"])) if is_waiting else None
        await asyncio.sleep(0)
        with pytest.raises(sqlite3.OperationalError):
            await saver.aput(PLACE, checkpoint, {}, {})
        with pytest.raises(CheckpointLost):
            await (early or saver.wait_stored("t", checkpoint["id"]))
        saver.conn.execute("PRAGMA query_only = OFF")
        await saver.aput(PLACE, checkpoint, {}, {})
        await saver.wait_stored("t", checkpoint["id"])


async def test_synchronous_and_asynchronous_writes_do_not_share_a_transaction(tmp_path: Path) -> None:
    """A node that is a plain function calls the saver from its own thread."""
    checkpoints = [empty_checkpoint() for _ in range(40)]
    async with RuntimeSaver.open(tmp_path / "checkpoints.db") as saver, asyncio.TaskGroup() as tasks:
        for one in checkpoints[::2]:
            tasks.create_task(asyncio.to_thread(saver.put, PLACE, one, {}, {}))
        for one in checkpoints[1::2]:
            tasks.create_task(saver.aput(PLACE, one, {}, {}))
            tasks.create_task(saver.aput_writes(_at(one["id"]), [("said", one["id"])], "task"))
    async with RuntimeSaver.open(tmp_path / "checkpoints.db") as saver:
        found = {item.checkpoint["id"]: item.pending_writes async for item in saver.alist(PLACE)}
    assert found.keys() == {one["id"] for one in checkpoints}
    assert all(found[one["id"]] == [("task", "said", one["id"])] for one in checkpoints[1::2])


async def test_of_writes_that_share_a_commit_only_the_invalid_one_fails(tmp_path: Path) -> None:
    good, bad = empty_checkpoint(), empty_checkpoint()
    nowhere: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": object()}}
    async with RuntimeSaver.open(tmp_path / "checkpoints.db") as saver:
        ended = await asyncio.gather(
            saver.aput(PLACE, good, {}, {}), saver.aput(nowhere, bad, {}, {}), return_exceptions=True
        )
        assert isinstance(ended[1], sqlite3.ProgrammingError)
        assert [one.checkpoint["id"] async for one in saver.alist(PLACE)] == [good["id"]]


def _at(checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}
