"""`/incident` and the buttons of cards, on Telegram's emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.features.events import incident_store
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import world

from .receiving import buttons, config, seen, send, to_chat
from .samples import alertmanager


async def test_an_incident_is_acknowledged_resolved_and_fires_again(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")

    async def press(label: str) -> None:
        card = emulator.view(chat)["messages"][0]
        emulator.people.presses(chat, card["message_id"], buttons(card)[label])

    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        (card,) = await seen(emulator, chat, lambda found: found and buttons(found[0]))
        assert list(buttons(card)) == ["Acknowledge", "Resolve"]
        await press("Acknowledge")
        found = await seen(emulator, chat, lambda found: "Acknowledged by" in found[0]["text"])
        assert list(buttons(found[0])) == ["Resolve", "Reopen"]
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        await seen(emulator, chat, lambda found: "b is wrong" in found[0]["text"])
        assert "🟡" in emulator.view(chat)["messages"][0]["text"], (
            "who acknowledged it, does so for all of it"
        )
        await press("Resolve")
        found = await seen(emulator, chat, lambda found: "Resolved by" in found[0]["text"])
        assert list(buttons(found[0])) == ["Reopen"]
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        assert await send(service, alertmanager("a firing 10", "b firing 20", "c firing 30")) == 202
        await seen(emulator, chat, lambda found: "is active" in found[0]["text"])
        assert (
            await send(service, alertmanager("a resolved 10 60", "b resolved 20 60", "c resolved 30 60"))
            == 202
        )
        found = await seen(emulator, chat, lambda found: "is resolved:" in found[0]["text"])
        assert buttons(found[0]) == {}


async def test_the_command(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat, other = emulator.people.make_group("ops"), emulator.people.make_group("other")

    async def ask(text: str, place: int) -> str:
        before = len(emulator.view(place)["messages"])
        emulator.people.says(text, chat=place)
        found = await seen(emulator, place, lambda found: len(found) > before + 1)
        return str(found[-1]["text"])

    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await ask("/incident", chat) == "This chat has no incidents."
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat, lambda found: "is active" in found[-1]["text"])
        assert await ask("/incident", chat) == "• 🔴 Incident 1 is active: service=db"
        assert (await ask("/incident 1 ack", chat)).startswith("Incident 1 is acknowledged")
        assert (await ask("/incident 1 ack", chat)) == "Nothing to change: incident 1 is acknowledged."
        audit = (await service.http.get("/api/audit")).json()["entries"]
        assert [(one["subject"], one["detail"]) for one in audit if one["action"] == "command"][-1] == (
            "/incident",
            "1 ack",
        )
        history = (await ask("/incident 1", chat)).splitlines()
        assert [line.split(" ", 3)[3] for line in history[-2:]] == [
            "is active",
            "is acknowledged (Person 1001)",
        ]
        for words in ("0", "1 close", "1 ack now", "all"):
            assert (await ask(f"/incident {words}", chat)).startswith("Write")
        assert (await ask("/incident 7", chat)).startswith("This chat has no incident 7")
        assert (await ask("/incident 1 resolve", other)).startswith("This chat has no incident 1")


async def test_a_state_that_lasts_is_told_below_the_card(
    tmp_path: Path, emulator: TelegramEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident_store, "LASTS", 0.1)
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat)
        assert await send(service, alertmanager("a resolved 10 60")) == 202
        card, news = await seen(emulator, chat, lambda found: len(found) == 2)
        assert (news["text"], news["reply_to"]) == ("🟢 Incident 1 is resolved.", card["message_id"])
        assert await send(service, alertmanager("a firing 100")) == 202
        *_, news = await seen(emulator, chat, lambda found: len(found) == 3)
        assert news["text"] == "🔴 Incident 1 is active."
