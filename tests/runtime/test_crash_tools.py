"""SIGKILL while a tool runs: what may have had an effect is not done twice, and the model is told."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.harness.waiters import until
from tests.runtime.processes import Process, runtime

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

THREAD = "0b1f9c3e-0000-4000-8000-000000000002"
UNKNOWN = "interrupted (outcome unknown)"


def ran(home: Path) -> list[str]:
    """The tools that ran, in order."""
    file = home / "calls.txt"
    return file.read_text().splitlines() if file.exists() else []


def last_heard(home: Path) -> list[str]:
    """The texts of the messages of the model's last call."""
    found: list[str] = json.loads((home / "heard.txt").read_text().splitlines()[-1])
    return found


def asked(text: str) -> Any:
    """A run of somebody who writes this; its durability is the default one, as the bot's."""
    return {"input": {"messages": [{"role": "user", "content": text}]}, "if_not_exists": "create"}


async def killed_at_work(home: Path, text: str, ready: Callable[[Process], Any]) -> str:
    """The id of a run whose process is killed once `ready`, the tools still being at work."""
    home.mkdir(parents=True)
    (home / "hang").touch()
    async with runtime(home) as first:
        run = await first.client.runs.create(THREAD, "tooled", **asked(text))
        async with asyncio.timeout(30):
            while not await ready(first):
                await asyncio.sleep(0.02)
        first.process.kill()
        assert await first.died() == -9
    (home / "hang").unlink()
    return run["run_id"]


@asynccontextmanager
async def resumed(home: Path, run_id: str) -> AsyncIterator[tuple[Process, list[Any]]]:
    """The next process, when it has ended the run, and the thread's messages."""
    async with runtime(home) as second:
        await second.client.runs.join(THREAD, run_id)
        run = await second.client.runs.get(THREAD, run_id)
        assert run["status"] == "success"
        state = await second.client.threads.get_state(THREAD)
        assert state["next"] == []
        yield second, state["values"]["messages"]


def state_usage(messages: list[Any]) -> dict[str, int]:
    """What the answers among the messages cost together."""
    kinds = ("input_tokens", "output_tokens", "total_tokens")
    said = [message["usage_metadata"] for message in messages if message["type"] == "ai"]
    return {kind: sum(usage[kind] for usage in said) for kind in kinds} | {"cached_tokens": 0}


async def when_free(disk: sqlite3.Connection) -> None:
    """Keep everybody else from writing to this database until it is closed."""
    async with asyncio.timeout(30):
        while True:
            with suppress(sqlite3.OperationalError):
                disk.execute("BEGIN IMMEDIATE")
                return
            await asyncio.sleep(0.02)


def has_run(home: Path, count: int) -> Callable[[Process], Any]:
    """So many tools have begun."""

    async def ready(_: Process) -> bool:
        return len(ran(home)) == count

    return ready


async def test_what_may_have_had_an_effect_is_not_run_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run_id = await killed_at_work(home, "work", has_run(home, 1))
    async with resumed(home, run_id) as (second, messages):
        assert ran(home) == ["work"]
        assert [message["type"] for message in messages] == ["human", "ai", "tool", "ai"]
        assert messages[2]["status"] == "error"
        assert UNKNOWN in messages[2]["content"]
        assert UNKNOWN in last_heard(home)[-1]
        run = await second.client.runs.get(THREAD, run_id)
        assert run["metadata"]["usage"] == state_usage(messages), "the first attempt's tokens count too"
        # The next time that it is asked for is another call, which is made.
        await second.client.runs.wait(THREAD, "tooled", **asked("work"))
        assert ran(home) == ["work", "work"]
        assert last_heard(home)[-1] == "work done"
        left = await second.client.store.search_items(("tool_journal",))
        assert left["items"] == []


async def test_what_is_declared_idempotent_is_run_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run_id = await killed_at_work(home, "read", has_run(home, 1))
    async with resumed(home, run_id) as (_, messages):
        assert ran(home) == ["read", "read"]
        assert messages[2]["content"] == last_heard(home)[-1] == "read done"


async def test_a_stored_result_beside_the_one_cut_off_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def one_is_stored(process: Process) -> bool:
        if len(ran(home)) < 2:
            return False
        state = await process.client.threads.get_state(THREAD)
        return any(task.get("result") for task in state["tasks"])

    run_id = await killed_at_work(home, "both", one_is_stored)
    async with resumed(home, run_id) as (_, messages):
        assert sorted(ran(home)) == ["quick", "work"]
        results = {message["name"]: message["content"] for message in messages if message["type"] == "tool"}
        assert results["quick"] == "quick done"
        assert UNKNOWN in results["work"]
        assert sorted(last_heard(home)[-2:]) == sorted(results.values())


async def test_it_may_be_cut_off_again_and_again(tmp_path: Path) -> None:
    """The second process dies before it can end the run; the third one does, and asks nobody again."""
    home = tmp_path / "home"
    run_id = await killed_at_work(home, "work", has_run(home, 1))
    async with runtime(home, fault="last_checkpoint") as second:
        assert await second.died() == -9
    async with resumed(home, run_id) as (_, messages):
        assert ran(home) == ["work"]
        assert [message["type"] for message in messages] == ["human", "ai", "tool", "ai"]


async def test_a_call_whose_message_is_not_on_disk_yet_is_not_made(tmp_path: Path) -> None:
    """Else the next process asks the model again, and its call is another one."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "think").touch()
    async with runtime(home) as first:
        run = await first.client.runs.create(THREAD, "tooled", **asked("work"))
        await until((home / "heard.txt").exists, 30, lambda: "the model was never asked")
        with closing(sqlite3.connect(home / "checkpoints.db", isolation_level=None)) as disk:
            await when_free(disk)
            (home / "think").unlink()
            with suppress(AssertionError):
                await until(lambda: ran(home), 2, lambda: "as it should be")
            first.process.kill()
            assert await first.died() == -9
    async with resumed(home, run["run_id"]) as (_, messages):
        assert ran(home) == ["work"]
        assert [message["type"] for message in messages] == ["human", "ai", "tool", "ai"]
        assert messages[2]["content"] == "work done"


async def test_a_result_that_is_not_on_disk_yet_is_not_forgotten(tmp_path: Path) -> None:
    """The model has answered to it, but the next process goes on from before it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "hang").touch()
    async with runtime(home) as first:
        run = await first.client.runs.create(THREAD, "tooled", **asked("work"))
        await until(lambda: ran(home) == ["work"], 30, lambda: "no tool was ever called")
        with closing(sqlite3.connect(home / "checkpoints.db", isolation_level=None)) as disk:
            await when_free(disk)
            (home / "hang").unlink()
            await until(lambda: last_heard(home)[-1] == "work done", 30, lambda: "the model was not told")
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    while (await first.client.store.search_items(("tool_journal",)))["items"]:
                        await asyncio.sleep(0.02)
            first.process.kill()
            assert await first.died() == -9
    async with resumed(home, run["run_id"]) as (_, messages):
        assert ran(home) == ["work"]
        assert [message["type"] for message in messages] == ["human", "ai", "tool", "ai"]
        assert UNKNOWN in messages[2]["content"]


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [("careful", "yes", "careful done: yes"), ("ask", "red", "red")],
    ids=["approval", "clarification"],
)
async def test_a_call_that_waited_for_a_person_was_not_begun(
    tmp_path: Path, text: str, answer: str, told: str
) -> None:
    home = tmp_path / "home"
    async with runtime(home) as first:
        await first.client.runs.wait(THREAD, "tooled", **asked(text))
        assert (await first.client.threads.get(THREAD))["status"] == "interrupted"
        first.process.kill()
        assert await first.died() == -9
    async with runtime(home) as second:
        values: Any = await second.client.runs.wait(THREAD, "tooled", command={"resume": answer})
        assert values["messages"][2]["content"] == told
        assert values["messages"][2]["status"] == "success"
    assert last_heard(home)[-1] == told
    assert ran(home) == (["careful"] if text == "careful" else [])


async def test_a_call_that_went_on_after_the_answer_and_was_cut_off_is_not_run_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "hang").touch()
    async with runtime(home) as first:
        await first.client.runs.wait(THREAD, "tooled", **asked("careful"))
        run = await first.client.runs.create(THREAD, "tooled", command={"resume": "yes"})
        await until(lambda: ran(home) == ["careful"], 30.0, lambda: f"{ran(home)}")
        first.process.kill()
        await first.died()
    (home / "hang").unlink()
    async with resumed(home, run["run_id"]) as (_, messages):
        assert ran(home) == ["careful"]
        assert UNKNOWN in messages[2]["content"]
