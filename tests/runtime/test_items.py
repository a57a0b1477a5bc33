"""The store of items shares its database with another writer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiosqlite
import pytest
from langgraph.store.base import GetOp, PutOp

from agent.runtime.store.items import ItemStore

pytestmark = pytest.mark.may_block


async def test_a_batch_that_reads_and_writes_waits_for_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    async with ItemStore.open(path) as store, aiosqlite.connect(path, isolation_level=None) as other:
        await store.aput(("a",), "k", {"n": 1})
        await other.execute("BEGIN IMMEDIATE")
        await other.execute("CREATE TABLE something (x)")
        batch = asyncio.create_task(store.abatch([GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 2})]))
        done, _ = await asyncio.wait({batch}, timeout=0.2)  # time enough to read and to be refused
        assert not done
        await other.execute("COMMIT")
        found, _ = await batch
        assert found.value == {"n": 1}
        item = await store.aget(("a",), "k")
        assert item is not None
        assert item.value == {"n": 2}


async def test_a_batch_that_fails_changes_nothing(tmp_path: Path) -> None:
    async with ItemStore.open(tmp_path / "agent.db") as store:
        with pytest.raises(TypeError):
            await store.abatch([PutOp(("a",), "k", {"n": 1}), PutOp(("b",), "k", {"n": object()})])
        assert await store.asearch(("a",)) == []
        await store.aput(("a",), "k", {"n": 2})
