"""The agent starts on incidents: once for a burst, within its budget, and with quotations only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bot.features.events import incident_store
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import world

from .samples import alert, alertmanager
from .test_receiver import TOKEN, send

Messages = list[dict[str, Any]]


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(limits=False) as running:
        yield running


def config(emulator: TelegramEmulator, chat: int) -> str:
    return f"""
channels:
  telegram: {{bot_token: '{emulator.token}', base_url: '{emulator.url}'}}
access: {{default: closed, members: ['telegram:1001'], groups: ['telegram:{chat}']}}
events:
  sources:
    alerts: {{type: alertmanager, secrets: {TOKEN}}}
  routes:
    - {{account: telegram, chat: '{chat}', work: {{task: Look into it., per_hour: 2}}}}
"""


async def seen(emulator: TelegramEmulator, chat: int, condition: Callable[[Messages], Any]) -> Messages:
    async with asyncio.timeout(20):
        while not condition(found := emulator.view(chat)["messages"]):
            await asyncio.sleep(0.02)
    return list(found)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident_store, "BURST_QUIET", 0.5)


async def test_the_agent_answers_below_the_card_once_for_a_burst(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, chat)) as service:
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
