"""The store of items shares its database with another writer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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


VALUES: dict[str, dict[str, Any]] = {
    "one": {
        "n": 1,
        "flag": True,
        "tags": ["a", "b"],
        "who": {"name": "Ann", "age": 30},
        "键": "值",
        "none": None,
    },
    "two": {"n": 2.5, "flag": False, "tags": [], "who": {"name": "Bo"}, "a.b": 1, "it's": "x"},
    "three": {"n": "3", "flag": 1, "id": 2**60 + 1, "who": "Ann", 'say "hi"': 1},
}


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [
        ({}, "one two three"),
        ({"n": 1}, "one"),
        ({"n": 1.0}, "one"),
        ({"n": "3"}, "three"),
        ({"n": 3}, ""),
        ({"flag": True}, "one"),
        ({"flag": 1}, "three"),
        ({"键": "值"}, "one"),
        ({"it's": "x"}, "two"),
        ({'say "hi"': 1}, "three"),
        ({"a.b": 1}, "two"),
        ({"who.name": "Ann"}, ""),
        ({"": 1}, ""),
        ({"who": {"name": "Ann"}}, "one"),
        ({"who": {"age": {"$gte": 30}, "name": {"$ne": "Bo"}}}, "one"),
        ({"who": {"$eq": {"name": "Bo"}}}, "two"),
        ({"who": {"$ne": {"name": "Bo"}}}, "one three"),
        ({"who": {}}, "one two"),
        ({"tags": ["a", "b"]}, "one"),
        ({"tags": {"$eq": []}}, "two"),
        ({"none": None}, "one two three"),
        ({"none": {"$ne": 5}}, "one"),
        ({"id": {"$ne": None}}, "three"),
        ({"id": 2**60 + 1}, "three"),
        ({"id": 2**60}, ""),
        ({"n": {"$gt": 1, "$lte": 2.5}}, "two"),
        ({"n": {"$gt": "2"}}, "three"),
        ({"n": {"$lt": 10**30}}, "one two"),
        ({"flag": {"$gte": 0}}, "three"),
        ({"n": {"$gte": 0}, "flag": True}, "one"),
    ],
)
async def test_filters_compare_as_json(tmp_path: Path, wanted: dict[str, Any], keys: str) -> None:
    async with ItemStore.open(tmp_path / "agent.db") as store:
        for key, value in VALUES.items():
            await store.aput(("a",), key, value)
        items = await store.asearch(("a",), filter=wanted)
        assert {item.key for item in items} == set(keys.split())
        page = await store.asearch(("a",), filter=wanted, limit=1, offset=1)
        assert [item.key for item in page] == [item.key for item in items[1:2]]


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"n": {"$in": [1]}}, "filter.n: unknown operator '$in'"),
        ({"who": {"name": {"$regex": "A"}}}, "filter.who.name: unknown operator"),
        ({"$or": [{"n": 1}]}, "operators such as '$or' belong to the value of a field"),
        ({"n": {"$gt": 1, "name": 2}}, "filter.n: mixes operators and fields"),
        ({"n": {"$gt": None}}, "$gt needs a number or a string"),
        ({"n": {"$lte": [1]}}, "$lte needs a number or a string"),
        ({"n": {"$gte": True}}, "$gte needs a number or a string"),
    ],
)
async def test_an_unknown_filter_is_refused(tmp_path: Path, wanted: dict[str, Any], problem: str) -> None:
    async with ItemStore.open(tmp_path / "agent.db") as store:
        with pytest.raises(ValueError, match=r"^filter") as caught:
            await store.asearch(("a",), filter=wanted)
        assert problem in str(caught.value)
