"""The agent starts on incidents: once for a burst, within its budget, and with quotations only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.features.events import delivery_store
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import world

from .receiving import config, seen, send, to_chat
from .samples import alert, alertmanager

WORK = ", work: {task: Look into it., per_hour: 2}"


def work_config(emulator: TelegramEmulator, chat: int) -> str:
    access = f"{{default: closed, members: ['telegram:1001'], groups: ['telegram:{chat}']}}"
    return config(emulator, to_chat(chat, WORK), access=access)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_store, "BURST_QUIET", 0.5)


async def test_the_agent_answers_below_the_card_once_for_a_burst(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=work_config(emulator, chat)) as service:
        runbook = {**alert("a firing 10"), "annotations": {"runbook_url": "https://wiki.example/disk"}}
        assert await send(service, alertmanager(runbook)) == 202
        assert await send(service, alertmanager(runbook, "b firing 20")) == 202
        card, answer = await seen(
            emulator, chat, lambda found: len(found) == 2 and "Look" in found[1]["text"]
        )
        assert answer["reply_to"] == card["message_id"]
        assert (
            await send(service, alertmanager(runbook, "b firing 20", reason="repeat interval elapsed")) == 202
        )
        emulator.people.says("@bot what now?", chat=chat, user=1001, reply_to=card["message_id"])
        await seen(emulator, chat, lambda found: len(found) == 4)
        assert await send(service, alertmanager(runbook, "b firing 20", "c firing 30")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 5)
        assert "Look into it." in found[-1]["text"]
        assert await send(service, alertmanager("d firing 40", group="web")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 6)
        await asyncio.sleep(2.0)
        assert len(emulator.view(chat)["messages"]) == 6, "two starts an hour are all"


async def test_what_ends_within_the_burst_starts_nothing(
    tmp_path: Path, emulator: TelegramEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_store, "BURST_QUIET", 1.5)
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=work_config(emulator, chat)) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        assert await send(service, alertmanager("a resolved 10 60")) == 202
        await seen(emulator, chat, lambda found: found and "is resolved" in found[0]["text"])
        assert await send(service, alertmanager("b firing 20", group="web")) == 202
        found = await seen(emulator, chat, lambda found: len(found) == 3)
        assert found[-1]["reply_to"] == found[1]["message_id"], "only on what is still active"
