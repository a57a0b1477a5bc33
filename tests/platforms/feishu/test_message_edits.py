"""Edits and recalls by people, in the order in which they happened."""

from __future__ import annotations

import asyncio

from bot.domain import ChatKind
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import ADA, Running, eventually


async def test_an_edit_says_what_the_message_says_now(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    said = emulator.people.says("@Roebot first", chat=place)
    await running.shelf.until(1)
    emulator.people.edits(said.id, "@Roebot second")
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.origin.chat, change.origin.message_id) == ("second", place, said.id)
    assert (change.origin.sender.id, change.origin.chat_kind) == (ADA, ChatKind.GROUP)
    assert running.shelf.texts == ["first"]
    assert running.adapter.counts.edits == 1


async def test_a_recall_names_the_message(running: Running, emulator: FeishuEmulator) -> None:
    said = emulator.people.says("first")
    await running.shelf.until(1)
    emulator.people.recalls(said.id)
    await eventually(lambda: running.shelf.changes)
    [change] = running.shelf.changes
    assert (change.text, change.origin.message_id, change.origin.sender.id) == (None, said.id, "")
    assert change.at > 1_000_000_000


async def test_a_recall_does_not_overtake_its_message(running: Running, emulator: FeishuEmulator) -> None:
    emulator.fault("slow", method="user.get", seconds=0.2)
    order: list[str] = []
    take = running.shelf.accept

    async def noted(events, cursor=""):  # type: ignore[no-untyped-def]
        order.extend(type(event).__name__ for event in events)
        await take(events, cursor)

    running.shelf.accept = noted  # type: ignore[method-assign]
    said = emulator.people.says("first")
    emulator.people.recalls(said.id)
    await eventually(lambda: len(order) == 2)
    assert order == ["InboundMessage", "InboundChange"]


async def test_a_recall_that_comes_twice_is_one(running: Running, emulator: FeishuEmulator) -> None:
    said = emulator.people.says("first")
    await running.shelf.until(1)
    emulator.people.recalls(said.id)
    await eventually(lambda: running.shelf.changes)
    emulator.redeliver()
    await eventually(lambda: running.shelf.duplicates)
    assert len(running.shelf.changes) == 1


async def test_a_recall_that_cannot_be_stored_comes_again(running: Running, emulator: FeishuEmulator) -> None:
    emulator.world.scale = 0.01
    said = emulator.people.says("first")
    await running.shelf.until(1)
    running.shelf.refuse = 1
    emulator.people.recalls(said.id)
    await eventually(lambda: running.shelf.changes)
    assert running.shelf.refused == 1


async def test_malformed_changes_are_counted(running: Running, emulator: FeishuEmulator) -> None:
    emulator.inject({"schema": "2.0", "header": _header("im.message.recalled_v1"), "event": {}})
    emulator.inject({"schema": "2.0", "header": _header("im.message.updated_v1"), "event": {"message": 7}})
    await eventually(lambda: running.adapter.counts.malformed == 2)
    emulator.inject({"schema": "2.0", "header": _header("im.message.updated_v1"), "event": {}})
    await eventually(lambda: running.adapter.counts.ignored == 1)
    await asyncio.sleep(0)
    assert running.shelf.changes == []


def _header(kind: str) -> dict[str, str]:
    return {"event_id": f"evt-{kind}", "event_type": kind, "create_time": "1"}
