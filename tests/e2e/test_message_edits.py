"""Edits and deletions by people reach the agent, and none of them is answered by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from tests.harness.people import Driver, at_work
from tests.harness.service import MODEL
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block


async def _until(read: Callable[[], Awaitable[list[str]]], wanted: Callable[[list[str]], bool]) -> None:
    """Wait for something to be stored."""
    try:
        async with asyncio.timeout(30):
            while not wanted(await read()):
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{await read()}") from None


async def test_what_waits_is_changed_and_what_was_read_is_told(tmp_path: Path, driver: Driver) -> None:
    async with at_work(tmp_path, driver, MODEL) as service:
        driver.writes("[tokens=30] [every=0.1] first")
        await until(lambda: service.dispatcher.run_count, 20.0, lambda: "no run")
        gone = driver.writes("oops")
        waiting = driver.writes("helo")
        account = driver.entry.partition(":")[0]

        async def stored() -> list[str]:
            [view] = await service.db.transact(list_conversations, account)
            turns = await service.db.transact(list_turns, view.id)
            return [message.text for turn in reversed(turns) for message in turn.messages]

        await _until(stored, lambda texts: texts[1:] == ["oops", "helo"])
        driver.edits(waiting, "hello")
        try:
            driver.deletes(gone)
            await _until(stored, lambda texts: texts[1:] == ["", "hello"])
        except NotImplementedError:
            await _until(stored, lambda texts: texts[2] == "hello")
        await until(lambda: len(driver.texts()) == 2, 30.0, lambda: f"{driver.texts()}")
        assert "hello" in driver.texts()[1]
        driver.edits(waiting, "what I meant")
        await _until(stored, lambda texts: texts[2] == "what I meant")
        await asyncio.sleep(1.5)
        assert len(driver.texts()) == 2
        driver.writes("and now?")
        await until(lambda: len(driver.texts()) == 3, 30.0, lambda: f"{driver.texts()}")
        assert "what I meant" in driver.texts()[2]
        assert "and now?" in driver.texts()[2]
