"""Savers on both databases: who waits learns what was stored, branches, rollbacks and text of any kind."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import langgraph.checkpoint.base.id as checkpoint_ids
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from time_machine import travel

from agent.errors import CheckpointLost
from agent.runtime.run_saver import RunSaver
from tests.harness.saver_database import SaverDatabase

PLACE: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.timeout(20)
async def test_who_waits_learns_that_a_checkpoint_could_not_be_stored(
    saver_database: SaverDatabase, is_waiting: bool
) -> None:
    checkpoint = empty_checkpoint()
    async with saver_database.open() as saver:
        early = asyncio.create_task(saver.wait_stored("t", checkpoint["id"])) if is_waiting else None
        await asyncio.sleep(0)
        await saver.latest_checkpoint_id("t")
        with saver_database.refusing() as refusal, pytest.raises(refusal):
            await saver.aput(PLACE, checkpoint, {}, {})
        with pytest.raises(CheckpointLost):
            await (early or saver.wait_stored("t", checkpoint["id"]))
        await saver.aput(PLACE, checkpoint, {}, {})
        await saver.wait_stored("t", checkpoint["id"])


async def test_synchronous_and_asynchronous_writes_do_not_share_a_transaction(
    saver_database: SaverDatabase,
) -> None:
    """A node that is a plain function calls the saver from its own thread."""
    checkpoints = [empty_checkpoint() for _ in range(40)]
    async with saver_database.open() as saver, asyncio.TaskGroup() as tasks:
        for one in checkpoints[::2]:
            tasks.create_task(asyncio.to_thread(saver.put, PLACE, one, {}, {}))
        for one in checkpoints[1::2]:
            tasks.create_task(saver.aput(PLACE, one, {}, {}))
            tasks.create_task(saver.aput_writes(at(one["id"]), [("said", one["id"])], "task"))
    async with saver_database.open() as saver:
        found = {item.checkpoint["id"]: item.pending_writes async for item in saver.alist(PLACE)}
    assert found.keys() == {one["id"] for one in checkpoints}
    assert all(found[one["id"]] == [("task", "said", one["id"])] for one in checkpoints[1::2])


async def test_of_writes_that_share_a_commit_only_the_invalid_one_fails(
    saver_database: SaverDatabase,
) -> None:
    good, bad = empty_checkpoint(), empty_checkpoint()
    nowhere: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": object()}}
    async with saver_database.open() as saver:
        ended = await asyncio.gather(
            saver.aput(PLACE, good, {}, {}), saver.aput(nowhere, bad, {}, {}), return_exceptions=True
        )
        assert type(ended[1]).__name__ == "ProgrammingError"
        assert [one.checkpoint["id"] async for one in saver.alist(PLACE)] == [good["id"]]


def at(checkpoint_id: str, **more: str) -> RunnableConfig:
    """The place of a checkpoint."""
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id, **more}}


async def store(
    saver: RunSaver, parent: Checkpoint | None = None, run: str = "", **values: Any
) -> Checkpoint:
    """Store a checkpoint in which these channels changed since its parent."""
    made = empty_checkpoint()
    before = parent or made
    made["channel_values"] = {**before["channel_values"], **values}
    versions = {
        name: saver.get_next_version(cast(Any, before["channel_versions"].get(name)), None) for name in values
    }
    made["channel_versions"] = {**before["channel_versions"], **versions}
    place = at(parent["id"]) if parent else PLACE
    await saver.aput(place, made, {"run_id": run} if run else {}, versions)
    return made


async def values_at(saver: RunSaver, checkpoint: Checkpoint) -> dict[str, Any]:
    """The values that are read back."""
    found = await saver.aget_tuple(at(checkpoint["id"]))
    assert found is not None
    return found.checkpoint["channel_values"]


async def test_branches_keep_their_own_values(saver_database: SaverDatabase) -> None:
    async with saver_database.open() as saver:
        root = await store(saver, said=["root"])
        left = await store(saver, root, said=["left"])
        right = await store(saver, root, said=["right"])
        for one, said in ((root, "root"), (left, "left"), (right, "right")):
            assert await values_at(saver, one) == {"said": [said]}


async def test_channels_of_any_name(saver_database: SaverDatabase) -> None:
    values = {"back\\slash": ["a"], "ü€": ["b"], "%s?": ["c"]}
    async with saver_database.open() as saver:
        root = await store(saver, **values)
        await saver.aput_writes(at(root["id"]), [*values.items()], "task")
        found = await saver.aget_tuple(at(root["id"]))
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    assert {name: value for _, name, value in found.pending_writes or ()} == values


async def test_a_rollback_leaves_values_that_another_branch_uses(saver_database: SaverDatabase) -> None:
    async with saver_database.open() as saver:
        root = await store(saver, said=["root"], kept=["kept"])
        before = saver_database.read_all()
        made = await store(saver, root, run="r", said=["undone"])
        fork = await store(saver, made, said=["fork"], more=["more"])
        await saver.roll_back_run("t", "r", None, None)
        assert await values_at(saver, fork) == {"said": ["fork"], "kept": ["kept"], "more": ["more"]}
        assert await saver.aget_tuple(at(made["id"])) is None
        await saver.aprune(["t"])
        assert await values_at(saver, fork) == {"said": ["fork"], "kept": ["kept"], "more": ["more"]}
        await saver.adelete_thread("t")
        assert not any(saver_database.read_all().values())
        assert any(before.values())


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_checkpoint_follows_its_parent_whatever_the_clock_says(
    saver_database: SaverDatabase, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    async with saver_database.open() as saver:
        first = await store(saver, said=["first"])
    monkeypatch.setattr(checkpoint_ids, "_last_v6_timestamp", None)
    async with saver_database.open() as saver:
        with travel(timedelta(hours=hours), tick=True):
            found = await saver.aget_tuple(PLACE)
            assert found is not None
            second = await store(saver, found.checkpoint, said=["second"])
        assert await saver.latest_checkpoint_id("t") == second["id"] > first["id"]


async def test_late_writes_of_an_ended_run_are_refused(saver_database: SaverDatabase) -> None:
    async with saver_database.open() as saver:
        root = await store(saver, said=["root"])
        before = saver_database.read_all()
        await saver.end_run("r")
        late = empty_checkpoint()
        await saver.aput(at(root["id"], run_id="r"), late, {}, {})
        await saver.aput_writes(at(root["id"], run_id="r"), [("said", ["late"])], "task")
        assert saver_database.read_all() == before
        with pytest.raises(CheckpointLost):
            await saver.wait_stored("t", late["id"])


async def test_repeated_writes(saver_database: SaverDatabase) -> None:
    """Results stay as they were first; interrupts and errors are replaced."""
    async with saver_database.open() as saver:
        root = await store(saver, said=["root"])
        for number in (1, 2):
            await saver.aput_writes(at(root["id"]), [("said", number), ("said", number * 10)], "task")
            await saver.aput_writes(
                at(root["id"]), [("__interrupt__", number), ("__interrupt__", -number)], "a"
            )
            await saver.aput_writes(at(root["id"]), [], "nothing")
        found = await saver.aget_tuple(at(root["id"]))
        assert found is not None
        assert sorted(found.pending_writes or [], key=str) == [
            ("a", "__interrupt__", -2),
            ("task", "said", 1),
            ("task", "said", 10),
        ]


TEXTS = ["", "plain", "\0", "a\0b", "\\u0000", "\\\0", '"\\', "ü€😀", "\ud800", "a\udfffb", "x" * 999]
NUMBERS = [0, -1, 2**63, 2**64, -(2**70), 10**40, 0.1, 1e20, 1e300, -0.0, 5e-324, float("inf"), True, None]


@pytest.mark.parametrize("value", [*TEXTS, *NUMBERS, ["a\0b"], {"a\0": "\0"}], ids=ascii)
async def test_a_value_has_the_same_fate_on_both_databases(saver_database: SaverDatabase, value: Any) -> None:
    async with saver_database.open() as saver:
        root = await store(saver, said=value)
        await saver.aput_writes(at(root["id"]), [("said", value)], "task")
        found = await saver.aget_tuple(at(root["id"]))
    assert found is not None
    is_exact = not isinstance(value, int) or -(2**63) <= value < 2**64
    expected = value if is_exact else str(value)
    if isinstance(expected, str):
        expected = expected.encode(errors="replace").decode()
    assert repr(found.checkpoint["channel_values"]["said"]) == repr(expected)
    assert [repr(one[2]) for one in found.pending_writes or ()] == [repr(expected)]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
async def test_text_in_metadata_loses_what_no_database_keeps(
    saver_database: SaverDatabase, text: str
) -> None:
    kept = "".join(letter for letter in text if letter != "\0" and not "\ud800" <= letter <= "\udfff")
    metadata: Any = {"a": text, "b": {"c": [text, {text: 1}]}, "n": [float("nan"), 1e20]}
    async with saver_database.open() as saver:
        checkpoint = empty_checkpoint()
        await saver.aput(PLACE, checkpoint, metadata, {})
        found = [one.metadata async for one in saver.alist(PLACE, filter={"a": text})]
        assert found == [{"a": kept, "b": {"c": [kept, {kept: 1}]}, "n": [None, 1e20]}]
        assert [one async for one in saver.alist(PLACE, filter={"a": "other" + text})] == []
        assert await saver.aget_tuple(at("\0")) is None
        assert [one async for one in saver.alist(at("a\0"))] == []
