"""The store of items shares its database with another writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg
import pytest
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, PutOp

from agent.runtime.store.items import ItemStore
from agent.runtime.store.postgres_items import PostgresItemStore
from tests.conftest import DATABASES
from tests.harness.store_templates import DISCONNECT

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


@pytest.fixture(params=DATABASES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseStore]:
    """An empty store of items on each kind of database."""
    if request.param == "sqlite":
        opening: Any = ItemStore.open(tmp_path / "agent.db")
    else:
        opening = PostgresItemStore.open(request.getfixturevalue("runtime_postgres"))
    async with opening as opened:
        yield opened


async def test_a_batch_that_fails_changes_nothing(store: BaseStore) -> None:
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
async def test_filters_compare_as_json(store: BaseStore, wanted: dict[str, Any], keys: str) -> None:
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
async def test_an_unknown_filter_is_refused(store: BaseStore, wanted: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=r"^filter") as caught:
        await store.asearch(("a",), filter=wanted)
    assert problem in str(caught.value)


async def test_a_nul_character_has_the_same_fate_on_both_databases(store: BaseStore) -> None:
    await store.aput(("a",), "k", {"said": "a\0b", "in": [{"k\0": "\0"}]})
    item = await store.aget(("a",), "k")
    assert item is not None
    assert item.value == {"said": "a\ufffdb", "in": [{"k\ufffd": "\ufffd"}]}
    assert [one.key for one in await store.asearch(("a",), filter={"said": "a\0b"})] == ["k"]
    for refused in (PutOp(("a",), "k\0", {}), PutOp(("a\0",), "k", {}), GetOp(("a",), "\0")):
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([refused])


async def test_text_is_compared_by_code_points(store: BaseStore) -> None:
    for text in ("a", "B", "é", "z", "\U0001f600", "\uffee"):
        await store.aput(("a",), text, {"text": text})
    found = await store.asearch(("a",), filter={"text": {"$gt": "a", "$lt": "\U0001f600"}})
    assert {one.key for one in found} == {"é", "z", "\uffee"}


@pytest.mark.postgres
async def test_connections_that_the_server_has_ended_are_replaced_at_once(runtime_postgres: str) -> None:
    async with PostgresItemStore.open(runtime_postgres) as store:
        await asyncio.gather(*(store.aput(("a",), str(number), {"n": number}) for number in range(8)))
        with psycopg.connect(runtime_postgres, autocommit=True) as admin:
            admin.execute(DISCONNECT)
        items = await asyncio.gather(*(store.aget(("a",), str(number)) for number in range(8)))
        assert [item.value["n"] for item in items if item is not None] == [*range(8)]
