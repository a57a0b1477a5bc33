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
        await saver.conn.execute("PRAGMA query_only = ON")
        early = asyncio.create_task(saver.wait_stored("t", checkpoint["id"])) if is_waiting else None
        await asyncio.sleep(0)
        with pytest.raises(sqlite3.OperationalError):
            await saver.aput(PLACE, checkpoint, {}, {})
        with pytest.raises(CheckpointLost):
            await (early or saver.wait_stored("t", checkpoint["id"]))
        await saver.conn.execute("PRAGMA query_only = OFF")
        await saver.aput(PLACE, checkpoint, {}, {})
        await saver.wait_stored("t", checkpoint["id"])
